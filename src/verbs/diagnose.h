/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failed completions and asynchronous events in words. */
#ifndef RDMETER_VERBS_DIAGNOSE_H
#define RDMETER_VERBS_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* What a failed completion status usually comes from, and what to try. */
const char *diagnose_status(enum ibv_wc_status status);

/* An asynchronous event that ends a measurement; NULL for those that do not. */
const char *diagnose_event(enum ibv_event_type type);

#endif
