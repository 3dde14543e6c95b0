/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The phases of a row, the same on both sides: RUN, OPEN, CLOSED, DRAIN, DONE (design section 4).
 *
 *   each side, once warm          WARM   ->
 *   the client, once both are     OPEN   ->      the windows open
 *   each side, its window over    CLOSED ->      and the load stays on
 *   uc and ud: a side that has sent all FINISHED ->  the other does not wait for what is lost
 *   the client, once both are     DRAIN  ->      senders stop and reap
 *   each side, all reaped         SENT   ->      receivers take what is still due
 *   every second, both ways       BEAT
 */
#ifndef RDMETER_SESSION_PHASES_H
#define RDMETER_SESSION_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "session/row.h"

/* How the phases ended, beside the return value. */
struct phases_end {
	bool interrupted;      /* by a signal here: what there is of the window counts */
	bool peer_interrupted; /* by a signal there */
	struct message_sent peer; /* what the peer says it sent; peer.total is to be freed */
};

/*
 * Runs a connected row to its end, watching everything. Returns 0, or -errno after having told
 * why; in either case the data threads are gone (unless the session is stuck now) and r->measure
 * holds what there is.
 */
int phases_run(struct row *r, struct phases_end *end);

#endif
