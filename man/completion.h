/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RDMETER_MAN_COMPLETION_H
#define RDMETER_MAN_COMPLETION_H

#include <stdio.h>

/* The option table as bash; completion.bash follows it in what is installed. */
void completion_print(FILE *out);

#endif
