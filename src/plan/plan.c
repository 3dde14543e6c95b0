/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "cli/units.h"
#include "plan/local.h"
#include "plan/resolve.h"
#include "plan/rules.h"
#include "plan/sweep.h"
#include "verbs/transport.h"

#define ALL_SIZES "2:8M:x2" /* perftest's */
#define ALL_COUNT 23

/* Room doubles whenever the count is a power of two. */
static int grow(struct plan *plan)
{
	size_t room = plan->count ? 2 * plan->count : 1;
	struct point *points;
	struct failure **refused;

	if (plan->count & (plan->count - 1))
		return 0;
	points = realloc(plan->points, room * sizeof(*points));
	plan->points = points ? points : plan->points;
	refused = realloc(plan->refused, room * sizeof(*refused));
	plan->refused = refused ? refused : plan->refused;
	return points && refused ? 0 : fail(FAIL_SETUP, ENOMEM, "out of memory for the plan");
}

/* Of a sweep a point that breaks a rule is one of the rows, with the sentence that refuses it. */
static int check(const struct options *opt, struct plan *plan, size_t i)
{
	int rc;

	if (!plan->sweep)
		return rules_check_point(opt, &plan->points[i]);
	fail_hold(true);
	rc = rules_check_point(opt, &plan->points[i]);
	fail_hold(false);
	return rc ? sweep_refuse(plan, i) : 0;
}

static int append(const struct options *opt, struct plan *plan)
{
	size_t i = plan->count;
	int rc = grow(plan);

	if (rc)
		return rc;
	plan->refused[i] = NULL;
	plan->count++;
	rc = resolve_point(opt, &plan->points[i]);
	return rc ? rc : check(opt, plan, i);
}

/* Every combination of the swept options; without one, opt as it is. */
static int append_all(const struct options *opt, struct plan *plan, const struct sweep *sweep)
{
	const struct op *op = op_find(opt->op.text);
	int rc = 0;

	for (size_t i = 0; i < sweep->combinations && !rc; i++) {
		struct options one = *opt;

		sweep_take(sweep, i, &one);
		if (op && opt->size.count > 1)
			one.size.num = clamp(one.size.num, op->min_size, op->max_size);
		rc = append(&one, plan);
		if (!rc && plan->count > VALUES_MOST)
			rc = fail(FAIL_USAGE, EINVAL, "--op and --test with what is swept: more "
				  "than %d rows; sweep fewer values", VALUES_MOST);
	}
	return rc;
}

/* One operation and one test out of the lists, as if they alone had been given. */
static int add_point(const struct options *opt, struct plan *plan, const struct sweep *sweep,
		     const char *op, const char *test)
{
	struct options one = *opt;

	one.op.text = op;
	for (size_t i = 0; i < option_row_count; i++)
		if (option_value(&one, &option_rows[i]) == &one.test &&
		    option_parse_value(&option_rows[i], test, &one.test.num))
			return -EINVAL;
	return append_all(&one, plan, sweep);
}

static int add_tests(const struct options *opt, struct plan *plan, const struct sweep *sweep,
		     const char *op)
{
	char test[16];
	int rc = 0;

	for (const char *rest = opt->test.text; rest && !rc;) {
		rest = option_list_next(rest, test, sizeof(test));
		rc = add_point(opt, plan, sweep, op, test);
	}
	return rc;
}

#define OVERVIEW_NS 500000000ULL
#define OVERVIEW_WARMUP_NS 100000000ULL

/* What the overview measures of each operation; sizes that the operation cannot have drop out. */
static const struct {
	uint64_t test, size;
} overview[] = {
	{ TEST_LAT, 8 }, { TEST_BW, 64 }, { TEST_BW, 65536 },
};

static void overview_value(struct option_value *v, uint64_t num)
{
	if (v->given)
		return;
	v->given = true;
	v->num = num;
}

/* What is meant for the bandwidths of an overview does not concern its latencies. */
static void drop_for_lat(struct options *one, const struct options *defaults)
{
	one->qps = defaults->qps;
	one->threads = defaults->threads;
	one->batch = defaults->batch;
	one->recv_batch = defaults->recv_batch;
	one->signal = defaults->signal;
	one->stamp = defaults->stamp;
	one->slots = defaults->slots;
	one->relaxed_ordering = defaults->relaxed_ordering;
	one->bidirectional = defaults->bidirectional;
	if (one->direction.num == DIRECTION_BOTH)
		one->direction = defaults->direction;
}

