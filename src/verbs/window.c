/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/window.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"

/* A device may tell of windows that its driver does not have. */
int window_alloc(const struct device *d, unsigned int type, struct ibv_mw **window)
{
	*window = ibv_alloc_mw(d->pd, type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (*window)
		return 0;
	if (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPROTONOSUPPORT || errno == EINVAL)
		return fail(FAIL_SETUP, errno, "--window %u: memory windows of this type are not "
			    "supported by this device, %s: %s; try --window %u, or another device",
			    type, d->facts.name, strerror(errno), 3 - type);
	return fail(FAIL_SETUP, errno, "allocating a memory window on %s: %s; see the kernel log",
		    d->facts.name, strerror(errno));
}

void window_free(struct ibv_mw *window)
{
	int rc = window ? ibv_dealloc_mw(window) : 0;

	if (rc)
		note("freeing a memory window: %s", strerror(rc == -1 ? errno : rc));
}
