/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/pace.h"

#include <errno.h>
#include <stdio.h>

#include "base/fail.h"
#include "cli/units.h"
#include "plan/resolve.h"

#define RATE_LEAST 1000000ULL             /* one message in 1,000 s */
#define RATE_MOST 1000000000000000000ULL  /* 10^9 a second */
#define POISSON_LONGEST 20 /* mean gaps: a longer one has a chance of 2 in 10^9 */

/* Thousandths of messages, or of bits, a second -> messages in 10^9 s, to the nearest one. */
static unsigned __int128 messages_of(uint64_t rate, uint64_t size)
{
	unsigned __int128 nano = (unsigned __int128)(rate & ~UNITS_RATE_BITS) * 1000000;

	return rate & UNITS_RATE_BITS ? (nano + 4 * size) / (8 * size) : nano;
}

int pace_resolve(const struct options *opt, struct point *p)
{
	const struct option_value *rate = &opt->rate;
	char asked[UNITS_TEXT_SIZE];
	unsigned __int128 messages = messages_of(rate->num, p->size.value);

	setting_take(&p->burst, &opt->burst);
	setting_take(&p->arrival, &opt->arrival);
	setting_take(&p->seed, &opt->seed);
	setting_take(&p->gap, &opt->gap);
	setting_take(&p->rate, rate);
	if (!rate->given)
		return 0;
	units_rate_asked(asked, sizeof(asked), rate->num);
	if (messages < RATE_LEAST || messages > RATE_MOST)
		return fail(FAIL_USAGE, EINVAL, "--rate %s with messages of %llu bytes: out of "
			    "range; from 0.001 to 1000M messages a second", asked,
			    (unsigned long long)p->size.value);
	p->rate.value = units_rate_round(messages);
	if (rate->num & UNITS_RATE_BITS)
		snprintf(p->rate.why, sizeof(p->rate.why), "%s", asked);
	return 0;
}

uint64_t pace_pause(const struct point *p)
{
	unsigned __int128 ns = (unsigned __int128)RATE_MOST * p->burst.value;

	if (!p->rate.value)
		return p->gap.value;
	ns /= p->rate.value;
	ns *= p->arrival.value == ARRIVAL_POISSON ? POISSON_LONGEST : 1;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}
