/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/doubt.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"
#include "host/counters.h"
#include "stats/merge.h"
#include "stats/shape.h"

#define FEW_MESSAGES 100
#define SHORT_WINDOW_NS 100000000
#define VARYING_CV 0.10
#define DRIFT 0.05        /* over the window, of the mean */
#define DRIFT_ERRORS 4    /* standard errors */
#define FIRST_OFF 0.05    /* of the median... */
#define FIRST_MADS 14.826 /* ...and ten standard deviations of a normal distribution */
#define CLOCK_READS 20    /* a latency of fewer of the clock's steps is mostly clock */
#define BYTES_MAX 1e18    /* a link's rate is what a peer says */
#define TOGETHER 0.9      /* of the time that threads' windows span they are all open */
#define LINK_IDLE 0.8     /* below this share of the link's rate it is not the link that limits */

/* Whether there is the doubt in r, and if so what was seen. */
typedef bool (*doubt_test)(const struct result *r, char *seen);

static const char *name_of(const struct result *r, int side)
{
	static const char *const names[SIDES] = { "client", "server" };

	return result_is_alone(r) ? "host" : names[side];
}

static void append(char *seen, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void append(char *seen, const char *fmt, ...)
{
	size_t used = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + used, DOUBT_SEEN - used, fmt, ap);
	va_end(ap);
}

/* What stands between two parts of a sentence, and nothing before the first. */
static const char *comma(const char *seen)
{
	return seen[0] ? "; " : "";
}

/* Both directions: which one is meant, since there are two of everything. */
static const char *flow(const struct result *r, int sender)
{
	if (r->point.direction.value != DIRECTION_BOTH)
		return "";
	return sender == SIDE_CLIENT ? "client to server: " : "server to client: ";
}

static bool is_lat(const struct result *r)
{
	return r->point.test.value == TEST_LAT;
}

/* The measure of a flow that a doubt is about; NULL when there is none. */
static const struct measure *flow_truth(const struct result *r, int sender)
{
	const struct measure *m = result_sends(r, sender) ? result_truth(r, sender) : NULL;

	return m && m->opened ? m : NULL;
}

static const struct measure *flow_timed(const struct result *r, int sender)
{
	const struct measure *m = result_sends(r, sender) ? result_timed(r, sender) : NULL;

	return m && m->opened && m->latency.m.n ? m : NULL;
}

/* Both sides have the text, and the same one. */
static bool alike(const char *client, const char *server)
{
	return client[0] && !strcmp(client, server);
}

static bool governor(const struct result *r, char *seen)
{
	const char *client = r->side[SIDE_CLIENT].host.governor;

	if (alike(client, r->side[SIDE_SERVER].host.governor)) {
		if (strcmp(client, "performance"))
			append(seen, "the CPU frequency governor of both ends is %s", client);
		return seen[0];
	}
	for (int i = 0; i < SIDES; i++) {
		const char *g = r->side[i].host.governor;

		if (g[0] && strcmp(g, "performance"))
			append(seen, "%sthe CPU frequency governor of the %s is %s", comma(seen),
			       name_of(r, i), g);
	}
	return seen[0];
}

/* The node beside the device's that data threads ran on; -1: none, or not known. */
static int32_t strayed(const struct measure *m, int32_t node)
{
	if (m->thread_node >= 0)
		return m->thread_node == node ? -1 : m->thread_node;
	for (uint32_t i = 0; i < m->threads; i++)
		if (m->thread[i].node >= 0 && m->thread[i].node != node)
			return m->thread[i].node;
	return -1;
}

static bool numa(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = r->side[i].measure;
		int32_t node = r->side[i].device.numa_node;
		int32_t ran = m && m->active ? strayed(m, node) : -1;

		if (ran >= 0 && node >= 0)
			append(seen, "%sthe %s's data thread ran on NUMA node %d, its device %s "
			       "is on node %d", comma(seen), name_of(r, i), ran,
			       r->side[i].device.name, node);
	}
	return seen[0];
}

/* CPUs that threads are pinned to; 0 where they are not. */
static uint32_t cpus_of(const struct measure *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->threads; i++) {
		uint32_t j = 0;

		if (m->thread[i].cpu < 0)
			return 0;
		while (m->thread[j].cpu != m->thread[i].cpu)
			j++;
		n += j == i;
	}
	return n;
}

