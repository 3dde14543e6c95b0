/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/counters.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/sysfs.h"

#define FOLDER "infiniband/%s/ports/%u/%s"
#define LIFESPAN "lifespan" /* it lies among the counters, and is none */

static const char *const folders[] = { "counters", "hw_counters" };

/*
 * By the names that the drivers of the kernel give them. What is not here is traffic, or says
 * nothing of a path: so rxe's ack_deferred, which counts every response on some kernels.
 */
static const struct {
	const char *name;
	enum trouble trouble;
} troubles[] = {
	/* counters/ of every InfiniBand port, and of RoCE ports that fill some of them */
	{ "excessive_buffer_overrun_errors", TROUBLE_DISCARD },
	{ "link_downed", TROUBLE_LINK },
	{ "link_error_recovery", TROUBLE_LINK },
	{ "local_link_integrity_errors", TROUBLE_LINK },
	{ "port_rcv_errors", TROUBLE_LINK },
	{ "port_rcv_remote_physical_errors", TROUBLE_LINK },
	{ "port_rcv_switch_relay_errors", TROUBLE_DISCARD },
	{ "port_xmit_discards", TROUBLE_DISCARD },
	{ "port_xmit_wait", TROUBLE_PAUSE },
	{ "symbol_error", TROUBLE_LINK },
	/* rxe */
	{ "completer_retry_err", TROUBLE_RETRANSMIT },
	{ "duplicate_request", TROUBLE_RETRANSMIT }, /* mlx5 too */
	{ "out_of_seq_request", TROUBLE_SEQUENCE },
	{ "rcvd_rnr_err", TROUBLE_RNR },
	{ "rcvd_seq_err", TROUBLE_SEQUENCE },
	{ "retry_exceeded_err", TROUBLE_RETRANSMIT },
	{ "retry_rnr_exceeded_err", TROUBLE_RNR },
	{ "send_err", TROUBLE_DISCARD },
	{ "send_rnr_err", TROUBLE_RNR },
	/* mlx5; bnxt_re has taken over some of the names */
	{ "implied_nak_seq_err", TROUBLE_SEQUENCE },
	{ "local_ack_timeout_err", TROUBLE_RETRANSMIT },
	{ "np_cnp_pkts", TROUBLE_CONGESTION },
	{ "np_cnp_sent", TROUBLE_CONGESTION },
	{ "np_ecn_marked_roce_packets", TROUBLE_CONGESTION },
	{ "out_of_buffer", TROUBLE_RNR },
	{ "out_of_sequence", TROUBLE_SEQUENCE },
	{ "packet_seq_err", TROUBLE_SEQUENCE },
	{ "req_transport_retries_exceeded", TROUBLE_RETRANSMIT },
	{ "rnr_nak_retry_err", TROUBLE_RNR },
	{ "roce_adp_retrans", TROUBLE_RETRANSMIT },
	{ "roce_adp_retrans_to", TROUBLE_RETRANSMIT },
	{ "roce_slow_restart", TROUBLE_RETRANSMIT },
	{ "roce_slow_restart_cnps", TROUBLE_CONGESTION },
	{ "roce_slow_restart_trans", TROUBLE_RETRANSMIT },
	{ "rp_cnp_handled", TROUBLE_CONGESTION },
	{ "rp_cnp_ignored", TROUBLE_CONGESTION },
	{ "rx_icrc_encapsulated", TROUBLE_LINK },
	/* bnxt_re */
	{ "dup_req", TROUBLE_RETRANSMIT },
	{ "max_retry_exceeded", TROUBLE_RETRANSMIT },
	{ "missing_resp", TROUBLE_SEQUENCE },
	{ "oos_drop_count", TROUBLE_SEQUENCE },
	{ "rnr_naks_rcvd", TROUBLE_RNR },
	{ "rx_cnp_pkts", TROUBLE_CONGESTION },
	{ "rx_ecn_marked_pkts", TROUBLE_CONGESTION },
	{ "rx_out_of_buffer", TROUBLE_RNR },
	{ "rx_roce_discards", TROUBLE_DISCARD },
	{ "rx_roce_errors", TROUBLE_LINK },
	{ "seq_err_naks_rcvd", TROUBLE_SEQUENCE },
	{ "to_retransmits", TROUBLE_RETRANSMIT },
	{ "tx_cnp_pkts", TROUBLE_CONGESTION },
	{ "tx_roce_discards", TROUBLE_DISCARD },
	{ "tx_roce_errors", TROUBLE_LINK },
	/* irdma */
	{ "RNR rcvd", TROUBLE_RNR },
	{ "RNR sent", TROUBLE_RNR },
	{ "RetransSegs", TROUBLE_RETRANSMIT },
	{ "RxECNMrkd", TROUBLE_CONGESTION },
	{ "cnpHandled", TROUBLE_CONGESTION },
	{ "cnpIgnored", TROUBLE_CONGESTION },
	{ "cnpSent", TROUBLE_CONGESTION },
	{ "ip4InDiscards", TROUBLE_DISCARD },
	{ "ip6InDiscards", TROUBLE_DISCARD },
	{ "tcpRetransSegs", TROUBLE_RETRANSMIT },
	/* hns */
	{ "rx_cnp_pkt", TROUBLE_CONGESTION },
	{ "rx_err_pkt", TROUBLE_LINK },
	{ "tx_cnp_pkt", TROUBLE_CONGESTION },
	{ "tx_err_pkt", TROUBLE_LINK },
};

