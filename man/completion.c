/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "completion.h"

#include <string.h>

#include "cli/options.h"
#include "engine/ops.h"
#include "report/columns.h"

static void print_words(FILE *out, const struct option_row *row)
{
	fputs("words", out);
	for (const struct option_word *w = row->words; w->word; w++)
		fprintf(out, " %s", w->word);
}

static void print_operations(FILE *out)
{
	fputs("words", out);
	for (size_t i = 0; i < op_count; i++)
		fprintf(out, " %s", ops[i].name);
	fputs(" all", out);
}

static void print_columns(FILE *out)
{
	fputs("words", out);
	for (size_t i = 0; i < column_count; i++)
		fprintf(out, " %s", columns[i].key);
}

/* What the option's value may be, in the words that completion.bash explains. */
static void print_value(FILE *out, const struct option_row *row)
{
	if (row->offset == offsetof(struct options, op))
		print_operations(out);
	else if (row->offset == offsetof(struct options, print))
		print_columns(out);
	else if (row->words && row->arg) /* those of a flag are for printing it */
		print_words(out, row);
	else if (row->offset == offsetof(struct options, device))
		fputs("device", out);
	else if (row->kind == OPTION_FILE)
		fputs("file=", out);
	else if (!row->arg)
		fputs("none", out);
	else
		fputs(strcmp(row->arg, "FILE") ? "value" : "file", out);
}

/* A row's names as patterns of bash; aliases are known, but not offered. */
static void print_names(FILE *out, const struct option_row *row)
{
	char alias[64];

	fprintf(out, "\t--%s", row->name);
	for (const char *rest = row->aliases; rest;) {
		rest = option_list_next(rest, alias, sizeof(alias));
		fprintf(out, " | --%s", alias);
	}
	if (row->letter)
		fprintf(out, " | -%c", row->letter);
}

void completion_print(FILE *out)
{
	fputs("# Made from rdmeter's table of options.\n_rdmeter_options='", out);
	for (size_t i = 0; i < option_row_count; i++) {
		fprintf(out, "%s--%s", i ? " " : "", option_rows[i].name);
		if (option_rows[i].letter)
			fprintf(out, " -%c", option_rows[i].letter);
	}
	fputs("'\n\n_rdmeter_value() {\n\tcase $1 in\n", out);
	for (size_t i = 0; i < option_row_count; i++) {
		print_names(out, &option_rows[i]);
		fputs(") echo ", out);
		print_value(out, &option_rows[i]);
		fputs(" ;;\n", out);
	}
	fputs("\t*) echo none ;;\n\tesac\n}\n\n", out);
}
