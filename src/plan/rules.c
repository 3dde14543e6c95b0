/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "plan/local.h"
#include "plan/pace.h"
#include "verbs/transport.h"

static bool lat(const struct point *p)
{
	return p->test.value == TEST_LAT;
}

static bool power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

/*
 * A rule names two settings; the sentence is completed by the values of both. A rule whose second
 * name is NULL is about the first alone.
 */
struct rule {
	bool (*broken)(const struct options *opt, const struct point *p);
	const char *first, *second;
	size_t first_at, second_at;
	const char *sentence;
};

static bool two_directions(const struct options *opt, const struct point *p)
{
	(void)p;
	return opt && opt->bidirectional.given && opt->direction.given &&
	       opt->direction.num != DIRECTION_BOTH;
}

static bool iters_and_duration(const struct options *opt, const struct point *p)
{
	(void)p;
	return opt && opt->iters.given && opt->duration.given;
}

static bool signal_beyond_depth(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->signal.value > p->depth.value;
}

static bool batch_beyond_depth(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->batch.value > p->depth.value;
}

static bool batch_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && p->batch.value > 1;
}

static bool stamp_in_lat(const struct options *opt, const struct point *p)
{
	return opt && opt->stamp.given && lat(p) && p->stamp.value != 1;
}

static bool one_receive_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && point_op(p)->receives && p->rx_depth.value < 2;
}

static bool align_no_power(const struct options *opt, const struct point *p)
{
	(void)opt;
	return !power_of_two(p->align.value);
}

static bool offset_beyond_align(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->offset.value >= p->align.value && p->offset.value;
}

static bool stamp_no_power(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->stamp.value && !power_of_two(p->stamp.value);
}

static bool size_above_op(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->size.value > point_op(p)->max_size;
}

static bool signal_of_completions(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && point_op(p)->reply == COMPLETION && p->signal.value > 1;
}

static bool both_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && p->direction.value == DIRECTION_BOTH;
}

static bool qps_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && p->qps.value > 1;
}

static bool threads_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && p->threads.value > 1;
}

static bool threads_beyond_qps(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->threads.value > p->qps.value;
}

static bool threads_by_rate(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->rate.value && p->threads.value > 1;
}

static bool samples_of_threads(const struct options *opt, const struct point *p)
{
	return opt && opt->samples.given && p->threads.value > 1;
}

static bool atomic_misaligned(const struct options *opt, const struct point *p)
{
	(void)opt;
	return point_op(p)->flow == FLOW_COUNTER && (p->offset.value | p->align.value) % 8;
}

static bool count_overflows(const struct options *opt, const struct point *p)
{
	uint64_t each, all;

	(void)opt;
	return point_counts(p) &&
	       (__builtin_add_overflow(p->warmup.value, p->iters.value, &each) ||
		__builtin_mul_overflow(each, p->qps.value, &all));
}

static bool inline_of_others(const struct options *opt, const struct point *p)
{
	return opt && opt->inline_size.given && opt->inline_size.num &&
	       !op_has(point_op(p), TRAIT_INLINES);
}

static bool tos_without_cm(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->tos.value != TOS_DEFAULT && !p->rdma_cm.value;
}

static bool dlid_with_cm(const struct options *opt, const struct point *p)
{
	return opt && opt->dlid.given && p->rdma_cm.value;
}

static bool tos_with_tclass(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->tos.value != TOS_DEFAULT && p->tclass.value;
}

static bool cm_without_rc(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->rdma_cm.value && p->transport.value != TRANSPORT_RC;
}

static bool loss_beyond_stall(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && !transport_get(p->transport.value)->reliable &&
	       p->loss_timeout.value >= p->stall_timeout.value;
}

static bool size_below_op(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->size.value < point_op(p)->min_size;
}

static bool slots_in_pingpong(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && point_op(p)->reply != COMPLETION && p->slots.value > 1;
}

static bool slots_of_counters(const struct options *opt, const struct point *p)
{
	(void)opt;
	return point_op(p)->flow == FLOW_COUNTER && p->slots.value > 1;
}

#define VERIFY_LEAST 16
#define BUFFER_MOST (1ULL << 50) /* more than any host has; sums of it do not overflow */

static bool buffer_overflows(const struct options *opt, const struct point *p)
{
	uint64_t all;

	(void)opt;
	return __builtin_mul_overflow(point_stride(p), p->slots.value * p->qps.value, &all) ||
	       all > BUFFER_MOST;
}

static bool relaxed_marker(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && point_op(p)->reply == ECHO_MEMORY &&
	       p->relaxed_ordering.value != RELAXED_OFF;
}

