/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/text_doubt.h"

#include <string.h>

#include "cli/units.h"
#include "report/doubt.h"
#include "report/require.h"

#define COLUMNS 100
#define INDENT 2

/* The line that is being printed: words go to the next one where this one is full. */
struct wrapped {
	FILE *out;
	size_t column;
};

static void print_word(struct wrapped *w, const char *word, size_t length)
{
	if (w->column && w->column + 1 + length > COLUMNS) {
		fprintf(w->out, "\n%*s", INDENT, "");
		w->column = INDENT;
	} else if (w->column) {
		fputc(' ', w->out);
		w->column++;
	}
	fprintf(w->out, "%.*s", (int)length, word);
	w->column += length;
}

static void print_words(struct wrapped *w, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		print_word(w, text, n);
		text += n + strspn(text + n, " ");
	}
}

void text_warnings(FILE *out, const struct result *r)
{
	struct warnings warnings;

	doubt_collect(r, &warnings);
	for (size_t i = 0; i < warnings.count; i++) {
		struct wrapped w = { .out = out };
		char seen[DOUBT_SEEN + 2];

		snprintf(seen, sizeof(seen), "%s;", warnings.list[i].seen);
		print_words(&w, "warning:");
		print_words(&w, seen);
		print_words(&w, warnings.list[i].advice);
		fputc('\n', out);
	}
}

static void print_move(struct wrapped *w, const struct counter_move *m, bool last)
{
	char text[COUNTER_MOVE_NAME + 2 * UNITS_TEXT_SIZE + 16], number[2][UNITS_TEXT_SIZE];

	if (m->after >= m->before)
		snprintf(text, sizeof(text), "%s +%s%s", m->name,
			 units_count(number[0], UNITS_TEXT_SIZE, m->after - m->before),
			 last ? "" : ",");
	else
		snprintf(text, sizeof(text), "%s %s -> %s (reset)%s", m->name,
			 units_count(number[0], UNITS_TEXT_SIZE, m->before),
			 units_count(number[1], UNITS_TEXT_SIZE, m->after), last ? "" : ",");
	print_word(w, text, strlen(text));
}

void text_counters(FILE *out, const struct result *r)
{
	static const char *const names[SIDES] = { "counters client:", "counters server:" };

	for (int i = 0; i < SIDES; i++) {
		const struct counter_moves *c = r->side[i].measure ?
			&r->side[i].measure->counters : NULL;
		struct wrapped w = { .out = out };
		char more[48];

		if (!c || !c->valid)
			continue;
		print_words(&w, result_is_alone(r) ? "counters this host:" : names[i]);
		if (!c->count)
			print_words(&w, "none moved");
		for (uint32_t k = 0; k < c->count; k++)
			print_move(&w, &c->move[k], k + 1 == c->count && !c->more);
		snprintf(more, sizeof(more), "and %u more", c->more);
		if (c->more)
			print_words(&w, more);
		fputc('\n', out);
	}
}

void text_requirements(FILE *out, const struct result *r)
{
	char text[200];

	for (size_t i = 0; r->required && i < r->required->count; i++) {
		struct judgement j;

		requirement_judge(&r->required->list[i], r, &j);
		requirement_text(&r->required->list[i], &j, text, sizeof(text));
		fprintf(out, "require %s\n", text);
	}
}
