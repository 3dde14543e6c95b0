/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "plan/rules.h"

#define MIB (1ULL << 20)
#define INLINE_MOST 256 /* a larger message gains nothing from being copied twice */
#define WARMUP_NS 500000000ULL
#define WARMUP_MOST 1000 /* messages */
#define WARMUP_LONGEST_NS (1000000ULL * 1000000000)

static void set(struct setting *s, uint64_t value, const char *why)
{
	s->value = value;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* A given value with its reason, or the default with why. */
static void choose(struct setting *s, const struct option_value *v, uint64_t dfl, const char *why)
{
	if (v->given)
		set(s, v->num, "given");
	else
		set(s, dfl, why);
}

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int resolve_op(const struct options *opt, struct point *p)
{
	const struct op *op = op_find(opt->op.text);
	char names[200];

	if (!op) {
		op_names(names, sizeof(names));
		return fail(FAIL_USAGE, EINVAL, "--op '%s': no such operation; there are %s",
			    opt->op.text, names);
	}
	set(&p->op, (uint64_t)(op - ops), opt->op.given ? "given" : "default");
	return 0;
}

/*
 * With --iters the warm-up is a number of messages, so its text is read again as one. That is why
 * the option's own range is wider than a time may be.
 */
static int resolve_ends(const struct options *opt, struct point *p)
{
	choose(&p->iters, &opt->iters, 0, "by time");
	if (!point_counts(p)) {
		choose(&p->duration, &opt->duration, opt->duration.num, "default");
		choose(&p->warmup, &opt->warmup, WARMUP_NS, "default");
		if (p->warmup.value > WARMUP_LONGEST_NS)
			return fail(FAIL_USAGE, EINVAL, "--warmup '%s' with --duration: it is a "
				    "time then; at most 1000000 s", opt->warmup.text);
		return 0;
	}
	set(&p->duration, 0, "by count");
	set(&p->warmup, least(opt->iters.num / 10, WARMUP_MOST), "a tenth of --iters");
	if (!opt->warmup.given)
		return 0;
	if (units_parse_count(opt->warmup.text, &p->warmup.value))
		return fail(FAIL_USAGE, EINVAL,
			    "--warmup '%s' with --iters %s: it counts messages then; "
			    "give a whole number", opt->warmup.text, opt->iters.text);
	set(&p->warmup, p->warmup.value, "given");
	return 0;
}

/*
 * Depth, signaling interval and the others depend on size and queue pairs only, so that a size
 * alone and the same size within a sweep run alike (design section 3).
 */
static void resolve_queues(const struct options *opt, struct point *p)
{
	uint64_t size = p->size.value;
	char size_text[32], why[64];

	units_size(size_text, sizeof(size_text), size);
	snprintf(why, sizeof(why), "default for %s", size_text);
	choose(&p->depth, &opt->depth, clamp(8 * MIB / (size * p->qps), 2, 128), why);
	choose(&p->signal, &opt->signal,
	       clamp(least(least(32, p->depth.value / 4), 65536 / size), 1, 32), why);
	choose(&p->batch, &opt->batch, opt->batch.num, "default");
	choose(&p->rx_depth, &opt->rx_depth, least(2 * p->depth.value, 512), "twice the depth");
	if (p->test.value == TEST_LAT)
		choose(&p->stamp, &opt->stamp, 1, "every operation");
	else
		choose(&p->stamp, &opt->stamp, p->signal.value == 1 ? 16 : 1,
		       p->signal.value == 1 ? "default when all are signalled" : "default");
}

static void resolve_inline(const struct options *opt, struct point *p)
{
	uint64_t size = p->size.value;

	if (!point_op(p)->inlines)
		set(&p->inline_size, 0, "the operation carries no payload out");
	else if (p->test.value == TEST_LAT)
		choose(&p->inline_size, &opt->inline_size, size <= INLINE_MOST ? size : 0,
		       size <= INLINE_MOST ? "default for lat" : "default above 256 B");
	else
		choose(&p->inline_size, &opt->inline_size, 0, "default for bw");
}

int plan_resolve(const struct options *opt, struct point *p)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->qps = 1;
	choose(&p->test, &opt->test, opt->test.num, "default");
	choose(&p->direction, &opt->direction, opt->direction.num, "default");
	choose(&p->stall_timeout, &opt->stall_timeout, opt->stall_timeout.num, "default");
	choose(&p->align, &opt->align, opt->align.num, "default");
	choose(&p->offset, &opt->offset, opt->offset.num, "default");
	choose(&p->size, &opt->size, p->test.value == TEST_LAT ? 8 : 65536,
	       p->test.value == TEST_LAT ? "default for lat" : "default for bw");
	rc = resolve_op(opt, p);
	if (!rc)
		rc = resolve_ends(opt, p);
	if (rc)
		return rc;
	resolve_queues(opt, p);
	resolve_inline(opt, p);
	return rules_check_point(opt, p);
}

static int fit_mtu(const struct options *opt, struct point *p, const struct caps *ours,
		   const struct caps *theirs)
{
	uint64_t smaller = least(ours->active_mtu, theirs->active_mtu);

	choose(&p->mtu, &opt->mtu, smaller, "smaller active MTU");
	if (p->mtu.value > smaller)
		return fail(FAIL_SETUP, EOPNOTSUPP,
			    "--mtu %" PRIu64 ": the active MTU is %u here and %u at the server; "
			    "lower --mtu or raise the netdevs' MTU", p->mtu.value,
			    ours->active_mtu, theirs->active_mtu);
	return 0;
}

int plan_check_limits(const struct point *p, const struct caps *caps, const char *whose)
{
	int rc = rules_check_point(NULL, p);

	return rc ? rc : rules_check_caps(p, caps, whose);
}

int plan_fit(const struct options *opt, struct point *p, const struct caps *ours,
	     const struct caps *theirs)
{
	int rc = fit_mtu(opt, p, ours, theirs);

	if (!rc)
		rc = rules_check_caps(p, ours, "this side's device");
	if (!rc)
		rc = rules_check_caps(p, theirs, "the server's device");
	return rc;
}