/* As plan.c widens them: a client that does not is not served. */
static bool verify_too_narrow(const struct options *opt, const struct point *p)
{
	uint64_t needed = p->depth.value + (point_op(p)->receives ? p->rx_depth.value : 0);

	(void)opt;
	return p->verify.value && !lat(p) && point_op(p)->flow != FLOW_COUNTER &&
	       p->slots.value < needed;
}

/* It says itself which message it is, in its first words; see verbs/content.c. */
static bool verify_untold(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->verify.value && !transport_get(p->transport.value)->reliable &&
	       p->size.value < VERIFY_LEAST;
}

static bool pieces_beyond_size(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->sge.value > p->size.value;
}

static bool pieces_of_counters(const struct options *opt, const struct point *p)
{
	(void)opt;
	return point_op(p)->flow == FLOW_COUNTER && p->sge.value > 1;
}

static bool shared_of_none(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->srq.value && !point_op(p)->receives;
}

/* What a message that loses a part of itself leaves in a receive is then another queue pair's. */
static bool shared_on_uc(const struct options *opt, const struct point *p)
{
	const struct transport *t = transport_get(p->transport.value);

	(void)opt;
	return p->srq.value && !t->reliable && !t->datagrams;
}

static bool recv_batch_in_lat(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && p->recv_batch.value > 1;
}

static bool recv_batch_beyond_depth(const struct options *opt, const struct point *p)
{
	(void)opt;
	return point_op(p)->receives && p->recv_batch.value > p->rx_depth.value;
}

static bool events_in_memory(const struct options *opt, const struct point *p)
{
	(void)opt;
	return lat(p) && point_op(p)->reply == ECHO_MEMORY && p->events.value;
}

/* In a latency test it is the answer that is slept for, after the message has left. */
static bool events_by_rate(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->events.value && p->rate.value && !lat(p);
}

/* Burst, arrivals and seed by their values: a default that is given changes nothing. */
static bool burst_alone(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->burst.value > 1 && !p->rate.value;
}

static bool arrival_alone(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->arrival.value != ARRIVAL_FIXED && !p->rate.value;
}

static bool seed_alone(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->seed.value != 1 && p->arrival.value != ARRIVAL_POISSON;
}

static bool batch_by_rate(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->rate.value && p->batch.value > 1;
}

static bool gap_by_rate(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->rate.value && p->gap.value;
}

static bool gap_in_bw(const struct options *opt, const struct point *p)
{
	(void)opt;
	return p->gap.value && !lat(p);
}

/* Half of it, so that what else takes time does not end the run. */
static bool pause_beyond_stall(const struct options *opt, const struct point *p)
{
	(void)opt;
	return pace_pause(p) > p->stall_timeout.value / 2;
}

#define AT(field) offsetof(struct point, field)
#define NO_VALUE SIZE_MAX /* the first name says all */

