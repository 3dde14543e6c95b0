/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/sweep.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "engine/ops.h"
#include "verbs/transport.h"

/* "--size, --batch": what a number of rows comes from. */
static void list_names(const struct sweep *s, char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		size_t used = strlen(out);

		snprintf(out + used, size - used, "%s--%s", used ? ", " : "", s->row[i]->name);
	}
}

static int told_many(const struct sweep *s)
{
	char names[300];

	list_names(s, names, sizeof(names));
	return fail(FAIL_USAGE, EINVAL, "%s: more than %d rows; sweep fewer values, or fewer "
		    "options at once", names, VALUES_MOST);
}

int sweep_open(struct sweep *s, const struct options *opt)
{
	*s = (struct sweep){ .combinations = 1 };
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const struct option_value *v = option_value((struct options *)(uintptr_t)opt, row);
		int rc;

		if (!row->sweeps || v->count < 2)
			continue;
		rc = values_parse(row, v->text, &s->values[s->count]);
		if (rc)
			return rc;
		s->row[s->count++] = row;
		if (s->combinations > VALUES_MOST / v->count)
			return told_many(s);
		s->combinations *= v->count;
	}
	return 0;
}

void sweep_close(struct sweep *s)
{
	for (size_t i = 0; i < s->count; i++)
		values_free(&s->values[i]);
	*s = (struct sweep){ 0 };
}

void sweep_take(const struct sweep *s, size_t i, struct options *one)
{
	for (size_t k = s->count; k-- > 0;) {
		struct option_value *v = option_value(one, s->row[k]);

		v->num = s->values[k].num[i % s->values[k].count];
		v->count = 1;
		i /= s->values[k].count;
	}
}

static bool same_settings(const struct point *a, const struct point *b)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct setting *x = point_setting_const(a, &option_rows[i]);
		const struct setting *y = point_setting_const(b, &option_rows[i]);

		if (x && x->value != y->value)
			return false;
	}
	return true;
}

/* Whether a point like p is in the table of indices + 1; puts i there when there is none. */
static bool seen_before(const struct plan *plan, uint32_t *table, size_t size, size_t i)
{
	const struct point *p = &plan->points[i];
	size_t at = point_config_id(p) & (size - 1);

	while (table[at] && !same_settings(&plan->points[table[at] - 1], p))
		at = (at + 1) & (size - 1);
	if (table[at])
		return true;
	table[at] = (uint32_t)i + 1;
	return false;
}

/* Leaves the first of points that have equal settings. Returns how many went. */
static size_t collapse(struct plan *plan)
{
	size_t size = 16, kept = 0, gone;
	uint32_t *table;

	while (size < 2 * plan->count)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return 0; /* rows that are measured twice are no worse than none */
	for (size_t i = 0; i < plan->count; i++) {
		/* The table holds indices of points that have moved down to where they stay. */
		plan->points[kept] = plan->points[i];
		if (seen_before(plan, table, size, kept)) {
			free(plan->refused[i]);
			continue;
		}
		plan->refused[kept++] = plan->refused[i];
	}
	free(table);
	gone = plan->count - kept;
	plan->count = kept;
	return gone;
}

/* Operations and tests vary when the points show it, the others when several values were given. */
static void find_varied(struct plan *plan, const struct sweep *sweep)
{
	bool op = false, test = false;

	for (size_t i = 1; i < plan->count; i++) {
		op = op || plan->points[i].op.value != plan->points[0].op.value;
		test = test || plan->points[i].test.value != plan->points[0].test.value;
	}
	for (size_t i = 0; i < option_row_count; i++) {
		size_t at = option_rows[i].offset;

		if ((op && at == offsetof(struct options, op)) ||
		    (test && at == offsetof(struct options, test)))
			plan->varied[plan->varied_count++] = &option_rows[i];
	}
	for (size_t i = 0; i < sweep->count; i++)
		plan->varied[plan->varied_count++] = sweep->row[i];
}

/* ": cas and fadd, whose size is fixed": why points are equal that were not asked for twice. */
static void explain_equal(const struct options *opt, const struct plan *plan, char *out,
			  size_t size)
{
	const struct op *last = NULL;
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < plan->count && opt->size.count > 1; i++) {
		const struct op *op = point_op(&plan->points[i]);

		if (op->min_size != op->max_size || op == last)
			continue;
		last = op;
		snprintf(out + used, size - used, "%s%s", used ? " and " : ": ", op->name);
		used = strlen(out);
	}
	if (used)
		snprintf(out + used, size - used, ", whose size is fixed");
}

int sweep_finish(const struct sweep *sweep, const struct options *opt, struct plan *plan)
{
	size_t all = plan->count, bad = 0, gone;
	char why[200];

	find_varied(plan, sweep);
	explain_equal(opt, plan, why, sizeof(why));
	gone = collapse(plan);
	if (gone)
		note("%zu of %zu rows are the same as others and are left out%s", gone, all, why);
	while (bad < plan->count && plan->refused[bad])
		bad++;
	if (bad == plan->count)
		return fail(FAIL_USAGE, EINVAL, "%s", plan->refused[0]->text);
	return 0;
}

