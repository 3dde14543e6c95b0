/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints what is made of the tables: the OPTIONS part of the manual page, which
 * `make update-man` puts there, or with "completion" the first part of the bash completion.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "completion.h"
#include "plan/matrix.h"

int main(int argc, char **argv)
{
	if (argc == 1) {
		help_print_manual(stdout);
		matrix_print_manual(stdout);
	} else if (argc == 2 && !strcmp(argv[1], "completion")) {
		completion_print(stdout);
	} else {
		fputs("usage: options [completion]\n", stderr);
		return 2;
	}
	return fflush(stdout) ? 1 : 0;
}