static bool threads_share(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = r->side[i].measure;
		uint32_t cpus = m ? cpus_of(m) : 0;

		if (cpus && cpus < m->threads)
			append(seen, "%sthe %s's %u data threads share %u CPU%s", comma(seen),
			       name_of(r, i), m->threads, cpus, cpus > 1 ? "s" : "");
	}
	return seen[0];
}

static bool threads_apart(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = r->side[i].measure;

		if (m && m->opened && m->threads > 1 && measure_overlap(m) < TOGETHER)
			append(seen, "%sthe windows of the %s's %u data threads were all open for "
			       "only %.0f %% of their time", comma(seen), name_of(r, i), m->threads,
			       100 * measure_overlap(m));
	}
	return seen[0];
}

static bool virtual_machine(const struct result *r, char *seen)
{
	const char *client = r->side[SIDE_CLIENT].host.virtual_machine;

	if (alike(client, r->side[SIDE_SERVER].host.virtual_machine)) {
		append(seen, "both ends are virtual machines (%s)", client);
		return true;
	}
	for (int i = 0; i < SIDES; i++)
		if (r->side[i].host.virtual_machine[0])
			append(seen, "%sthe %s is a virtual machine (%s)", comma(seen),
			       name_of(r, i), r->side[i].host.virtual_machine);
	return seen[0];
}

static bool software_device(const struct result *r, char *seen)
{
	const struct device_facts *c = &r->side[SIDE_CLIENT].device;
	const struct device_facts *s = &r->side[SIDE_SERVER].device;

	if (c->software_device && s->software_device) {
		append(seen, "%s and %s are software devices", c->name, s->name);
		return true;
	}
	for (int i = 0; i < SIDES; i++)
		if (r->side[i].device.software_device)
			append(seen, "%sthe %s's %s is a software device", comma(seen),
			       name_of(r, i), r->side[i].device.name);
	return seen[0];
}

static bool pcie_link(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		const struct device_facts *d = &r->side[i].device;

		if ((d->pcie_speed > 0 && d->pcie_speed < d->pcie_max_speed) ||
		    (d->pcie_width && d->pcie_width < d->pcie_max_width))
			append(seen, "%sthe %s's %s has a PCIe link of %u lanes at %g GT/s and "
			       "can do %u at %g", comma(seen), name_of(r, i), d->name,
			       d->pcie_width,
			       d->pcie_speed, d->pcie_max_width, d->pcie_max_speed);
	}
	return seen[0];
}

static bool few_messages(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = flow_truth(r, i);

		if (m && m->window.count < FEW_MESSAGES)
			append(seen, "%s%s%" PRIu64 " messages in the window are too few for a "
			       "verdict", comma(seen), flow(r, i), m->window.count);
	}
	return seen[0];
}

static bool few_samples(const struct result *r, char *seen)
{
	static const double shown[] = { 50, 90, 99, 99.9, 99.99 };
	char n[UNITS_TEXT_SIZE];

	for (int i = 0; is_lat(r) && i < SIDES; i++) {
		const struct measure *m = flow_timed(r, i);
		const char *between = "";
		uint64_t ns;

		if (!m || !histogram_percentile(&m->latency, 0.9999, &ns))
			continue;
		units_count(n, sizeof(n), m->latency.m.n);
		append(seen, "%s samples are too few for ", n);
		for (size_t p = 0; p < sizeof(shown) / sizeof(shown[0]); p++) {
			if (!histogram_percentile(&m->latency, shown[p] / 100, &ns))
				continue;
			append(seen, "%sp%g", between, shown[p]);
			between = ", ";
		}
	}
	return seen[0];
}

/* Below the rate that was asked for, every response is as long as the run is. */
static bool backlog(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++) {
		double kept = result_sends(r, i) ? result_kept(r, i) : NAN;

		if (!result_sends(r, i) || !result_behind(r, i))
			continue;
		append(seen, "%s%sbacklog: %.1f %% of the schedule was kept, so that messages "
		       "waited for each other and the response times grew with the length of the "
		       "run", comma(seen), flow(r, i), kept * 100);
	}
	return seen[0];
}

