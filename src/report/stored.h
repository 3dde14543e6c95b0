/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmeter report: a stored document in any form, as it was printed live. */
#ifndef RDMETER_REPORT_STORED_H
#define RDMETER_REPORT_STORED_H

#include <stdio.h>

/* Of the document called that, "-" being standard input; FORMAT_... 0, or -errno told. */
int stored_print(FILE *out, const char *name, int format);

#endif