enum trouble counter_trouble(const char *name)
{
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if (!strcmp(troubles[i].name, name))
			return troubles[i].trouble;
	return TROUBLE_NONE;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void counters_open(struct counters_port *p, const char *device, uint32_t port)
{
	*p = (struct counters_port){ .port = port };
	snprintf(p->device, sizeof(p->device), "%s", device);
	p->lifespan_ns = 1000000ULL * sysfs_number(FOLDER "/" LIFESPAN, p->device, port,
						   "hw_counters");
}

static void wait_for_news(const struct counters_port *p)
{
	uint64_t now = now_ns(), due = p->taken_ns + p->lifespan_ns;
	struct timespec pause;

	if (!p->taken_ns || now >= due)
		return;
	pause = (struct timespec){ .tv_nsec = (long)(due - now) }; /* under a second, see below */
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

/* A counter that cannot be read, as rxe's of bytes, or is no number, is left out. */
static bool read_one(struct counter *c, const struct counters_port *p, const char *folder,
		     const char *name)
{
	char text[32], *end;

	if (strlen(name) >= sizeof(c->name) || !strcmp(name, LIFESPAN) ||
	    !sysfs_text(text, sizeof(text), FOLDER "/%s", p->device, p->port, folder, name))
		return false;
	strcpy(c->name, name);
	errno = 0;
	c->value = strtoull(text, &end, 10);
	return !errno && end != text && !*end && text[0] != '-';
}

/* A name that both folders have, as link_downed, is the same count twice. */
static bool has(const struct counters *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].name, name))
			return true;
	return false;
}

static int read_folder(const struct counters_port *p, const char *folder, struct counters *c)
{
	char path[PATH_MAX];
	struct dirent *e;
	int rc = 0;
	DIR *dir;

	if (!sysfs_path(path, sizeof(path), FOLDER, p->device, p->port, folder))
		return -ENAMETOOLONG;
	dir = opendir(path);
	while (dir && !rc && (e = readdir(dir))) {
		struct counter *grown;

		if (e->d_name[0] == '.' || has(c, e->d_name))
			continue;
		grown = reallocarray(c->list, c->count + 1, sizeof(*grown));
		if (!grown)
			rc = -ENOMEM;
		else
			c->list = grown;
		if (!rc && read_one(&grown[c->count], p, folder, e->d_name))
			c->count++;
	}
	if (dir)
		closedir(dir);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int counters_take(struct counters_port *p, struct counters *c)
{
	int rc = 0;

	*c = (struct counters){ 0 };
	if (p->lifespan_ns > COUNTERS_PATIENCE_NS)
		return -ESTALE;
	wait_for_news(p);
	for (size_t i = 0; !rc && i < sizeof(folders) / sizeof(folders[0]); i++)
		rc = read_folder(p, folders[i], c);
	p->taken_ns = now_ns();
	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), by_name);
	return rc ? rc : c->count ? 0 : -ENOENT;
}

void counters_free(struct counters *c)
{
	free(c->list);
	*c = (struct counters){ 0 };
}

bool counters_next_moved(const struct counters *before, const struct counters *after, size_t *i,
			 uint64_t *value)
{
	for (; *i < after->count; (*i)++) {
		const struct counter *now = &after->list[*i], *then = NULL;

		if (before->count)
			then = bsearch(now, before->list, before->count, sizeof(*then), by_name);
		if (then && then->value != now->value) {
			*value = then->value;
			return true;
		}
	}
	return false;
}