static bool short_window(const struct result *r, char *seen)
{
	char text[UNITS_TEXT_SIZE];

	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = flow_truth(r, i);

		if (m && m->window.t1 - m->window.t0 < SHORT_WINDOW_NS)
			append(seen, "%s%sthe window lasted only %s", comma(seen), flow(r, i),
			       units_time(text, sizeof(text), m->window.t1 - m->window.t0));
	}
	return seen[0];
}

static bool burst(const struct result *r, char *seen)
{
	const struct point *p = &r->point;

	if (is_lat(r) || p->rate.value || !point_counts(p) || p->iters.value > p->depth.value)
		return false;
	append(seen, "the queue holds all %" PRIu64 " messages at once, so that their rate is that "
	       "of a burst", p->iters.value);
	return true;
}

static bool shape_of(const struct result *r, int sender, struct series_shape *shape)
{
	const struct measure *m = flow_truth(r, sender);

	return m && !series_shape(&m->series, shape);
}

static bool drifts(const struct series_shape *s)
{
	return fabs(s->drift) > DRIFT && fabs(s->drift) > DRIFT_ERRORS * s->drift_error;
}

static bool first_differs(const struct series_shape *s)
{
	return fabs(s->first) > FIRST_OFF && s->first_mads > FIRST_MADS;
}

static bool first_interval(const struct result *r, char *seen)
{
	struct series_shape s;

	for (int i = 0; i < SIDES; i++)
		if (shape_of(r, i, &s) && first_differs(&s))
			append(seen, "%s%sthe rate of the first interval was %.0f %% %s that of "
			       "the median one", comma(seen), flow(r, i), fabs(s.first) * 100,
			       s.first < 0 ? "below" : "above");
	return seen[0];
}

static bool drift(const struct result *r, char *seen)
{
	struct series_shape s;

	for (int i = 0; i < SIDES; i++)
		if (shape_of(r, i, &s) && drifts(&s))
			append(seen, "%s%sthe rate %s by %.0f %% over the window", comma(seen),
			       flow(r, i), s.drift < 0 ? "fell" : "rose", fabs(s.drift) * 100);
	return seen[0];
}

/*
 * Completions come in lumps of the signal interval, or of a burst: by so much two equal intervals
 * may differ.
 */
static double lumps(const struct result *r, int sender, const struct series_shape *s)
{
	double each = (double)flow_truth(r, sender)->window.count / s->n;

	uint64_t lump = is_lat(r) ? 0 : r->point.signal.value;

	if (r->point.rate.value && lump < r->point.burst.value)
		lump = r->point.burst.value;
	return each <= 0 ? 0 : (double)lump / each;
}

static bool varying(const struct result *r, char *seen)
{
	struct series_shape s;

	if (r->point.arrival.value == ARRIVAL_POISSON)
		return false; /* that is what was asked for */
	for (int i = 0; i < SIDES; i++)
		if (shape_of(r, i, &s) && s.cv > VARYING_CV + lumps(r, i, &s) && !drifts(&s))
			append(seen, "%s%sthe rates of the intervals vary by %.0f %% (standard "
			       "deviation over mean)", comma(seen), flow(r, i), s.cv * 100);
	return seen[0];
}

static bool bimodal(const struct result *r, char *seen)
{
	struct histogram_modes modes;
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

	for (int i = 0; is_lat(r) && i < SIDES; i++) {
		const struct measure *m = flow_timed(r, i);

		if (!m || !histogram_bimodal(&m->latency, m->clock_resolution_ns, &modes))
			continue;
		append(seen, "the latency has two modes: about %s (%.0f %% of the samples) and %s",
		       units_time(low, sizeof(low), modes.low / m->divisor),
		       modes.low_share * 100,
		       units_time(high, sizeof(high), modes.high / m->divisor));
	}
	return seen[0];
}

static bool clock_coarse(const struct result *r, char *seen)
{
	for (int i = 0; is_lat(r) && i < SIDES; i++) {
		const struct measure *m = flow_timed(r, i);
		uint64_t p50, step;

		if (!m || histogram_percentile(&m->latency, 0.5, &p50))
			continue;
		step = m->clock_read_ns > m->clock_resolution_ns ? m->clock_read_ns :
								   m->clock_resolution_ns;
		if (p50 < CLOCK_READS * step)
			append(seen, "the median sample is %" PRIu64 " ns, and the clock takes %u "
			       "ns to read and has steps of %u ns", p50, m->clock_read_ns,
			       m->clock_resolution_ns);
	}
	return seen[0];
}

