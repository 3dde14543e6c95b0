/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a document says of a sweep beside its rows: "sweep" of rdmeter-results(5), and back. */
#ifndef RDMETER_REPORT_SWEEP_DOCUMENT_H
#define RDMETER_REPORT_SWEEP_DOCUMENT_H

#include <jansson.h>

#include "report/result.h"

/* A sweep that was read; points is NULL when there was none. */
struct stored_sweep {
	struct result_sweep sweep;
	struct point *points;
	const struct option_row **varied;
	uint64_t seed;
};

json_t *sweep_encode(const struct result_sweep *s);

/*
 * Its points are those of the rows. 0, also for null; -ENOMEM; or -EBADMSG with *key what is
 * missing or wrong. To be given to sweep_free() in any case.
 */
int sweep_decode(const json_t *json, const json_t *rows, struct stored_sweep *s,
		 const char **key);
void sweep_free(struct stored_sweep *s);

#endif
