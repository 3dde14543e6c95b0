/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One row on one side: the resources of a point, its lane, and what came of it. */
#ifndef RDMETER_SESSION_ROW_H
#define RDMETER_SESSION_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "control/messages.h"
#include "engine/lane.h"
#include "plan/point.h"
#include "session/session.h"
#include "session/threads.h"
#include "stats/measure.h"
#include "verbs/connect.h"
#include "verbs/memory.h"
#include "verbs/queues.h"

struct live;

struct row {
	struct session *session;
	struct point point;
	bool sends; /* this side posts the operation, or begins the ping-pong */
	bool takes; /* the other side does, and this one is its target; both in either direction */
	struct queues queues;
	struct queues_shape shape; /* what they are made for */
	struct connect_path path;
	bool reused; /* they are the last row's, and connected */
	bool clean;  /* the row ended well: what it leaves is fit for the next */
	struct buffer local;  /* what this side's requests send from or bring home to */
	struct buffer target; /* what the other side's requests or messages reach */
	struct endpoints ours, theirs;
	struct connection connection;

	struct lane_cycle cycle; /* of an operation that needs no peer */
	struct threads threads;
	const struct lane *lane; /* of the first: what all have alike; NULL: nothing to do here */
	int event_fd;

	char *memory_path;       /* of --memory file:PATH; NULL: this side was given none */
	struct measure *measure; /* this side's */
	struct samples *samples; /* NULL: none are kept */
	struct live *live; /* whom to tell while it runs; NULL on a server */
};

/* How a row's queue pairs are come by. */
struct row_wish {
	bool inline_exact; /* the inline size was given, it is not a default */
	bool keep;         /* those of the last row will do where they fit: r->reused tells */
};

/*
 * Makes what the point needs on this side, up to queue pairs in INIT. r is to be given to
 * row_free() whether this succeeds or not. Which part this side has follows from the point's
 * direction and from who it is.
 */
int row_prepare(struct row *r, struct session *s, const struct point *p, struct row_wish wish);

/* The parts of that which a row without a peer needs too. */
int row_open(struct row *r, struct session *s, const struct point *p);

/* Slots, one region of them for each queue pair; who may do what with them is not said. */
struct buffer_shape row_shape(const struct row *r);

/* What decides whether queue pairs made for one row are those that another would make. */
void row_describe_queues(struct row *r, bool inline_exact);

/* From nothing to INIT. */
int row_make_queues(struct row *r);

/* The peer could not go on with the last row's queue pairs: makes new ones. 0 or -errno told. */
int row_renew(struct row *r);

/*
 * Builds the lanes, fills buffers and receives, and begins to connect to the peer's endpoints
 * (r->theirs). What is left of that goes on with dialog_expect() and dialog_connected().
 */
int row_connect(struct row *r);

/* Starts the data threads, if this side has something to do. 0 or -errno told. */
int row_start(struct row *r);

/* Sets the stop word, and wakes the data thread for it. */
void row_stop(struct row *r, unsigned int stop);

/*
 * Makes the data threads leave at once and waits for them, at most a few seconds. Returns 0, or
 * -ETIMEDOUT when one is stuck inside the provider, after which the process has to end. In either
 * case the measure has what there is.
 */
int row_abort(struct row *r);

/* Waits for data threads that have said LANE_LEFT, and takes what they measured. */
void row_join(struct row *r);

/*
 * Compares what arrived, was read or was counted here with what both sides sent; sent is the
 * peer's, by queue pair. Fills the measure's data errors. 0, or -errno told.
 */
int row_check_data(struct row *r, const struct message_sent *sent);

/* Says what failed in a lane, if something did: 0, or -errno told as FAIL_RUN. */
int row_told_lane(const struct row *r);

/* Nothing posted may be unaccounted for at the end, whatever was asked. 0, or -errno told. */
int row_check_counts(const struct row *r);

/* What r->clean allows is kept for the next row. Frees r too, unless its data thread uses it. */
void row_free(struct row *r);

#endif
