/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/result.h"

#include <math.h>

#include "verbs/transport.h"

#define OVERLAP 0.9
#define KEPT 0.99 /* of a schedule; below that there is a backlog */

bool result_sends(const struct result *r, int side)
{
	uint64_t direction = r->point.direction.value;

	return direction == DIRECTION_BOTH ||
	       (side == SIDE_CLIENT) == (direction == DIRECTION_OUT);
}

const struct measure *result_truth(const struct result *r, int sender)
{
	const struct measure *other = r->side[!sender].measure;
	const struct measure *own = result_timed(r, sender);

	if (r->point.test.value != TEST_BW || !point_op(&r->point)->receives)
		return own;
	/* Of a side that also receives, the one count is that of what came to it. */
	return other || (own && own->receiver) ? other : own;
}

bool result_delivery(const struct result *r, int sender, uint64_t *sent, uint64_t *delivered)
{
	bool lat = r->point.test.value == TEST_LAT;
	const struct measure *own = r->side[sender].measure;
	const struct measure *other = lat ? own : r->side[!sender].measure;

	if (transport_get(r->point.transport.value)->reliable || !own)
		return false;
	*sent = own->posted;
	*delivered = RESULT_UNKNOWN;
	if (other && (lat || point_op(&r->point)->receives))
		*delivered = other->received;
	return true;
}

const struct measure *result_timed(const struct result *r, int sender)
{
	return r->side[sender].measure;
}

double measure_rate(const struct measure *m)
{
	if (!m || !m->opened || m->window.t1 <= m->window.t0)
		return NAN;
	return (double)m->window.count * 1e9 / (double)(m->window.t1 - m->window.t0);
}

/* What is lost on its way has left at its time: where messages may be, the sender is asked. */
double result_achieved(const struct result *r, int sender)
{
	const struct measure *own = result_timed(r, sender), *truth = result_truth(r, sender);

	if (!own || !own->pace.active || !r->point.rate.value)
		return NAN;
	if (truth == own || transport_get(r->point.transport.value)->reliable)
		return measure_rate(truth);
	/* Its one window is that of what came to it, if it also receives. */
	return own->receiver ? own->pace.kept * (double)r->point.rate.value / 1e9 :
			       measure_rate(own);
}

double result_kept(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	if (m && m->pace.active && r->point.arrival.value == ARRIVAL_POISSON)
		return m->pace.kept;
	return result_achieved(r, sender) * 1e9 / (double)r->point.rate.value;
}

bool result_behind(const struct result *r, int sender)
{
	return result_kept(r, sender) < KEPT;
}

/* A window's edges on the client's clock. */
static void place(const struct measure *m, int64_t ahead, double *from, double *to)
{
	*from = (double)((int64_t)(m->started_ns + m->window.t0) - ahead);
	*to = *from + (double)(m->window.t1 - m->window.t0);
}

/* Messages counted between two times on the client's clock. */
static double counted(const struct measure *m, int64_t ahead, double from, double to)
{
	double zero = (double)((int64_t)m->started_ns - ahead);

	return series_count_at(&m->series, (uint64_t)fmax(to - zero, 0)) -
	       series_count_at(&m->series, (uint64_t)fmax(from - zero, 0));
}

double result_sum_rate(const struct result *r)
{
	const struct measure *m[SIDES] = {
		result_truth(r, SIDE_CLIENT), result_truth(r, SIDE_SERVER),
	};
	double from[SIDES], to[SIDES], begin, end, shorter, count = 0;
	int64_t ahead[SIDES];

	for (int i = 0; i < SIDES; i++) {
		ahead[i] = m[i] == r->side[SIDE_SERVER].measure ? r->clock_offset_ns : 0;
		if (!isfinite(measure_rate(m[i])))
			return NAN;
		place(m[i], ahead[i], &from[i], &to[i]);
	}
	begin = fmax(from[0], from[1]);
	end = fmin(to[0], to[1]);
	shorter = fmin(to[0] - from[0], to[1] - from[1]);
	if (end - begin < OVERLAP * shorter)
		return NAN;
	for (int i = 0; i < SIDES; i++)
		count += counted(m[i], ahead[i], begin, end);
	return count * 1e9 / (end - begin);
}
