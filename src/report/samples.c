/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/samples.h"

#include <inttypes.h>

void samples_start(FILE *out)
{
	fputs("row,time_ns,lat_ns,lat_divisor\n", out);
}

void samples_row(FILE *out, const struct result *r)
{
	const struct samples *s = r->samples;
	const struct measure *m = r->side[SIDE_CLIENT].measure;

	for (uint64_t i = 0; s && m && i < s->count; i++)
		fprintf(out, "%u,%" PRIu64 ",%" PRIu64 ",%u\n", r->row, s->sample[i].at,
			s->sample[i].ns, m->divisor);
}