static const struct rule rules[] = {
	{ iters_and_duration, "iters", "duration", AT(iters), AT(duration),
	  "one of them ends the run; give one" },
	{ two_directions, "direction", "bidirectional", NO_VALUE, 0,
	  "-b means both; give one of them" },
	{ signal_beyond_depth, "signal", "tx-depth", AT(signal), AT(depth),
	  "the queue would be full before any request asks for a completion; "
	  "lower --signal or raise --tx-depth" },
	{ batch_beyond_depth, "batch", "tx-depth", AT(batch), AT(depth),
	  "a list must fit into the queue; lower --batch or raise --tx-depth" },
	{ batch_in_lat, "batch", "test lat", AT(batch), 0,
	  "a latency test has one operation in flight; drop --batch or use --test bw" },
	{ stamp_in_lat, "stamp", "test lat", AT(stamp), 0,
	  "a latency test times every operation; drop --stamp or use --test bw" },
	{ one_receive_in_lat, "rx-depth", "test lat", AT(rx_depth), 0,
	  "a ping-pong needs two receives posted; raise --rx-depth" },
	{ align_no_power, "align", NULL, AT(align), 0, "not a power of two; try 64 or 4K" },
	{ offset_beyond_align, "offset", "align", AT(offset), AT(align),
	  "an offset lies inside the alignment; lower --offset or raise --align" },
	{ stamp_no_power, "stamp", NULL, AT(stamp), 0, "not a power of two; try 1, 16 or off" },
	{ size_below_op, "size", "op", AT(size), 0, "the operation needs a larger message" },
	{ size_above_op, "size", "op", AT(size), 0,
	  "atomics are 8 bytes long; drop --size or use --size 8" },
	{ signal_of_completions, "signal", "test lat", AT(signal), 0,
	  "this operation's completion is its answer; drop --signal or use --test bw" },
	{ both_in_lat, "direction both", "test lat", NO_VALUE, 0,
	  "a latency test has one side that begins; use --direction out or in" },
	{ qps_in_lat, "qp", "test lat", AT(qps), 0,
	  "a latency test has one operation in flight; drop --qp or use --test bw" },
	{ threads_in_lat, "threads", "test lat", AT(threads), 0,
	  "a latency test has one operation in flight; drop --threads or use --test bw" },
	{ threads_beyond_qps, "threads", "qp", AT(threads), AT(qps),
	  "each thread needs a queue pair; lower --threads or raise --qp" },
	{ threads_by_rate, "threads", "rate", AT(threads), 0,
	  "messages leave by the schedule of one thread; drop one of them" },
	{ samples_of_threads, "threads", "samples", AT(threads), 0,
	  "samples are kept of one thread; drop one of them" },
	{ atomic_misaligned, "offset", "align", AT(offset), AT(align),
	  "atomics need both to be multiples of 8" },
	{ count_overflows, "warmup", "qp", AT(warmup), AT(qps),
	  "more messages than can be counted; lower --warmup" },
	{ verify_too_narrow, "slots", "verify", AT(slots), 0,
	  "each message in flight needs a place; raise --slots" },
	{ verify_untold, "size", "verify", AT(size), 0,
	  "where messages may be lost, only one of 16 bytes or more tells which it is; raise "
	  "--size, or use --connection rc" },
	{ pieces_of_counters, "sge", "op", AT(sge), 0,
	  "a counter's old value comes home in one piece; drop --sge" },
	{ pieces_beyond_size, "sge", "size", AT(sge), AT(size),
	  "each entry needs a byte; lower --sge or raise --size" },
	{ slots_in_pingpong, "slots", "test lat", AT(slots), 0,
	  "a ping-pong keeps to one place; drop --slots or use --test bw" },
	{ slots_of_counters, "slots", "op", AT(slots), 0,
	  "a counter has one place; drop --slots or choose another operation" },
	{ buffer_overflows, "slots", "size", AT(slots), AT(size),
	  "more memory than can be addressed; lower one of them" },
	{ relaxed_marker, "relaxed-ordering on", "test lat", NO_VALUE, 0,
	  "this operation's arrival is seen by its last byte, which may then come before the "
	  "others; drop it or use --test bw" },
	{ tos_without_cm, "tos", NULL, AT(tos), 0,
	  "rdma_cm alone sets a type of service; add --rdma-cm" },
	{ dlid_with_cm, "dlid", "rdma-cm", NO_VALUE, 0,
	  "rdma_cm finds the path by itself; drop one of them" },
	{ tos_with_tclass, "tos", "tclass", AT(tos), AT(tclass),
	  "both are the same byte of a packet; drop one of them" },
	{ burst_alone, "burst", NULL, AT(burst), 0,
	  "only what has a --rate leaves in bursts; add it or drop --burst" },
	{ arrival_alone, "arrival poisson", NULL, NO_VALUE, 0,
	  "only what has a --rate has arrivals; add it or drop --arrival" },
	{ seed_alone, "seed", "arrival fixed", AT(seed), 0,
	  "nothing is drawn; add --arrival poisson or drop --seed" },
	{ batch_by_rate, "batch", "rate", AT(batch), 0,
	  "each message leaves at its own time; drop one of them" },
	{ gap_by_rate, "gap", "rate", NO_VALUE, 0,
	  "a schedule has its own gaps; drop one of them" },
	{ gap_in_bw, "gap", "test bw", NO_VALUE, 0,
	  "a full queue has no gaps; use --rate, or --test lat" },
	{ pause_beyond_stall, "stall-timeout", "rate or --gap", NO_VALUE, 0,
	  "messages would be so far apart that nothing moves for half of it; raise it" },
	{ shared_of_none, "srq", "op", NO_VALUE, 0,
	  "the operation uses no receives; drop --srq or choose another operation" },
	{ shared_on_uc, "srq", "connection UC", NO_VALUE, 0,
	  "receives are shared over RC and UD; drop --srq or use another --connection" },
	{ recv_batch_in_lat, "recv-batch", "test lat", AT(recv_batch), 0,
	  "a latency test has one operation in flight; drop --recv-batch or use --test bw" },
	{ recv_batch_beyond_depth, "recv-batch", "rx-depth", AT(recv_batch), AT(rx_depth),
	  "all receives would be used before any is given back; lower --recv-batch or raise "
	  "--rx-depth" },
	{ events_by_rate, "events", "rate", NO_VALUE, 0,
	  "who keeps a schedule watches the clock and does not sleep; drop one of them" },
	{ events_in_memory, "events", "test lat", NO_VALUE, 0,
	  "this operation's arrival is seen in memory, where nothing wakes a sleeper; drop "
	  "--events or use --test bw" },
	{ cm_without_rc, "rdma-cm", "connection", NO_VALUE, AT(transport),
	  "rdma_cm connects reliable connections only; drop --rdma-cm, or use rc" },
	{ loss_beyond_stall, "loss-timeout", "stall-timeout", NO_VALUE, 0,
	  "waiting for what is lost would be a stall; lower --loss-timeout" },
	{ inline_of_others, "inline", "op", AT(inline_size), 0,
	  "the operation carries no payload out; drop --inline" },
};

