/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the reporter is told while a row runs: that time passes, and the parts of --interval. */
#ifndef RDMETER_SESSION_LIVE_H
#define RDMETER_SESSION_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/messages.h"
#include "engine/lane.h"
#include "report/result.h"
#include "session/row.h"

/* What the port had counted. */
struct live_trouble {
	bool known;
	uint64_t retransmits, rnr;
};

struct live {
	const struct reporter *reporter;
	const struct result *result;
	uint64_t every; /* ns between two parts; 0: none are asked for */

	uint64_t tick_at, look_at;    /* when the one and the other are due; UINT64_MAX: never */
	bool opened;                  /* the window has */
	uint64_t due;                 /* ns since then: the next part's end */
	struct lane_mark told, seen;  /* the last part's end; the last mark */
	uint64_t seen_at;             /* when that was new */
	struct live_trouble trouble;  /* at the last part's end */
	bool hears;                   /* the server's window has opened, as far as was heard... */
	uint64_t heard_at, heard_count; /* ...when, and what it had counted by then */
	struct lane_mark heard;       /* what it has since */
};

/* The next row: nothing of it is told yet. All of these do nothing where l is NULL. */
void live_begin(struct live *l);

/* When live_tick() is to be called at the latest. */
uint64_t live_deadline(const struct live *l);
void live_tick(struct live *l, const struct row *r);

/* The server's beat, where nothing is counted here. */
void live_heard(struct live *l, const struct message_beat *beat);

/* The row is over: its last part. */
void live_end(struct live *l, const struct row *r);

#endif
