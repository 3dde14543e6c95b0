/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What makes a result doubtful: a closed list, each with what was seen and what to try. */
#ifndef RDMETER_REPORT_DOUBT_H
#define RDMETER_REPORT_DOUBT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/result.h"

#define DOUBT_SEEN 240
#define DOUBTS_MAX 32 /* rows of the list: each is seen once at most */

struct warning {
	const char *key;       /* of the list: "governor", "short_window" */
	char seen[DOUBT_SEEN]; /* of this result, without a full stop */
	const char *advice;
};

struct warnings {
	struct warning list[DOUBTS_MAX];
	size_t count;
};

/* Every doubt that r gives reason for, in the order of the list. */
void doubt_collect(const struct result *r, struct warnings *w);

/* The list, for whoever documents it. */
size_t doubt_count(void);
const char *doubt_key(size_t i);

#endif
