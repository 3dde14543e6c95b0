/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows: what opens a part of a memory region to the other side, for a while. */
#ifndef RDMETER_VERBS_WINDOW_H
#define RDMETER_VERBS_WINDOW_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#include "verbs/device.h"

/* A window of type 1 or 2, which is bound to nothing yet. 0, or -errno told as FAIL_SETUP. */
int window_alloc(const struct device *d, unsigned int type, struct ibv_mw **window);

/*
 * A device may tell of windows that its driver does not have: whether that is what an errno of
 * allocating or first binding one means, and the sentence for it. Returns -errno, as FAIL_SETUP.
 */
bool window_is_unsupported(int error);
int window_told_unsupported(const struct device *d, unsigned int type, int error);

/* NULL: there is none. */
void window_free(struct ibv_mw *window);

#endif