/* The link's rate in bit/ns, where it is real on both sides; else 0. */
static double link_rate(const struct result *r)
{
	const struct device_facts *c = &r->side[SIDE_CLIENT].device;
	const struct device_facts *s = &r->side[SIDE_SERVER].device;

	if (c->software_device || s->software_device || !(c->link_gbit_per_s > 0) ||
	    !(s->link_gbit_per_s > 0))
		return 0;
	return fmin(c->link_gbit_per_s, s->link_gbit_per_s);
}

static bool link_is_busy(const struct result *r, int sender)
{
	double gbit = measure_rate(result_truth(r, sender)) * (double)r->point.size.value * 8 / 1e9;

	return link_rate(r) > 0 && !(gbit < LINK_IDLE * link_rate(r));
}

/* Of several queue pairs each has its own allowance. */
static bool read_limited_flow(const struct result *r, int sender)
{
	uint32_t allowed = r->side[sender].outstanding;

	return !is_lat(r) && !r->point.rate.value && op_has(point_op(&r->point), TRAIT_READS) &&
	       flow_truth(r, sender) &&
	       allowed && allowed < r->point.depth.value && !link_is_busy(r, sender);
}

static bool read_limited(const struct result *r, char *seen)
{
	for (int i = 0; i < SIDES; i++)
		if (r->point.qps.value == 1 && read_limited_flow(r, i))
			append(seen, "%s%sthe one queue pair may have %u of its %" PRIu64
			       " requests outstanding at the responder", comma(seen), flow(r, i),
			       r->side[i].outstanding, r->point.depth.value);
	return seen[0];
}

/*
 * To keep a link busy there must be as much in flight as it carries while a message takes its way.
 * What a message takes at least is the least completion latency; when something else than the
 * link limits, that has queueing in it, which is why the advice says how to tell. Messages smaller
 * than the path MTU are limited by their number, not by bytes.
 */
static bool bandwidth_delay(const struct result *r, char *seen)
{
	const struct point *p = &r->point;
	double in_flight = (double)p->depth.value * (double)p->size.value * (double)p->qps.value;
	char text[3][UNITS_TEXT_SIZE];

	/* By schedule there is as much in flight as its rate makes of it. */
	if (is_lat(r) || p->rate.value || p->size.value < p->mtu.value)
		return false;
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = flow_timed(r, i);
		double product = m ? link_rate(r) / 8 * (double)m->latency.m.min : 0;

		product = fmin(product, BYTES_MAX);
		if (!m || link_is_busy(r, i) || read_limited_flow(r, i) ||
		    in_flight >= product)
			continue;
		append(seen, "%s%s%s are in flight at most, but the link of %g Gb/s carries %s in "
		       "the %s that a message takes at least", comma(seen), flow(r, i),
		       units_size(text[0], UNITS_TEXT_SIZE, (uint64_t)in_flight), link_rate(r),
		       units_size(text[1], UNITS_TEXT_SIZE, (uint64_t)product),
		       units_time(text[2], UNITS_TEXT_SIZE, m->latency.m.min));
	}
	return seen[0];
}

static bool counted_trouble(const struct result *r, char *seen, enum trouble trouble)
{
	char grown[UNITS_TEXT_SIZE];

	for (int i = 0; i < SIDES; i++) {
		const struct counter_moves *c = r->side[i].measure ?
			&r->side[i].measure->counters : NULL;
		const char *between = NULL;

		for (uint32_t k = 0; c && c->valid && k < c->count; k++) {
			const struct counter_move *m = &c->move[k];

			if (m->after < m->before || counter_trouble(m->name) != trouble)
				continue;
			if (!between)
				append(seen, "%s%s: ", comma(seen), name_of(r, i));
			append(seen, "%s%s +%s", between ? between : "", m->name,
			       units_count(grown, sizeof(grown), m->after - m->before));
			between = ", ";
		}
	}
	return seen[0];
}

