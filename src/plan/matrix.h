/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which operation there is on which transport, in which test: from the rows of both tables. */
#ifndef RDMETER_PLAN_MATRIX_H
#define RDMETER_PLAN_MATRIX_H

#include <stdio.h>

/* For --help; for the manual page, as a subsection of mdoc. */
void matrix_print(FILE *out);
void matrix_print_manual(FILE *out);

#endif
