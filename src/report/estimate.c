/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static struct estimate_row row_of(const struct point *p, bool refused)
{
	struct estimate_row row = { .test = p->test.value == TEST_LAT ? 0 : 1 };

	if (refused)
		return row;
	if (point_counts(p)) {
		row.kind = ESTIMATE_COUNT;
		row.amount = (p->iters.value + p->warmup.value) * p->qps.value;
	} else {
		row.kind = p->duration.value ? ESTIMATE_TIME : ESTIMATE_ENDLESS;
		row.amount = p->duration.value + p->warmup.value;
	}
	return row;
}

int estimate_add(struct estimate *e, const struct point *p, bool refused)
{
	if (e->count == e->room) {
		size_t room = e->room ? 2 * e->room : 16;
		struct estimate_row *rows = reallocarray(e->rows, room, sizeof(*rows));

		if (!rows) {
			estimate_free(e);
			return -ENOMEM;
		}
		e->rows = rows;
		e->room = room;
	}
	e->rows[e->count++] = row_of(p, refused);
	return 0;
}

void estimate_done(struct estimate *e, uint64_t took)
{
	const struct estimate_row *row;

	if (e->done >= e->count)
		return;
	row = &e->rows[e->done++];
	if (row->kind == ESTIMATE_TIME) {
		e->beside += (double)took - (double)row->amount;
		e->timed++;
	} else if (row->kind == ESTIMATE_COUNT) {
		e->took[row->test] += (double)took;
		e->messages[row->test] += (double)row->amount;
	}
}

/* NAN: it cannot be known. A test of which no row is over is taken for the other. */
static double cost(const struct estimate *e, const struct estimate_row *row)
{
	unsigned int test = row->test;

	if (row->kind == ESTIMATE_NOTHING)
		return 0;
	if (row->kind == ESTIMATE_ENDLESS)
		return NAN;
	if (row->kind == ESTIMATE_TIME)
		return fmax((double)row->amount + (e->timed ? e->beside / (double)e->timed : 0), 0);
	if (!(e->messages[test] > 0))
		test = 1 - test;
	if (!(e->messages[test] > 0))
		return NAN;
	return (double)row->amount * e->took[test] / e->messages[test];
}

bool estimate_left(const struct estimate *e, uint64_t elapsed, uint64_t into, uint64_t *left)
{
	double end = (double)elapsed;

	for (size_t i = e->done; i < e->count; i++) {
		double row = cost(e, &e->rows[i]);

		if (isnan(row))
			return false;
		if (i == e->done)
			row = fmax(row - (double)into, 0);
		else if (e->most && end >= (double)e->most)
			break;
		end += row;
	}
	*left = (uint64_t)llround(end - (double)elapsed);
	return true;
}

void estimate_free(struct estimate *e)
{
	free(e->rows);
	*e = (struct estimate){ 0 };
}
