/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices, their limits, ports and GIDs; protection domains; asynchronous events. */
#define _GNU_SOURCE
#include "fake.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_query_port

static struct fake_device devices[FAKE_DEVICES];
static uint32_t next_pd;

/* "ADDRESS" or "ADDRESS/v1"; IPv4 is mapped. Further devices have further addresses. */
static void add_gid(struct fake_device *d, uint32_t number, char *text)
{
	struct ibv_gid_entry *e = &d->gid[d->gids++];
	char *v1 = strstr(text, "/v1");
	uint32_t v4;

	*e = (struct ibv_gid_entry){
		.gid_index = d->gids - 1, .port_num = 1,
		.gid_type = script.infiniband ? IBV_GID_TYPE_IB :
			    v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = script.infiniband ? 0 : if_nametoindex("lo"),
	};
	if (v1)
		*v1 = '\0';
	if (inet_pton(AF_INET, text, &v4) == 1) {
		e->gid.raw[10] = e->gid.raw[11] = 0xff;
		v4 = htonl(ntohl(v4) + number);
		memcpy(e->gid.raw + 12, &v4, 4);
	} else if (inet_pton(AF_INET6, text, e->gid.raw) == 1) {
		e->gid.raw[15] = (uint8_t)(e->gid.raw[15] + number);
	}
}

static void __attribute__((constructor(102))) make_devices(void)
{
	script_read();
	for (uint32_t i = 0; i < script.devices; i++) {
		struct fake_device *d = &devices[i];
		char text[sizeof(script.gids)], *save = NULL;

		snprintf(d->verbs.name, sizeof(d->verbs.name), "fake%u", i);
		snprintf(d->verbs.dev_name, sizeof(d->verbs.dev_name), "uverbs%u", i);
		d->verbs.node_type = IBV_NODE_CA;
		d->verbs.transport_type = IBV_TRANSPORT_IB;
		snprintf(text, sizeof(text), "%s", script.infiniband ? "fe80::fa:ce" : script.gids);
		for (char *t = strtok_r(text, ",", &save); t && d->gids < FAKE_GIDS;
		     t = strtok_r(NULL, ",", &save))
			add_gid(d, i, t);
	}
}

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list;
	int error = fault_call(CALL_get_device_list);

	list = error ? NULL : calloc(script.devices + 1, sizeof(*list));
	if (!list) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < script.devices; i++)
		list[i] = &devices[i].verbs;
	if (count)
		*count = (int)script.devices;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(0x02fa5eULL << 40 | (uint64_t)((struct fake_device *)device - devices));
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)((struct fake_device *)device - devices);
}

/* With paging on demand RC does everything so, the others only send. */
static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *in,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)context;
	(void)in;
	memset(attr, 0, size);
	if (!script.odp)
		return 0;
	attr->odp_caps = (struct ibv_odp_caps){
		.general_caps = IBV_ODP_SUPPORT,
		.per_transport_caps = {
			.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				       IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
				       IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV,
			.uc_odp_caps = IBV_ODP_SUPPORT_SEND, .ud_odp_caps = IBV_ODP_SUPPORT_SEND,
		},
	};
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	int error = fault_call(CALL_open_device);
	struct fake_context *c;

	if (!error)
		error = fabric_attach();
	c = error ? NULL : calloc(1, sizeof(*c));
	if (!c) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	if (script.talk) {
		printf("fakeverbs: %s opened\n", device->name);
		fflush(stdout);
	}
	c->ex = (struct verbs_context){
		.create_qp_ex = calls_create_qp, .query_device_ex = query_device_ex,
		.sz = sizeof(c->ex),
	};
	c->ex.context = (struct ibv_context){
		.device = device, .cmd_fd = -1, .async_fd = dup(own->events_fd),
		.num_comp_vectors = 2, .abi_compat = __VERBS_ABI_IS_EXTENDED,
		.ops = {
			.poll_cq = script.null ? null_poll : work_poll,
			.post_send = script.null ? null_post_send : work_post_send,
			.post_recv = script.null ? null_post_recv : work_post_recv,
			.alloc_mw = window_alloc, .dealloc_mw = window_dealloc,
			.bind_mw = window_bind,
			.req_notify_cq = events_request, .post_srq_recv = srq_post,
		},
	};
	pthread_mutex_init(&c->ex.context.mutex, NULL);
	return &c->ex.context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct fake_context *c = fake_context_of(context);
	int error = fault_call(CALL_close_device);

	if (c->pds | c->qps | c->cqs | c->mrs)
		report_violation("closed with %u PDs, %u QPs, %u CQs and %u MRs", c->pds, c->qps,
				 c->cqs, c->mrs);
	if (c->mws)
		report_violation("closed with %u memory windows", c->mws);
	if (c->srqs)
		report_violation("closed with %u shared receive queues", c->srqs);
	if (c->channels)
		report_violation("closed with %u completion channels", c->channels);
	if (c->ahs)
		report_violation("closed with %u AHs", c->ahs);
	if (error) {
		errno = error;
		return -1;
	}
	close(context->async_fd);
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}

