/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/window.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"

bool window_is_unsupported(int error)
{
	return error == ENOSYS || error == EOPNOTSUPP || error == EPROTONOSUPPORT ||
	       error == EINVAL;
}

int window_told_unsupported(const struct device *d, unsigned int type, int error)
{
	return fail(FAIL_SETUP, error, "--window %u: memory windows of this type are not supported "
		    "by this device, %s: %s; try --window %u, or another device", type,
		    d->facts.name, strerror(error), 3 - type);
}

int window_alloc(const struct device *d, unsigned int type, struct ibv_mw **window)
{
	*window = ibv_alloc_mw(d->pd, type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (*window)
		return 0;
	if (window_is_unsupported(errno))
		return window_told_unsupported(d, type, errno);
	return fail(FAIL_SETUP, errno, "allocating a memory window on %s: %s; see the kernel log",
		    d->facts.name, strerror(errno));
}

void window_free(struct ibv_mw *window)
{
	int rc = window ? ibv_dealloc_mw(window) : 0;

	if (rc)
		note("freeing a memory window: %s", strerror(rc == -1 ? errno : rc));
}
