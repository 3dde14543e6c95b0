/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The option table as text for people. */
#ifndef RDMETER_CLI_HELP_H
#define RDMETER_CLI_HELP_H

#include <stdio.h>

/* What --help prints. */
void help_print(FILE *out);

/* The OPTIONS part of rdmeter(1), in mdoc; `make man` puts it into the page. */
void help_print_manual(FILE *out);

#endif
