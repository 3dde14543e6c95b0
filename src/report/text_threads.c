/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/text_threads.h"

#include <inttypes.h>
#include <string.h>

#include "cli/units.h"
#include "stats/merge.h"

#define CPUS_TEXT 24

/* How many CPUs from number i on follow each other upwards or downwards. */
static uint32_t run_of(const struct measure *m, uint32_t i, int step)
{
	uint32_t n = 1;

	while (i + n < m->threads && m->thread[i + n].cpu == m->thread[i].cpu + step * (int)n)
		n++;
	return n;
}

/* "0-3,0", in the order of the threads; cut with dots where that is long. */
static void list_cpus(const struct measure *m, char *out, size_t size)
{
	size_t used = 0;

	for (uint32_t i = 0; i < m->threads;) {
		uint32_t up = run_of(m, i, 1), down = run_of(m, i, -1), n = up > down ? up : down;
		char part[32];

		if (n > 1)
			snprintf(part, sizeof(part), "%d-%d", m->thread[i].cpu,
				 m->thread[i + n - 1].cpu);
		else
			snprintf(part, sizeof(part), "%d", m->thread[i].cpu);
		if (used + strlen(part) + 6 > size) {
			snprintf(out + used, size - used, ",...");
			return;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "," : "", part);
		i += n;
	}
}

static bool are_pinned(const struct measure *m)
{
	for (uint32_t i = 0; i < m->threads; i++)
		if (m->thread[i].cpu < 0)
			return false;
	return true;
}

static void print_threads(FILE *out, const char *name, const struct measure *m)
{
	uint64_t least = UINT64_MAX, most = 0;
	char cpus[CPUS_TEXT] = "any CPU", counts[2][UNITS_TEXT_SIZE];

	if (are_pinned(m))
		list_cpus(m, cpus, sizeof(cpus));
	for (uint32_t i = 0; i < m->threads; i++) {
		least = m->thread[i].count < least ? m->thread[i].count : least;
		most = m->thread[i].count > most ? m->thread[i].count : most;
	}
	fprintf(out, "threads %s: %u on %s%s, %s to %s messages each, together %.2f %% of the "
		"time\n", name, m->threads, are_pinned(m) ? "CPUs " : "", cpus,
		units_count(counts[0], UNITS_TEXT_SIZE, least),
		units_count(counts[1], UNITS_TEXT_SIZE, most), 100 * measure_overlap(m));
}

void text_threads(FILE *out, const struct result *r)
{
	static const char *const names[SIDES] = { "client", "server" };

	for (int i = 0; i < SIDES; i++)
		if (r->side[i].measure && r->side[i].measure->opened &&
		    r->side[i].measure->threads > 1)
			print_threads(out, names[i], r->side[i].measure);
}