int sweep_check(const struct options *opt, const struct plan *plan)
{
	size_t pivoted = 0;

	for (size_t i = 0; i < plan->varied_count; i++)
		pivoted += plan->varied[i]->offset != offsetof(struct options, test);
	if (opt->pivot.given && pivoted < 2)
		return fail(FAIL_USAGE, EINVAL, "--pivot: it shows two options that vary, beside "
			    "--test, and there %s; give another one several values, or drop it",
			    pivoted ? "is one" : "is none");
	if (plan->sweep && opt->duration.given && !opt->duration.num)
		return fail(FAIL_USAGE, EINVAL, "--duration 0 with a sweep: its first row would "
			    "not end; give each row a duration");
	if (opt->resume.given && (!plan->sweep || opt->plan.given))
		return fail(FAIL_USAGE, EINVAL, "--resume%s: it goes on with a sweep that is run; "
			    "%s, or drop it", opt->plan.given ? " with --plan" : "",
			    opt->plan.given ? "drop --plan" : "give an option several values");
	if (opt->shuffle.given && plan->overview)
		return fail(FAIL_USAGE, EINVAL, "--shuffle with the overview: its lines have an "
			    "order; drop it, or give --op");
	return 0;
}

int sweep_refuse(struct plan *plan, size_t i)
{
	plan->refused[i] = malloc(sizeof(*plan->refused[i]));
	if (!plan->refused[i]) {
		fail_clear();
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the plan");
	}
	*plan->refused[i] = *fail_last();
	fail_clear();
	return 0;
}

int plan_fit_sweep(const struct options *opt, struct plan *plan, const struct caps *ours,
		   const struct caps *theirs)
{
	int rc = 0;

	fail_hold(true);
	for (size_t i = 0; i < plan->count && !rc; i++)
		if (!plan->refused[i] && plan_fit(opt, &plan->points[i], ours, theirs))
			rc = sweep_refuse(plan, i);
	fail_hold(false);
	return rc;
}

void sweep_options_of(const struct options *opt, const struct point *p, struct options *one)
{
	*one = *opt;
	for (size_t i = 0; i < option_row_count; i++) {
		struct option_value *v = option_value(one, &option_rows[i]);
		const struct setting *s = point_setting_const(p, &option_rows[i]);

		if (!s || v->count < 2 || !option_rows[i].sweeps)
			continue;
		v->num = s->value;
		v->count = 1;
	}
}

/* The longest message of a point on these devices. */
static uint64_t longest(const struct point *p, const struct caps *ours, const struct caps *theirs)
{
	uint64_t message = least(ours->max_msg_sz, theirs->max_msg_sz);
	uint64_t mtu = least(ours->active_mtu, theirs->active_mtu);

	if (p->mtu.value) /* it was given */
		mtu = p->mtu.value;
	return transport_get(p->transport.value)->datagrams ? least(mtu, message) : message;
}

/* Points that are too long for a device or a datagram go; the others close the gaps. */
int plan_bound(const struct options *opt, struct plan *plan, const struct caps *ours,
	       const struct caps *theirs)
{
	uint64_t most = 0;
	char text[UNITS_TEXT_SIZE];
	size_t kept = 0, all = plan->count;
	const char *what = "a message";

	if (!opt->all.given || plan->local)
		return 0;
	for (size_t i = 0; i < plan->count; i++) {
		const struct point *p = &plan->points[i];

		if (p->size.value > longest(p, ours, theirs)) {
			most = longest(p, ours, theirs);
			what = transport_get(p->transport.value)->datagrams ? "a datagram" : what;
			free(plan->refused[i]);
			continue;
		}
		plan->points[kept] = plan->points[i];
		plan->refused[kept++] = plan->refused[i];
	}
	plan->count = kept;
	units_size(text, sizeof(text), most);
	if (kept && kept < all)
		note("--all: %zu of %zu rows are left out, since %s has at most %s on these "
		     "devices", all - kept, all, what, text);
	return kept ? 0 : fail(FAIL_SETUP, EOPNOTSUPP, "--all: %s has at most %s on these "
			       "devices; give a --size", what, text);
}

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void sweep_shuffle(struct plan *plan, uint64_t seed)
{
	for (size_t i = plan->count; i-- > 1;) {
		size_t j = (size_t)((unsigned __int128)splitmix64(&seed) * (i + 1) >> 64);
		struct point point = plan->points[i];
		struct failure *refused = plan->refused[i];

		plan->points[i] = plan->points[j];
		plan->points[j] = point;
		plan->refused[i] = plan->refused[j];
		plan->refused[j] = refused;
	}
}