static int add_overview(const struct options *opt, struct plan *plan, const struct op *op)
{
	uint64_t before = 0;
	struct options defaults;
	int rc = options_default(&defaults);

	for (size_t i = 0; i < sizeof(overview) / sizeof(overview[0]) && !rc; i++) {
		struct options one = *opt;
		uint64_t most = transport_get(opt->transport.num)->datagrams ? DATAGRAM_MOST :
									       op->max_size;
		uint64_t size = clamp(opt->size.given ? opt->size.num : overview[i].size,
				      op->min_size, opt->size.given ? op->max_size : most);

		if (overview[i].test == TEST_BW && size == before)
			continue;
		before = overview[i].test == TEST_BW ? size : 0;
		one.op.text = op->name;
		one.test.num = overview[i].test;
		one.size = (struct option_value){ .given = true, .num = size };
		if (overview[i].test == TEST_LAT)
			drop_for_lat(&one, &defaults);
		if (overview[i].test == TEST_LAT && op->reply == ECHO_MEMORY)
			one.events = defaults.events;
		if (!op->receives)
			one.srq = defaults.srq;
		if (op->flow == FLOW_COUNTER) {
			one.slots = defaults.slots;
			one.sge = defaults.sge;
		}
		if (!one.iters.given) {
			overview_value(&one.duration, OVERVIEW_NS);
			overview_value(&one.warmup, OVERVIEW_WARMUP_NS);
		}
		rc = append(&one, plan);
	}
	return rc;
}

/* With several transports a point that one does not have is one of the rows, as refused. */
static bool is_run(const struct options *opt, const struct op *op)
{
	return !op_is_local(op) &&
	       (opt->transport.count > 1 || op_runs_on(op, opt->transport.num));
}

static int add_ops(const struct options *opt, struct plan *plan, const struct sweep *sweep)
{
	char op[32];
	int rc = 0;

	if (!strcasecmp(opt->op.text, "all")) {
		for (size_t i = 0; i < op_count && !rc; i++)
			if (is_run(opt, &ops[i]))
				rc = add_tests(opt, plan, sweep, ops[i].name);
		return rc;
	}
	for (const char *rest = opt->op.text; rest && !rc;) {
		rest = option_list_next(rest, op, sizeof(op));
		rc = add_tests(opt, plan, sweep, op);
	}
	return rc;
}

static int make(const struct options *opt, struct plan *plan, const struct sweep *sweep)
{
	int rc = 0;

	plan->sweep = sweep->count > 0;
	plan->overview = !opt->op.given && !opt->test.given && !plan->sweep;
	if (plan->overview && opt->rate.given)
		return fail(FAIL_USAGE, EINVAL, "--rate %s with the overview: it shows what is "
			    "possible, not what comes of a rate; add --op or --test",
			    opt->rate.text);
	for (size_t i = 0; plan->overview && i < op_count && !rc; i++)
		if (is_run(opt, &ops[i]))
			rc = add_overview(opt, plan, &ops[i]);
	if (!plan->overview)
		rc = add_ops(opt, plan, sweep);
	if (!rc && plan->sweep)
		rc = sweep_finish(sweep, opt, plan);
	if (!rc)
		rc = sweep_check(opt, plan);
	if (!rc && opt->shuffle.given)
		sweep_shuffle(plan, opt->shuffle.num);
	return rc;
}

int plan_make(const struct options *opt, struct plan *plan)
{
	struct options asked = *opt;
	struct sweep sweep;
	int rc;

	*plan = (struct plan){ 0 };
	if (opt->all.given && opt->size.given)
		return fail(FAIL_USAGE, EINVAL, "--all with --size %s: it is --size " ALL_SIZES
			    "; give one of them", opt->size.text);
	if (opt->all.given)
		asked.size = (struct option_value){
			.given = true, .num = 2, .text = ALL_SIZES, .count = ALL_COUNT,
		};
	rc = local_check_plan(opt, &plan->local);
	if (rc)
		return rc;
	rc = sweep_open(&sweep, &asked);
	if (!rc)
		rc = make(&asked, plan, &sweep);
	sweep_close(&sweep);
	return rc;
}

void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->refused[i]);
	free(plan->refused);
	free(plan->points);
	*plan = (struct plan){ 0 };
}

