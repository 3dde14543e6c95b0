/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a row's messages hold: in flight, where each is verified, and when all have come. */
#ifndef RDMETER_SESSION_VERIFY_H
#define RDMETER_SESSION_VERIFY_H

#include "session/row.h"

/* Gives a lane what it makes messages of and holds them against, if the point wants that. */
void verify_prepare(struct row *r, struct worker *w);

/*
 * Compares what arrived, was read or was counted here with what both sides sent; see
 * row_check_data().
 */
void verify_end(struct row *r, const struct message_sent *sent);

#endif
