/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/devices.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cli/units.h"
#include "verbs/caps.h"

#define VALUE_MAX 127
#define LINE_MAX_VALUE 80 /* beside a label, for 100 columns at most */
#define PATH_MTU_MAX 4096
#define NETDEV_MTU_ENOUGH 4200 /* the largest path MTU and every header that goes with it */

/* What a device or another host says goes to a terminal and between tabs: nothing may act there. */
static const char *clean(char out[VALUE_MAX + 1], const char *text, char blank)
{
	size_t n = 0;

	for (; text[n] && n < VALUE_MAX; n++)
		out[n] = text[n] == ' ' ? blank : text[n] > ' ' && text[n] < 0x7f ? text[n] : '?';
	out[n] = '\0';
	return n ? out : "-";
}

static const char *state_text(uint32_t state)
{
	return state ? port_state_name(state) : "-";
}

static const char *link_layer_text(uint32_t link_layer)
{
	return link_layer == LINK_LAYER_ETHERNET   ? "Ethernet" :
	       link_layer == LINK_LAYER_INFINIBAND ? "InfiniBand" : "-";
}

static const char *number_text(char out[24], uint64_t value)
{
	snprintf(out, 24, "%" PRIu64, value);
	return value ? out : "-";
}

static const char *numa_text(char out[24], int32_t node)
{
	snprintf(out, 24, "%" PRId32, node);
	return node >= 0 ? out : "-";
}

static void print_text(FILE *out, const char *label, const char *text)
{
	char value[VALUE_MAX + 1];

	fprintf(out, "  %-14s %.*s\n", label, LINE_MAX_VALUE, clean(value, text, ' '));
}

static void print_limits(FILE *out, const struct inventory_device *d)
{
	char size[UNITS_TEXT_SIZE];

	fprintf(out, "  %-14s %" PRIu32 ", each with queues of %" PRIu32 " work requests of %"
		PRIu32 " SGEs\n", "queue pairs", d->max_qp, d->max_qp_wr, d->max_sge);
	fprintf(out, "  %-14s %" PRIu32 " completions a queue\n", "CQ", d->max_cqe);
	fprintf(out, "  %-14s %s a region\n", "memory",
		d->max_mr_size == UINT64_MAX ? "no limit to" :
					       units_size(size, sizeof(size), d->max_mr_size));
	fprintf(out, "  %-14s %" PRIu32 " outstanding as initiator, %" PRIu32 " as responder\n",
		"reads, atomics", d->max_rd_init, d->max_rd_res);
	fprintf(out, "  %-14s %s\n", "atomics", d->atomics ? "yes" : "no");
}

/* Whether a larger MTU of the netdev would give a larger path MTU. */
static bool is_kept_small(const struct inventory_port *p)
{
	return p->link_layer == LINK_LAYER_ETHERNET && p->netdev[0] && p->netdev_mtu &&
	       p->netdev_mtu < NETDEV_MTU_ENOUGH && p->active_mtu &&
	       p->active_mtu < PATH_MTU_MAX && p->active_mtu < p->max_mtu;
}

static void print_port(FILE *out, const struct inventory_port *p)
{
	char label[24], netdev[VALUE_MAX + 1], mtu[24], netdev_mtu[24], size[UNITS_TEXT_SIZE];

	snprintf(label, sizeof(label), "port %" PRIu32, p->number);
	clean(netdev, p->netdev, '_');
	fprintf(out, "  %-14s %s, %s, path MTU %s", label, state_text(p->state),
		link_layer_text(p->link_layer), number_text(mtu, p->active_mtu));
	if (p->netdev[0])
		fprintf(out, ", netdev %s with MTU %s", netdev,
			number_text(netdev_mtu, p->netdev_mtu));
	fputc('\n', out);
	if (is_kept_small(p))
		fprintf(out, "  %-14s %s's MTU of %s keeps it at %s: ip link set %s mtu %d\n", "",
			netdev, netdev_mtu, mtu, netdev, NETDEV_MTU_ENOUGH);
	if (p->max_msg_sz)
		fprintf(out, "  %-14s %s at most\n", "  message",
			units_size(size, sizeof(size), p->max_msg_sz));
	for (size_t i = 0; i < p->gid_count; i++) {
		const struct inventory_gid *g = &p->gids[i];
		char address[VALUE_MAX + 1];

		snprintf(label, sizeof(label), "  GID %" PRIu32, g->index);
		fprintf(out, "  %-14s %-39s %-7s  %s\n", label, clean(address, g->address, '_'),
			gid_kind_name(g->kind), clean(netdev, g->netdev, '_'));
	}
	if (!p->gid_count)
		fprintf(out, "  %-14s none\n", "  GID");
}