#define TROUBLE(name, trouble)                                      \
	static bool name(const struct result *r, char *seen)        \
	{                                                           \
		return counted_trouble(r, seen, trouble);           \
	}

TROUBLE(retransmits, TROUBLE_RETRANSMIT)
TROUBLE(receiver_limited, TROUBLE_RNR)
TROUBLE(out_of_sequence, TROUBLE_SEQUENCE)
TROUBLE(congestion, TROUBLE_CONGESTION)
TROUBLE(discards, TROUBLE_DISCARD)
TROUBLE(pause, TROUBLE_PAUSE)
TROUBLE(link_errors, TROUBLE_LINK)

static const struct {
	const char *key;
	doubt_test test;
	const char *advice;
} doubts[] = {
	{ "software_device", software_device,
	  "compare only with the same kernel on the same machine: the CPU is measured" },
	{ "virtual_machine", virtual_machine,
	  "measure on the bare machine, or compare only within this one" },
	{ "governor", governor, "set it with cpupower frequency-set -g performance" },
	{ "numa", numa, "start rdmeter there under numactl --cpunodebind with the device's node" },
	{ "threads_share", threads_share, "lower --threads, or let rdmeter run on more CPUs" },
	{ "threads_apart", threads_apart,
	  "the rate is no steady one: raise --iters or --duration, keep other load away" },
	{ "pcie_link", pcie_link, "look at lspci -vv, the slot and the firmware's settings" },
	{ "few_messages", few_messages, "raise --iters or --duration" },
	{ "few_samples", few_samples, "raise --iters or --duration" },
	{ "backlog", backlog, "lower --rate; what the device itself takes are the service times" },
	{ "short_window", short_window, "raise --iters, or give --duration" },
	{ "burst", burst, "raise --iters" },
	{ "first_interval", first_interval, "raise --warmup" },
	{ "drift", drift,
	  "raise --warmup and --duration; look for heat, clock changes and other load" },
	{ "varying", varying, "keep other load away, pin with taskset, raise --duration" },
	{ "bimodal", bimodal,
	  "look for idle states, interrupts and migrations; pin with taskset, repeat" },
	{ "clock", clock_coarse,
	  "the clock is a good part of it: see the rate of --test bw --tx-depth 1" },
	{ "bandwidth_delay", bandwidth_delay,
	  "raise --tx-depth or --qp; if the rate stays, the limit is elsewhere" },
	{ "read_limited", read_limited, "raise --qp, the size, or --outs where it was given" },
	{ "receiver_limited", receiver_limited,
	  "messages came before their receives: raise --rx-depth, give the receiver a CPU" },
	{ "retransmits", retransmits,
	  "look for loss: cables, switch drops, PFC and ECN; other traffic counts too" },
	{ "out_of_sequence", out_of_sequence,
	  "look for loss or several paths (LAG, ECMP); other traffic counts too" },
	{ "congestion", congestion,
	  "senders were told to slow down: look for other traffic, and at ECN thresholds" },
	{ "discards", discards, "packets were thrown away: look at buffers, PFC and flow control" },
	{ "pause", pause, "it had to wait for credits of the other end: the receiver is slower" },
	{ "link_errors", link_errors, "look at cable, connector and module" },
};

_Static_assert(sizeof(doubts) / sizeof(doubts[0]) <= DOUBTS_MAX, "raise DOUBTS_MAX");

size_t doubt_count(void)
{
	return sizeof(doubts) / sizeof(doubts[0]);
}

const char *doubt_key(size_t i)
{
	return doubts[i].key;
}

void doubt_collect(const struct result *r, struct warnings *w)
{
	struct result alone;

	/* Who has no peer is not to be told of it. */
	if (result_is_alone(r)) {
		alone = *r;
		alone.side[SIDE_SERVER] = (struct side){ 0 };
		r = &alone;
	}
	w->count = 0;
	for (size_t i = 0; i < doubt_count(); i++) {
		struct warning *now = &w->list[w->count];

		now->seen[0] = '\0';
		if (!doubts[i].test(r, now->seen))
			continue;
		now->key = doubts[i].key;
		now->advice = doubts[i].advice;
		w->count++;
	}
}
