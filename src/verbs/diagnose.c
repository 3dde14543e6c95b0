/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/diagnose.h"

static const struct {
	enum ibv_wc_status status;
	const char *cause;
} statuses[] = {
	{ IBV_WC_LOC_LEN_ERR, "a message is longer than the receive or than the device allows; "
			      "lower --size" },
	{ IBV_WC_LOC_QP_OP_ERR, "the device refused the work request; see the kernel log" },
	{ IBV_WC_LOC_PROT_ERR, "the local buffer is not what was registered; see the kernel log" },
	/* rxe of Linux 6.12 puts this in place of IBV_WC_RETRY_EXC_ERR. */
	{ IBV_WC_WR_FLUSH_ERR, "the queue pair was already in error; see the peer and the kernel "
			       "log. From rxe this may mean that the peer does not answer: check "
			       "the path" },
	{ IBV_WC_MW_BIND_ERR, "the device refused to bind the memory window; see the kernel log" },
	{ IBV_WC_REM_INV_REQ_ERR, "the peer's device refused the operation or its length; see "
				  "its kernel log" },
	{ IBV_WC_REM_ACCESS_ERR, "the peer's buffer was not reached: wrong key or range; see "
				 "both kernel logs, or report it" },
	{ IBV_WC_REM_OP_ERR, "the peer's device could not complete it; see its kernel log" },
	{ IBV_WC_RETRY_EXC_ERR, "no acknowledgement: the peer is gone, or the path is blocked; "
				"check the route, UDP port 4791, both MTUs and --gid-index" },
	{ IBV_WC_RNR_RETRY_EXC_ERR, "the peer had no receive posted; raise --rx-depth" },
	{ IBV_WC_FATAL_ERR, "the device failed; see the kernel log" },
	{ IBV_WC_GENERAL_ERR, "the device failed; see the kernel log" },
};

const char *diagnose_status(enum ibv_wc_status status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return statuses[i].cause;
	return "it is not one that rdmeter expects; see the kernel log";
}

const char *diagnose_event(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return "a completion queue was overrun; this is a bug of rdmeter's";
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return "a queue pair failed; see the peer and the kernel log";
	case IBV_EVENT_SRQ_ERR:
		return "the shared receive queue failed; see the kernel log";
	case IBV_EVENT_DEVICE_FATAL:
		return "the device failed; see the kernel log";
	case IBV_EVENT_PORT_ERR:
		return "the port went down; check its link";
	default:
		return NULL;
	}
}