void devices_print(FILE *out, const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_device *d = &inventory->devices[i];
		char text[VALUE_MAX + 1];

		fprintf(out, "%s%s\n", i ? "\n" : "", clean(text, d->name, '_'));
		if (d->problem[0])
			print_text(out, "problem", d->problem);
		print_text(out, "driver", d->driver);
		print_text(out, "firmware", d->firmware);
		print_text(out, "node GUID", d->node_guid);
		print_text(out, "NUMA node", numa_text(text, d->numa_node));
		if (d->max_qp)
			print_limits(out, d);
		for (size_t j = 0; j < d->port_count; j++)
			print_port(out, &d->ports[j]);
	}
}

static void put(FILE *out, const char *key, const char *text)
{
	char value[VALUE_MAX + 1];

	fprintf(out, "\t%s=%s", key, clean(value, text, '_'));
}

static void put_number(FILE *out, const char *key, uint64_t value)
{
	char text[24];

	put(out, key, number_text(text, value));
}

/* A limit may be 0, unless no limit is known at all. */
static void put_limit(FILE *out, const struct inventory_device *d, const char *key, uint64_t value)
{
	char text[24];

	number_text(text, value);
	put(out, key, d->max_qp ? text : "-");
}

/* Without a port, or a GID, there is the empty one in its place. */
static void print_line(FILE *out, const struct inventory_device *d, const struct inventory_port *p,
		       const struct inventory_gid *g)
{
	char text[VALUE_MAX + 1];

	fprintf(out, "device=%s", clean(text, d->name, '_'));
	put(out, "driver", d->driver);
	put(out, "firmware", d->firmware);
	put(out, "node_guid", d->node_guid);
	put(out, "numa_node", numa_text(text, d->numa_node));
	put_number(out, "port", p->number);
	put(out, "state", state_text(p->state));
	put(out, "link_layer", link_layer_text(p->link_layer));
	put_number(out, "active_mtu_bytes", p->active_mtu);
	put_number(out, "max_mtu_bytes", p->max_mtu);
	put(out, "netdev", p->netdev);
	put_number(out, "netdev_mtu_bytes", p->netdev_mtu);
	snprintf(text, sizeof(text), "%" PRIu32, g->index);
	put(out, "gid_index", g->address[0] ? text : "-");
	put(out, "gid", g->address);
	put(out, "gid_type", g->address[0] ? gid_kind_name(g->kind) : "-");
	put(out, "gid_netdev", g->netdev);
	put_number(out, "max_msg_bytes", p->max_msg_sz);
	put_limit(out, d, "max_mr_bytes", d->max_mr_size);
	put_limit(out, d, "max_qp", d->max_qp);
	put_limit(out, d, "max_qp_wr", d->max_qp_wr);
	put_limit(out, d, "max_sge", d->max_sge);
	put_limit(out, d, "max_cqe", d->max_cqe);
	put_limit(out, d, "max_rd_atomic_initiator", d->max_rd_init);
	put_limit(out, d, "max_rd_atomic_responder", d->max_rd_res);
	put(out, "atomics", !d->max_qp ? "-" : d->atomics ? "yes" : "no");
	put(out, "problem", d->problem);
	fputc('\n', out);
}

void devices_print_script(FILE *out, const struct inventory *inventory)
{
	static const struct inventory_port no_port;
	static const struct inventory_gid no_gid;

	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_device *d = &inventory->devices[i];

		if (!d->port_count)
			print_line(out, d, &no_port, &no_gid);
		for (size_t j = 0; j < d->port_count; j++) {
			const struct inventory_port *p = &d->ports[j];

			if (!p->gid_count)
				print_line(out, d, p, &no_gid);
			for (size_t k = 0; k < p->gid_count; k++)
				print_line(out, d, p, &p->gids[k]);
		}
	}
}
