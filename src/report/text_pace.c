/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/text_pace.h"

#include "report/text.h"

const char text_pace_is[] =
	"times are whole: the response from when the operation was to begin, the service from its "
	"post";

bool text_pace_hides(const struct point *p, const struct setting *s)
{
	if (s == &p->seed)
		return !p->rate.value || p->arrival.value != ARRIVAL_POISSON;
	return (s == &p->gap && !p->gap.value) ||
	       ((s == &p->rate || s == &p->burst || s == &p->arrival) && !p->rate.value);
}

void text_pace_title(FILE *out, const struct measure *m)
{
	if (m->pace.active)
		fputs("service: from the post to the answer\n", out);
}

void text_pace(FILE *out, const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);
	enum column_tests test = r->point.test.value == TEST_LAT ? COLUMN_LAT : COLUMN_BW;

	if (!m || !m->pace.active)
		return;
	if (m->pace.response.m.n) {
		fprintf(out, "\nresponse: from when a message was to leave, waiting included%s\n",
			result_behind(r, sender) ? "; of a backlog, not of the device" : "");
		text_table(out, r, sender, test, COLUMN_RESPONSE);
	}
	fputs("\nschedule; a message that leaves after its time is late\n", out);
	text_table(out, r, sender, test, COLUMN_PACE);
}

void text_pace_bars(FILE *out, const struct measure *m)
{
	if (m->pace.active)
		fputs("responses:\n", out);
}