static uint16_t pkeys(void)
{
	uint16_t n = 0;

	while (device_pkey(n))
		n++;
	return n;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int error = fault_call(CALL_query_device);

	if (error)
		return error;
	*attr = (struct ibv_device_attr){
		.fw_ver = "0.fake", .node_guid = ibv_get_device_guid(context->device),
		.sys_image_guid = ibv_get_device_guid(context->device),
		.max_mr_size = script.max_mr_size, .page_size_cap = 4096,
		.vendor_id = 0xfa4e, .max_qp = (int)script.max_qp,
		.max_qp_wr = (int)script.max_qp_wr, .max_sge = (int)script.max_sge,
		.max_sge_rd = (int)script.max_sge, .max_cq = 65536,
		.max_cqe = (int)script.max_cqe, .max_mr = FAKE_MRS, .max_pd = 65536,
		.max_qp_rd_atom = (int)script.max_dest_rd_atomic,
		.max_qp_init_rd_atom = (int)script.max_rd_atomic,
		.atomic_cap = script.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE,
		.max_srq = script.max_srq_wr ? 65536 : 0, .max_srq_wr = (int)script.max_srq_wr,
		.max_srq_sge = script.max_srq_wr ? (int)script.max_sge : 0,
		.max_pkeys = pkeys(), .phys_port_cnt = 1, .max_mw = FAKE_MRS,
		.device_cap_flags = (script.windows & 1 ? IBV_DEVICE_MEM_WINDOW : 0) |
				    (script.windows & 2 ? IBV_DEVICE_MEM_WINDOW_TYPE_2B : 0),
	};
	return 0;
}

static enum ibv_mtu mtu_enum(uint64_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (256ULL << mtu) <= bytes)
		mtu++;
	return mtu;
}

bool device_link_up(void)
{
	return own->shared ? own->shared->link_up : !script.down;
}

uint16_t device_lid(struct ibv_context *c)
{
	uint32_t index = (uint32_t)ibv_get_device_index(c->device);

	return script.infiniband ?
		       (uint16_t)((own->number * FAKE_DEVICES + index) << script.lmc) : 0;
}

/* libibverbs lets programs of old headers pass a shorter structure; ours is the whole one. */
int ibv_query_port(struct ibv_context *context, uint8_t port,
		   struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;
	int error = fault_call(CALL_query_port);

	if (error || port != 1)
		return error ? error : EINVAL;
	*attr = (struct ibv_port_attr){
		.state = device_link_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096, .active_mtu = mtu_enum(script.mtu),
		.gid_tbl_len = FAKE_GIDS, .max_msg_sz = (uint32_t)script.max_msg_sz,
		.pkey_tbl_len = pkeys(), .active_width = 2, .active_speed = 32, .phys_state = 5,
		.lid = device_lid(context), .lmc = (uint8_t)script.lmc,
		.link_layer = script.infiniband ? IBV_LINK_LAYER_INFINIBAND :
						  IBV_LINK_LAYER_ETHERNET,
	};
	return 0;
}

static bool is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

const struct ibv_gid_entry *device_gid(const struct ibv_context *c, uint32_t index)
{
	const struct fake_device *d = (const struct fake_device *)c->device;

	return index < d->gids && !is_zero(&d->gid[index].gid) ? &d->gid[index] : NULL;
}

struct ibv_device *device_at(uint32_t index)
{
	return index < script.devices ? &devices[index].verbs : NULL;
}

struct ibv_device *device_of_gid(const union ibv_gid *gid, uint32_t *index)
{
	struct ibv_device *found = NULL;

