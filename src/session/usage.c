/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/usage.h"

#include <stdio.h>

#define CPU_LEAST_NS 50000000 /* /proc/stat counts in hundredths of a second */

static void cpu_use(struct cpu_use *use, const struct cpu_sample *from)
{
	struct cpu_sample now;
	double wall;

	cpu_sample(&now);
	wall = (double)(now.wall_ns - from->wall_ns);
	use->valid = now.wall_ns - from->wall_ns >= CPU_LEAST_NS && now.host_ns;
	if (!use->valid)
		return;
	use->process_cores = (double)(now.process_ns - from->process_ns) / wall;
	use->host_cores = (double)(now.host_ns - from->host_ns) / wall;
	use->host_softirq_cores = (double)(now.softirq_ns - from->softirq_ns) / wall;
}

static void counter_use(struct counter_moves *moves, const struct counters *before,
			const struct counters *after)
{
	uint64_t value;

	for (size_t i = 0; counters_next_moved(before, after, &i, &value); i++) {
		struct counter_move *m = &moves->move[moves->count];

		if (moves->count == COUNTER_MOVES) {
			moves->more++;
			continue;
		}
		snprintf(m->name, sizeof(m->name), "%s", after->list[i].name);
		m->before = value;
		m->after = after->list[i].value;
		moves->count++;
	}
	moves->valid = true;
}

void usage_begin(struct usage *u, struct counters_port *port)
{
	if (counters_take(port, &u->counters))
		counters_free(&u->counters);
	cpu_sample(&u->cpu);
}

void usage_end(const struct usage *u, struct counters_port *port, struct measure *m)
{
	struct counters now;

	cpu_use(&m->cpu, &u->cpu);
	if (!u->counters.count)
		return;
	if (!counters_take(port, &now))
		counter_use(&m->counters, &u->counters, &now);
	counters_free(&now);
}

void usage_free(struct usage *u)
{
	counters_free(&u->counters);
}