static uint64_t value_at(const struct point *p, size_t offset)
{
	return ((const struct setting *)((const char *)p + offset))->value;
}

static int tell(const struct rule *r, const struct point *p)
{
	uint64_t first = r->first_at == NO_VALUE ? 0 : value_at(p, r->first_at);

	if (!r->second && r->first_at == NO_VALUE)
		return fail(FAIL_USAGE, EINVAL, "--%s: %s", r->first, r->sentence);
	if (!r->second)
		return fail(FAIL_USAGE, EINVAL, "--%s %" PRIu64 ": %s", r->first, first,
			    r->sentence);
	if (!strcmp(r->second, "op") && r->first_at == NO_VALUE)
		return fail(FAIL_USAGE, EINVAL, "--%s with --op %s: %s", r->first,
			    point_op(p)->name, r->sentence);
	if (!strcmp(r->second, "op"))
		return fail(FAIL_USAGE, EINVAL, "--%s %" PRIu64 " with --op %s: %s", r->first,
			    first, point_op(p)->name, r->sentence);
	if (r->first_at == NO_VALUE)
		return fail(FAIL_USAGE, EINVAL, "--%s with --%s: %s", r->first, r->second,
			    r->sentence);
	if (!r->second_at)
		return fail(FAIL_USAGE, EINVAL, "--%s %" PRIu64 " with --%s: %s", r->first, first,
			    r->second, r->sentence);
	return fail(FAIL_USAGE, EINVAL, "--%s %" PRIu64 " with --%s %" PRIu64 ": %s", r->first,
		    first, r->second, value_at(p, r->second_at), r->sentence);
}

static int check_transport(const struct point *p)
{
	const char *transport = transport_get(p->transport.value)->name;
	char names[200];

	if (op_is_local(point_op(p)) || op_runs_on(point_op(p), p->transport.value))
		return 0;
	op_names_on(p->transport.value, names, sizeof(names));
	return fail(FAIL_USAGE, EINVAL, "--op %s with --connection %s: %s does not have it, as %s; "
		    "it has %s", point_op(p)->name, transport, transport,
		    transport_get(p->transport.value)->lacks, names);
}

/* What is acknowledged can be sent again, and nothing else. */
static int check_retries(const struct point *p)
{
	const struct transport *t = transport_get(p->transport.value);
	const struct {
		const char *name;
		uint64_t value, otherwise;
	} settings[] = {
		{ "qp-timeout", p->qp_timeout.value, 14 }, { "retry", p->retry.value, 6 },
		{ "rnr-retry", p->rnr_retry.value, 7 }, { "min-rnr", p->min_rnr.value, 12 },
	};

	for (size_t i = 0; !t->reliable && i < sizeof(settings) / sizeof(settings[0]); i++)
		if (settings[i].value != settings[i].otherwise)
			return fail(FAIL_USAGE, EINVAL, "--%s %" PRIu64 " with --connection %s: "
				    "nothing is acknowledged or sent again there; drop --%s, or "
				    "use --connection rc", settings[i].name, settings[i].value,
				    t->name, settings[i].name);
	return 0;
}

int rules_check_datagram(const struct point *p)
{
	const struct transport *t = transport_get(p->transport.value);

	if (!t->datagrams || p->size.value <= p->mtu.value)
		return 0;
	return fail(FAIL_SETUP, EOPNOTSUPP, "--size %" PRIu64 " with --connection %s: a datagram "
		    "has one packet, of at most the MTU of %" PRIu64 " bytes; lower --size, or use "
		    "--connection rc", p->size.value, t->name, p->mtu.value);
}

int rules_check_point(const struct options *opt, const struct point *p)
{
	int rc = check_transport(p);

	if (!rc)
		rc = check_retries(p);
	if (rc)
		return rc;
	if (iters_and_duration(opt, p))
		return fail(FAIL_USAGE, EINVAL, "--iters %s with --duration %s: %s",
			    opt->iters.text, opt->duration.text, rules[0].sentence);
	/* Before what the others advise, which is of a test with a peer. */
	rc = local_check_point(opt, p);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !rc; i++)
		if (rules[i].broken(opt, p))
			rc = tell(&rules[i], p);
	return rc;
}
