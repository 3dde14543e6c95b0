/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"

#define ITEM 4096 /* the longest that means something, a path, is shorter */

struct range {
	uint64_t from, to, step;
	bool times; /* xN, else +N */
	uint64_t unit; /* what its numbers have beside the quantity: a rate that of data */
};

static int append(struct values *v, const struct option_row *row, const char *item, uint64_t num)
{
	/* Room doubles whenever the count is a power of two. */
	if (!(v->count & (v->count - 1))) {
		size_t room = v->count ? 2 * v->count : 1;
		uint64_t *grown = realloc(v->num, room * sizeof(*grown));

		if (!grown)
			return fail(FAIL_SETUP, ENOMEM, "out of memory for the values of --%s",
				    row->name);
		v->num = grown;
	}
	if (v->count == VALUES_MOST)
		return fail(FAIL_USAGE, EINVAL, "--%s '%s': more than %d values; take a larger "
			    "step", row->name, item, VALUES_MOST);
	v->num[v->count++] = num;
	return 0;
}

static int told_range(const struct option_row *row, const char *item, const char *what)
{
	return fail(FAIL_USAGE, EINVAL, "--%s '%s': %s", row->name, item, what);
}

/* A bound is a number; words that stand for one have no place in a range. */
static int parse_bound(const struct option_row *row, const char *item, const char *text,
		       uint64_t *num)
{
	if (!isdigit((unsigned char)*text))
		return told_range(row, item, "not a range; write FROM:TO:xN or FROM:TO:+N, as in "
				  "2:64:x2 or 1:16:+3");
	return option_parse_value(row, text, num);
}

/* Rates of data go with data and those of messages with messages: from here on as quantities. */
static int parse_rate_bounds(const struct option_row *row, const char *item, struct range *r)
{
	r->unit = r->from & UNITS_RATE_BITS;
	if ((r->to & UNITS_RATE_BITS) != r->unit)
		return told_range(row, item, "one end is a rate of messages, the other one of "
				  "data; give both the same unit");
	r->from &= ~UNITS_RATE_BITS;
	r->to &= ~UNITS_RATE_BITS;
	return 0;
}

static int parse_rate_step(const struct option_row *row, const char *item, const char *text,
			   struct range *r)
{
	if (units_parse_rate(text, &r->step) || (r->step & UNITS_RATE_BITS) != r->unit)
		return told_range(row, item, "its step is not a rate of the same unit");
	r->step &= ~UNITS_RATE_BITS;
	return r->step ? 0 : told_range(row, item, "the range does not end: each step has to be "
					"larger; use x2 or more, or a rate above 0");
}

static int parse_step(const struct option_row *row, const char *item, const char *text,
		      struct range *r)
{
	int rc;

	r->times = *text == 'x' || *text == 'X';
	if (!r->times && *text != '+')
		return told_range(row, item, "its step is not xN or +N; write FROM:TO:xN or "
				  "FROM:TO:+N, as in 2:64:x2 or 1:16:+3");
	if (!r->times && row->kind == OPTION_SIZE)
		rc = units_parse_size(text + 1, &r->step);
	else if (!r->times && row->kind == OPTION_RATE)
		return parse_rate_step(row, item, text + 1, r);
	else
		rc = units_parse_count(text + 1, &r->step);
	if (rc)
		return told_range(row, item, "its step is not a whole number");
	if (r->step <= r->times || (r->times && !r->from && r->to))
		return told_range(row, item, "the range does not end: each step has to be larger; "
				  "use x2 or more from 1 or more, or +1 or more");
	return 0;
}

static int parse_range(const struct option_row *row, const char *item, struct range *r)
{
	char text[ITEM], *to, *step;
	int rc;

	snprintf(text, sizeof(text), "%s", item);
	to = strchr(text, ':');
	*to++ = '\0';
	step = strchr(to, ':');
	if (!step)
		return told_range(row, item, "a range without a step; write FROM:TO:xN or "
				  "FROM:TO:+N, as in 2:64:x2 or 1:16:+3");
	*step++ = '\0';
	rc = parse_bound(row, item, text, &r->from);
	if (!rc)
		rc = parse_bound(row, item, to, &r->to);
	if (!rc && row->kind == OPTION_RATE)
		rc = parse_rate_bounds(row, item, r);
	if (!rc)
		rc = parse_step(row, item, step, r);
	if (!rc && r->from > r->to)
		rc = told_range(row, item, "the range descends; begin with the smaller number");
	return rc;
}

static int append_range(struct values *v, const struct option_row *row, const char *item)
{
	struct range r = { 0 };
	int rc = parse_range(row, item, &r);
	uint64_t num;

	if (rc)
		return rc;
	num = r.from;
	for (;;) {
		rc = append(v, row, item, num | r.unit);
		if (rc || (r.times ? __builtin_mul_overflow(num, r.step, &num) :
				     __builtin_add_overflow(num, r.step, &num)) || num > r.to ||
		    num == r.from)
			return rc;
	}
}

/* A row of words has no ranges: there a colon is part of a word that does not exist. */
static int append_item(struct values *v, const struct option_row *row, const char *item)
{
	uint64_t num;
	int rc;

	if (!*item)
		return fail(FAIL_USAGE, EINVAL, "--%s: an empty value in its list; drop a comma",
			    row->name);
	if (strlen(item) == ITEM - 1)
		return fail(FAIL_USAGE, EINVAL, "--%s '%.60s...': too long for a value", row->name,
			    item);
	if (row->kind != OPTION_ENUM && strchr(item, ':'))
		return append_range(v, row, item);
	rc = option_parse_value(row, item, &num);
	return rc ? rc : append(v, row, item, num);
}

int values_parse(const struct option_row *row, const char *text, struct values *v)
{
	char item[ITEM];
	int rc = 0;

	*v = (struct values){ 0 };
	for (const char *rest = text; rest && !rc;) {
		rest = option_list_next(rest, item, sizeof(item));
		rc = append_item(v, row, item);
	}
	if (rc)
		values_free(v);
	return rc;
}

void values_free(struct values *v)
{
	free(v->num);
	*v = (struct values){ 0 };
}
