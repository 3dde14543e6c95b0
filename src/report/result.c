/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/result.h"

#include <math.h>

const struct measure *result_truth(const struct result *r)
{
	const struct measure *client = r->side[SIDE_CLIENT].measure;
	const struct measure *server = r->side[SIDE_SERVER].measure;

	if (r->point.test.value != TEST_BW || !point_op(&r->point)->receives || !server)
		return result_timed(r);
	return client && client->receiver ? client : server;
}

const struct measure *result_timed(const struct result *r)
{
	const struct measure *client = r->side[SIDE_CLIENT].measure;
	const struct measure *server = r->side[SIDE_SERVER].measure;

	return client && !client->receiver ? client : server;
}

double measure_rate(const struct measure *m)
{
	if (!m || !m->opened || m->window.t1 <= m->window.t0)
		return NAN;
	return (double)m->window.count * 1e9 / (double)(m->window.t1 - m->window.t0);
}
