/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/limits.h"

#include <errno.h>
#include <inttypes.h>

#include <infiniband/verbs.h>

#include "base/fail.h"
#include "plan/local.h"
#include "verbs/transport.h"

/* What a device has to do with pages that come on demand. */
static uint32_t paging_of(const struct point *p)
{
	const struct op *op = point_op(p);
	uint32_t needed = op->flow == FLOW_COUNTER ? IBV_ODP_SUPPORT_ATOMIC :
			  op->flow == FLOW_IN ? IBV_ODP_SUPPORT_READ :
			  op_has(op, TRAIT_REMOTE) ? IBV_ODP_SUPPORT_WRITE : IBV_ODP_SUPPORT_SEND;

	if (op_is_local(op) || !op->receives)
		return op_is_local(op) ? 0 : needed;
	return needed | (p->srq.value ? IBV_ODP_SUPPORT_SRQ_RECV : IBV_ODP_SUPPORT_RECV);
}

static int check_paging(const struct point *p, const struct caps *caps, const char *whose)
{
	const uint32_t all = caps->odp_rc | caps->odp_uc | caps->odp_ud;
	const uint32_t has[] = {
		[TRANSPORT_RC] = caps->odp_rc, [TRANSPORT_UC] = caps->odp_uc,
		[TRANSPORT_UD] = caps->odp_ud,
	};

	if (!p->odp.value || (all && !(paging_of(p) & ~has[p->transport.value])))
		return 0;
	if (!all)
		return fail(FAIL_SETUP, EOPNOTSUPP, "--odp: %s has no on-demand paging; drop --odp",
			    whose);
	return fail(FAIL_SETUP, EOPNOTSUPP, "--odp: %s has no on-demand paging for --op %s over "
		    "%s; drop --odp, or choose another operation", whose, point_op(p)->name,
		    transport_get(p->transport.value)->name);
}

/* Limits of a device: what is asked, what it has, and the option that lowers it. */
int limits_check(const struct point *p, const struct caps *caps, const char *whose)
{
	const struct op *op = point_op(p);
	uint64_t receives = op->receives ? p->rx_depth.value : 0;
	const struct {
		uint64_t asked, limit;
		const char *option, *what;
	} limits[] = {
		{ p->size.value, caps->max_msg_sz, "size", "bytes in a message" },
		{ p->depth.value, caps->max_qp_wr, "tx-depth", "work requests in a send queue" },
		{ p->srq.value ? 0 : receives, caps->max_qp_wr, "rx-depth",
		  "work requests in a receive queue" },
		{ p->srq.value ? receives : 0, caps->max_srq_wr, "rx-depth",
		  "work requests in a shared receive queue" },
		{ p->srq.value ? p->sge.value : 0, caps->max_srq_sge, "sge",
		  "entries in a receive of a shared queue" },
		{ p->depth.value, caps->max_cqe, "tx-depth", "entries in a completion queue" },
		{ receives, caps->max_cqe, "rx-depth", "entries in a completion queue" },
		{ p->sge.value, caps->max_sge, "sge", "entries in a work request" },
		{ p->qps.value, caps->max_qp, "qp", "queue pairs" },
	};
	int rc = check_paging(p, caps, whose);

	if (rc || op_is_local(op))
		return rc ? rc : local_check_caps(p, caps);
	if (p->srq.value && !caps->max_srq_wr)
		return fail(FAIL_SETUP, EOPNOTSUPP, "--srq: %s has no shared receive queues; drop "
			    "--srq", whose);
	if (op->flow == FLOW_COUNTER && !caps->atomics)
		return fail(FAIL_SETUP, EOPNOTSUPP, "--op %s: %s has no atomics; choose another "
			    "operation or device", op->name, whose);
	if (op_has(op, TRAIT_READS) && (!caps->max_rd_init || !caps->max_rd_res))
		return fail(FAIL_SETUP, EOPNOTSUPP, "--op %s: %s allows %u reads and atomics to be "
			    "begun and accepts %u; choose another operation or device", op->name,
			    whose, caps->max_rd_init, caps->max_rd_res);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].asked > limits[i].limit)
			return fail(FAIL_SETUP, EOPNOTSUPP,
				    "--%s %" PRIu64 ": %s allows %" PRIu64 " %s; lower --%s",
				    limits[i].option, limits[i].asked, whose, limits[i].limit,
				    limits[i].what, limits[i].option);
	return 0;
}
