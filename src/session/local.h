/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of operations that need no peer: a session with a device, and without a connection. */
#ifndef RDMETER_SESSION_LOCAL_H
#define RDMETER_SESSION_LOCAL_H

#include "session/phases.h"
#include "session/row.h"

/* Opens the device. s is to be given to session_close() in either case. 0, or -errno told. */
int local_open(struct session *s, const struct options *opt, struct watch *watch);

/*
 * Makes all that the point needs, up to the lane, and tries it once where that shows what the
 * device refuses. r is to be given to row_free() in either case. 0, or -errno told.
 */
int local_prepare(struct row *r, struct session *s, const struct point *p);

/* Runs the row to its end, watching everything; as phases_run(). */
int local_run(struct row *r, struct phases_end *end);

#endif
