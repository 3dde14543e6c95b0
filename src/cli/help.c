/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/help.h"

#include <string.h>

#include "cli/options.h"

#define HELP_COLUMN 30

static void print_row(FILE *out, const struct option_row *row)
{
	char left[80];
	int n;

	n = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s%s", row->letter ? '-' : ' ',
		     row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
		     !row->arg ? "" : row->kind == OPTION_FILE ? "[=" : " ",
		     row->arg ? row->arg : "", row->kind == OPTION_FILE ? "]" : "");
	if (n < HELP_COLUMN)
		fprintf(out, "%-*s%s", HELP_COLUMN, left, row->help);
	else
		fprintf(out, "%s\n%-*s%s", left, HELP_COLUMN, "", row->help);
	if (row->dfl)
		fprintf(out, " (%s)", row->dfl);
	fputc('\n', out);
}

void help_print(FILE *out)
{
	fputs("usage: rdmeter [serve] [OPTIONS]   wait for clients, who decide what is measured\n"
	      "       rdmeter [OPTIONS] HOST      measure against the server on HOST\n"
	      "       rdmeter --op reg|bind ...   register memory, bind windows, on this host\n"
	      "       rdmeter devices [HOST]      list the RDMA devices of this host or HOST's\n"
	      "       rdmeter report FILE         print the document that --json=FILE wrote\n"
	      "       rdmeter @FILE ...           options from a file, one a line\n",
	      out);
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, "\n%s:\n", option_group_titles[group]);
		for (size_t i = 0; i < option_row_count; i++)
			if ((int)option_rows[i].group == group)
				print_row(out, &option_rows[i]);
	}
	fputs("\nof several values, as --size 64,1K:64K:x4 or --qp 1:16:+3, each is measured\n"
	      "exit: 0 measured, 1 a --require failed, 2 usage, 3 set-up, 4 run-time,\n"
	      "      5 a --require could not be judged; 130 and 143 interrupted\n"
	      "The manual page has the details: man rdmeter\n",
	      out);
}

/* In mdoc each sentence begins a line. */
static void print_sentences(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (text[0] == '.' && text[1] == ' ') {
			fputs(".\n", out);
			text++;
		} else {
			fputc(*text, out);
		}
	}
	fputc('\n', out);
}

/* In mdoc a word that could be a macro, or a leading dot, is kept literal by \&. */
static void print_manual_row(FILE *out, const struct option_row *row)
{
	fputs(".It", out);
	if (row->letter)
		fprintf(out, " Fl %c ,", row->letter);
	fprintf(out, " Fl \\&-%s", row->name);
	if (row->kind == OPTION_FILE)
		fprintf(out, " Ns Op = Ns Ar %s", row->arg);
	else if (row->arg)
		fprintf(out, " Ar \\&%s", row->arg);
	fputc('\n', out);
	print_sentences(out, *row->manual ? row->manual : row->help);
	if (row->sweeps)
		fputs("Takes several values.\n", out);
	if (row->dfl)
		fprintf(out, "Default: %s.\n", row->dfl);
	if (row->aliases)
		fprintf(out, "Also called %s.\n", row->aliases);
}

void help_print_manual(FILE *out)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", option_group_titles[group]);
		for (size_t i = 0; i < option_row_count; i++)
			if ((int)option_rows[i].group == group)
				print_manual_row(out, &option_rows[i]);
		fputs(".El\n", out);
	}
}
