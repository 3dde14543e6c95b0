/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the OPTIONS part of the manual page: `make update-man` puts it there. */
#include <stdio.h>

#include "cli/help.h"

int main(void)
{
	help_print_manual(stdout);
	return 0;
}
