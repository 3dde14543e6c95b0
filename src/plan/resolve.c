/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "plan/limits.h"
#include "plan/local.h"
#include "plan/pace.h"
#include "plan/plan.h"
#include "plan/rules.h"
#include "plan/sweep.h"
#include "verbs/transport.h"

#define MIB (1ULL << 20)
#define INLINE_MOST 256 /* a larger message gains nothing from being copied twice */
#define SHARED_MOST 4096 /* receives that all queue pairs share */
#define WARMUP_NS 500000000ULL
#define WARMUP_MOST 1000 /* messages */
#define WARMUP_LONGEST_NS (1000000ULL * 1000000000)

static void set(struct setting *s, uint64_t value, const char *why)
{
	s->value = value;
	snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, why);
}

/* A given value with its reason, or the default with why. */
static void choose(struct setting *s, const struct option_value *v, uint64_t dfl, const char *why)
{
	if (v->given)
		set(s, v->num, "given");
	else
		set(s, dfl, why);
}

void setting_take(struct setting *s, const struct option_value *v)
{
	choose(s, v, v->num, "default");
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
		setting_take(&p->duration, &opt->duration);
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

/* What needs no peer has latencies only; a test that was asked for has a rule of its own. */
static void resolve_test(const struct options *opt, struct point *p)
{
	setting_take(&p->test, &opt->test);
	if (op_is_local(point_op(p)) && !opt->test.given)
		set(&p->test, TEST_LAT, "the operation's only one");
}

#define LOCAL_BYTES 4096

static void resolve_size(const struct options *opt, struct point *p)
{
	const struct op *op = point_op(p);
	bool lat = p->test.value == TEST_LAT;

	if (op_is_local(op))
		choose(&p->size, &opt->size, LOCAL_BYTES, "default, a page");
	else if (op->min_size == op->max_size)
		choose(&p->size, &opt->size, op->min_size, "the operation's only one");
	else if (!lat && transport_get(p->transport.value)->datagrams)
		choose(&p->size, &opt->size, DATAGRAM_MOST, "the largest MTU");
	else
		choose(&p->size, &opt->size, lat ? 8 : 65536,
		       lat ? "default for lat" : "default for bw");
}

#define STAMPED_SMALL 4096 /* bytes; a stamp costs as much as several messages of no more */

/* Where every post asks for a completion, timing each would cost more than the device does. */
static void choose_stamp(const struct options *opt, struct point *p)
{
	if (p->signal.value > p->batch.value)
		choose(&p->stamp, &opt->stamp, 1, "default");
	else
		choose(&p->stamp, &opt->stamp, p->size.value > STAMPED_SMALL ? 16 : 32,
		       p->batch.value > 1 ? "default when each list asks" :
					    "default when all are signalled");
}

/*
 * Depth, signaling interval and the others depend on size and queue pairs only, so that a size
 * alone and the same size within a sweep run alike (design section 3).
 */
static void resolve_queues(const struct options *opt, struct point *p)
{
	uint64_t size = p->size.value;
	char size_text[32], why[96];

	units_size(size_text, sizeof(size_text), size);
	if (p->qps.value > 1)
		snprintf(why, sizeof(why), "default for %s and %" PRIu64 " QPs", size_text,
			 p->qps.value);
	else
		snprintf(why, sizeof(why), "default for %s", size_text);
	choose(&p->depth, &opt->depth, clamp(8 * MIB / size / p->qps.value, 2, 128), why);
	if (p->test.value == TEST_LAT && point_op(p)->reply == COMPLETION)
		choose(&p->signal, &opt->signal, 1, "each completion is an answer");
	else if (p->rate.value && p->test.value == TEST_BW)
		choose(&p->signal, &opt->signal, 1, "each message is timed");
	else
		choose(&p->signal, &opt->signal,
		       clamp(least(least(32, p->depth.value / 4), 65536 / size), 1, 32), why);
	setting_take(&p->batch, &opt->batch);
	setting_take(&p->sge, &opt->sge);
	setting_take(&p->post_api, &opt->post_api);
	setting_take(&p->events, &opt->events);
	choose(&p->outs, &opt->outs, 0, "what both devices allow");
	setting_take(&p->atomic_target, &opt->atomic_target);
	setting_take(&p->srq, &opt->srq);
	choose(&p->rx_depth, &opt->rx_depth,
	       p->srq.value ? least(2 * p->depth.value * p->qps.value, SHARED_MOST) :
			      least(2 * p->depth.value, 512),
	       p->srq.value ? "twice the depth of all" : "twice the depth");
	setting_take(&p->recv_batch, &opt->recv_batch);
	if (p->test.value == TEST_LAT)
		choose(&p->stamp, &opt->stamp, 1, "every operation");
	else if (p->rate.value)
		choose(&p->stamp, &opt->stamp, 1, "each message is timed");
	else
		choose_stamp(opt, p);
}

#define LOCAL_MEMORY (16 * MIB) /* what is registered is not always the same memory */
#define LOCAL_MOST 16
#define CYCLE_BYTES 4096 /* small messages step through this much of a buffer */

/*
 * A message's place is not used again before it has been looked at. One that names its address may
 * be written over by one that is not received yet, so places for those are needed beside.
 */
static void widen_for_verify(struct point *p)
{
	uint64_t asked = p->slots.value, needed = p->depth.value;

	if (p->test.value == TEST_LAT || point_op(p)->flow == FLOW_COUNTER)
		return;
	if (point_op(p)->receives)
		needed += p->rx_depth.value;
	if (asked >= needed)
		return;
	p->slots.value = needed;
	snprintf(p->slots.why, sizeof(p->slots.why), "%" PRIu64 " -> %" PRIu64
		 ", all in flight", asked, needed);
}

/* Default: as perftest's buffers, so that numbers compare (design section 5). */
static void resolve_memory(const struct options *opt, struct point *p)
{
	bool memory = p->test.value == TEST_LAT && point_op(p)->reply == ECHO_MEMORY;

	setting_take(&p->memory, &opt->memory);
	setting_take(&p->window, &opt->window);
	if (op_is_local(point_op(p)))
		choose(&p->slots, &opt->slots, clamp(LOCAL_MEMORY / point_stride(p), 1, LOCAL_MOST),
		       "up to 16, in 16 MiB");
	else if (p->test.value == TEST_LAT || point_op(p)->flow == FLOW_COUNTER)
		choose(&p->slots, &opt->slots, 1, "one in flight");
	else if (p->size.value > CYCLE_BYTES / 2)
		choose(&p->slots, &opt->slots, 1, "default above 2 KiB");
	else
		choose(&p->slots, &opt->slots, CYCLE_BYTES / point_stride(p), "4 KiB of them");
	if (point_op(p)->flow == FLOW_COUNTER && !opt->slots.given)
		set(&p->slots, 1, "a counter each");
	setting_take(&p->verify, &opt->verify);
	if (p->verify.value)
		widen_for_verify(p);
	setting_take(&p->odp, &opt->odp);
	setting_take(&p->mr, &opt->mr);
	choose(&p->relaxed_ordering, &opt->relaxed_ordering, RELAXED_AUTO, "auto");
	if (p->relaxed_ordering.value == RELAXED_AUTO)
		set(&p->relaxed_ordering, memory ? RELAXED_OFF : RELAXED_ON,
		    memory ? "auto: seen in memory" : "auto");
}

/* How a connection is made, and what it does when nothing comes back. */
static void resolve_path(const struct options *opt, struct point *p)
{
	setting_take(&p->sl, &opt->sl);
	setting_take(&p->tclass, &opt->tclass);
	setting_take(&p->flow_label, &opt->flow_label);
	setting_take(&p->hop_limit, &opt->hop_limit);
	setting_take(&p->pkey_index, &opt->pkey_index);
	setting_take(&p->qp_timeout, &opt->qp_timeout);
	setting_take(&p->retry, &opt->retry);
	setting_take(&p->rnr_retry, &opt->rnr_retry);
	setting_take(&p->min_rnr, &opt->min_rnr);
}

static void resolve_inline(const struct options *opt, struct point *p)
{
	uint64_t size = p->size.value;

	if (!op_has(point_op(p), TRAIT_INLINES))
		choose(&p->inline_size, &opt->inline_size, 0,
		       "the operation carries no payload out");
	else if (p->test.value == TEST_LAT)
		choose(&p->inline_size, &opt->inline_size, size <= INLINE_MOST ? size : 0,
		       size <= INLINE_MOST ? "default for lat" : "default above 256 B");
	else
		choose(&p->inline_size, &opt->inline_size, 0, "default for bw");
}

int resolve_point(const struct options *opt, struct point *p)
{
	int rc;

	memset(p, 0, sizeof(*p));
	setting_take(&p->qps, &opt->qps);
	setting_take(&p->threads, &opt->threads);
	setting_take(&p->direction, &opt->direction);
	if (opt->bidirectional.given)
		set(&p->direction, DIRECTION_BOTH, "given");
	setting_take(&p->transport, &opt->transport);
	setting_take(&p->loss_timeout, &opt->loss_timeout);
	setting_take(&p->stall_timeout, &opt->stall_timeout);
	choose(&p->rdma_cm, &opt->rdma_cm, 0, "default");
	setting_take(&p->tos, &opt->tos);
	setting_take(&p->align, &opt->align);
	setting_take(&p->offset, &opt->offset);
	if (opt->mtu.given)
		choose(&p->mtu, &opt->mtu, 0, "");
	rc = resolve_op(opt, p);
	if (!rc)
		rc = resolve_ends(opt, p);
	if (rc)
		return rc;
	resolve_test(opt, p);
	resolve_size(opt, p);
	rc = pace_resolve(opt, p);
	if (rc)
		return rc;
	resolve_queues(opt, p);
	resolve_inline(opt, p);
	resolve_path(opt, p);
	resolve_memory(opt, p);
	return 0;
}

int plan_resolve(const struct options *opt, struct point *p)
{
	int rc = resolve_point(opt, p);

	return rc ? rc : rules_check_point(opt, p);
}

static int fit_mtu(const struct options *opt, struct point *p, const struct caps *ours,
		   const struct caps *theirs)
{
	uint64_t smaller = least(ours->active_mtu, theirs->active_mtu);

	if (!opt->mtu.given)
		set(&p->mtu, smaller, "smaller active MTU");
	if (p->mtu.value > smaller)
		return fail(FAIL_SETUP, EOPNOTSUPP,
			    "--mtu %" PRIu64 ": the active MTU is %u here and %u at the server; "
			    "lower --mtu or raise the netdevs' MTU", p->mtu.value,
			    ours->active_mtu, theirs->active_mtu);
	return 0;
}

/* A datagram of the default size is one of the MTU, which is known only now. */
static int fit_datagram(const struct options *opt, struct point *p)
{
	uint64_t mtu = p->mtu.value;
	struct options one;

	if (!transport_get(p->transport.value)->datagrams || p->size.value <= mtu)
		return 0;
	if (opt->size.given)
		return rules_check_datagram(p);
	set(&p->size, mtu, "the MTU, as a datagram has one packet");
	sweep_options_of(opt, p, &one);
	resolve_queues(&one, p);
	resolve_inline(&one, p);
	resolve_memory(&one, p);
	return rules_check_point(&one, p);
}

/* What the devices leave of --outs, with the reason where it is less than what was asked for. */
static void fit_outstanding(struct point *p, const struct caps *ours, const struct caps *theirs)
{
	uint64_t asked = p->outs.value;
	bool out = p->direction.value != DIRECTION_IN;
	uint64_t got = out ? plan_outstanding(p, ours, theirs) : plan_outstanding(p, theirs, ours);

	if (!op_has(point_op(p), TRAIT_READS)) {
		set(&p->outs, 0, asked ? "given, but the operation reads nothing" :
					 "the operation reads nothing");
		return;
	}
	p->outs.value = got;
	if (asked > got)
		snprintf(p->outs.why, sizeof(p->outs.why), "%" PRIu64 " -> %" PRIu64
			 ", what both allow", asked, got);
}

uint32_t plan_outstanding(const struct point *p, const struct caps *initiator,
			  const struct caps *responder)
{
	uint64_t most = least(initiator->max_rd_init, responder->max_rd_res);

	most = least(most, 255); /* the attribute of a queue pair is a byte */
	return (uint32_t)(p->outs.value ? least(p->outs.value, most) : most);
}

bool plan_supports(const struct point *p, const struct caps *caps)
{
	const struct op *op = point_op(p);

	if (op->flow == FLOW_COUNTER && !caps->atomics)
		return false;
	return !op_has(op, TRAIT_READS) || (caps->max_rd_init && caps->max_rd_res);
}

int plan_check_limits(const struct point *p, const struct caps *caps, const char *whose)
{
	int rc = rules_check_point(NULL, p);

	if (!rc)
		rc = rules_check_datagram(p);
	return rc ? rc : limits_check(p, caps, whose);
}

int plan_fit(const struct options *opt, struct point *p, const struct caps *ours,
	     const struct caps *theirs)
{
	int rc = fit_mtu(opt, p, ours, theirs);

	fit_outstanding(p, ours, theirs);
	if (!rc)
		rc = local_fit(p, ours);
	if (!rc)
		rc = fit_datagram(opt, p);
	if (!rc)
		rc = limits_check(p, ours, "this side's device");
	if (!rc)
		rc = limits_check(p, theirs, "the server's device");
	return rc;
}
