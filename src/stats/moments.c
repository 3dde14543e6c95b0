/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats/moments.h"

#include <math.h>

void moments_init(struct moments *m)
{
	*m = (struct moments){ .min = UINT64_MAX };
}

void moments_merge(struct moments *into, const struct moments *from)
{
	into->n += from->n;
	if (__builtin_add_overflow(into->sum, from->sum, &into->sum))
		into->sum = UINT64_MAX;
	into->sumsq += from->sumsq;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
}

/*
 * n min <= sum <= n max; with distances d = x - min, none of them negative nor beyond max - min:
 * sum^2 <= n sumsq, and the sum of x d, sumsq - min sum, is at most max times that of d. All of it
 * in integers, in the terms of moments_stdev().
 */
bool moments_possible(const struct moments *m)
{
	const unsigned __int128 n = m->n, sum = m->sum;
	unsigned __int128 least;

	if (!m->n)
		return !sum && !m->sumsq && m->min == UINT64_MAX && !m->max;
	if (m->min > m->max)
		return false;
	if (m->sum == UINT64_MAX)
		return n * m->max >= sum;
	if (sum < n * m->min || sum > n * m->max)
		return false;
	least = m->sum / m->n * sum + (m->sum % m->n * sum + n - 1) / n;
	return m->sumsq >= least && m->sumsq - m->min * sum <= m->max * (sum - n * m->min);
}

double moments_mean(const struct moments *m)
{
	if (m->n == 0 || m->sum == UINT64_MAX)
		return NAN;

	/* Whole and fraction apart: a sum beyond 2^53 does not fit a double. */
	return (double)(m->sum / m->n) + (double)(m->sum % m->n) / (double)m->n;
}

/*
 * M2 = sumsq - sum^2 / n, the sum of squared distances from the mean. The textbook form subtracts
 * two rounded numbers that are nearly equal; here the subtraction is done in integers:
 *
 *	sum = q n + r            sum^2 / n = q sum + r sum / n
 *	r sum = a n + b          M2 = (sumsq - q sum - a) - b / n
 *
 * No term overflows: q sum <= sum^2 < 2^128 and r sum < n 2^64 <= 2^128. Only the last step is
 * in floating point, and it cannot cancel: unless all samples are equal (and then M2, r, a and b
 * are 0), M2 is at least 1 - 1/n >= 1/2, so that rounding errors of 2^-53 stay that small.
 */
double moments_stdev(const struct moments *m)
{
	unsigned __int128 rest;
	uint64_t q, r;
	double m2;

	if (m->n < 2 || m->sum == UINT64_MAX)
		return NAN;

	q = m->sum / m->n;
	r = m->sum % m->n;
	rest = (unsigned __int128)r * m->sum;
	m2 = (double)(m->sumsq - (unsigned __int128)q * m->sum - rest / m->n);
	m2 -= (double)(uint64_t)(rest % m->n) / (double)m->n;

	return sqrt(m2 / (double)(m->n - 1));
}