	for (uint32_t i = 0; i < script.devices; i++)
		for (uint32_t k = 0; k < devices[i].gids; k++) {
			const struct ibv_gid_entry *e = &devices[i].gid[k];

			if (memcmp(&e->gid, gid, sizeof(*gid)) ||
			    (found && e->gid_type != IBV_GID_TYPE_ROCE_V2))
				continue;
			found = &devices[i].verbs;
			*index = k;
		}
	return found;
}

void device_publish_gids(void)
{
	for (uint32_t d = 0; d < script.devices; d++)
		for (uint32_t i = 0; i < devices[d].gids; i++)
			own->shared->gid[d][i] = devices[d].gid[i].gid;
}

/* RoCE needs the GIDs; InfiniBand the LID. */
bool device_has_path(struct ibv_context *c, const struct ibv_ah_attr *attr)
{
	if (attr->port_num != 1 || (!script.infiniband && !attr->is_global) || attr->sl > 15 ||
	    attr->grh.flow_label > 0xfffff)
		return false;
	return !attr->is_global || device_gid(c, attr->grh.sgid_index);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t room, uint32_t flags, size_t entry_size)
{
	const struct fake_device *d = (const struct fake_device *)context->device;
	int error = fault_call(CALL_query_gid);
	ssize_t n = 0;

	(void)flags;
	if (error || entry_size != sizeof(*entries))
		return -(error ? error : EINVAL);
	for (uint32_t i = 0; i < d->gids && (size_t)n < room; i++)
		if (!is_zero(&d->gid[i].gid))
			entries[n++] = d->gid[i];
	return n;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const struct ibv_gid_entry *e = device_gid(context, index);
	int error = fault_call(CALL_query_gid);

	(void)flags;
	if (error || port != 1 || entry_size != sizeof(*entry))
		return error ? error : EINVAL;
	if (!e)
		return ENODATA;
	*entry = *e;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	const struct fake_device *d = (const struct fake_device *)context->device;

	if (fault_call(CALL_query_gid) || port != 1 || index < 0 || index >= FAKE_GIDS)
		return -1;
	*gid = d->gid[index].gid;
	return 0;
}

uint32_t device_pkey(uint32_t index)
{
	const char *at = script.pkeys;

	for (; at && index; index--) {
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return at ? (uint32_t)strtoul(at, NULL, 16) & 0xffff : 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	int error = fault_call(CALL_query_pkey);

	(void)context;
	*pkey = htobe16((uint16_t)device_pkey((uint32_t)index));
	return error || port != 1 || !*pkey ? -1 : 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	int error = fault_call(CALL_alloc_pd);
	struct fake_pd *pd = error ? NULL : calloc(1, sizeof(*pd));

	if (!pd) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	pd->verbs.context = context;
	pd->number = ++next_pd;
	fake_context_of(context)->pds++;
	return &pd->verbs;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int error = fault_call(CALL_dealloc_pd);

	if (error) {
		errno = error;
		return error;
	}
	fake_context_of(pd->context)->pds--;
	free(pd);
	return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct { uint64_t type, cookie; } e;
	int error = fault_call(CALL_get_async_event);

	if (error || read(context->async_fd, &e, sizeof(e)) != sizeof(e)) {
		errno = error ? error : errno;
		return -1;
	}
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)e.type };
	if (e.type == IBV_EVENT_CQ_ERR)
		event->element.cq = (struct ibv_cq *)(uintptr_t)e.cookie;
	else if (e.type == IBV_EVENT_PORT_ERR || e.type == IBV_EVENT_PORT_ACTIVE)
		event->element.port_num = 1;
	else
		event->element.qp = (struct ibv_qp *)(uintptr_t)e.cookie;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	int error = fault_call(CALL_create_ah);
	struct fake_ah *ah;

	if (!error && !device_has_path(pd->context, attr))
		error = EINVAL;
	ah = error ? NULL : calloc(1, sizeof(*ah));
	if (!ah) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	*ah = (struct fake_ah){ .verbs = { .context = pd->context, .pd = pd }, .attr = *attr };
	if (attr->is_global)
		ah->sgid = device_gid(pd->context, attr->grh.sgid_index)->gid;
	fake_context_of(pd->context)->ahs++;
	return &ah->verbs;
}

int ibv_destroy_ah(struct ibv_ah *verbs)
{
	int error = fault_call(CALL_destroy_ah);

	if (error) {
		errno = error;
		return error;
	}
	fake_context_of(verbs->context)->ahs--;
	free(verbs);
	return 0;
}
