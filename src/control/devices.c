/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The DEVICES message: a host's devices, each with its ports, each with its GIDs. */
#include <errno.h>
#include <stdlib.h>

#include "control/fields.h"
#include "control/messages.h"

/* More than any host has: a message of zeros only must not make its reader allocate for each. */
enum { DEVICES_MAX = 1024, PORTS_MAX = 255, GIDS_MAX = 16384 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct field device_fields[] = {
	FIELD(struct inventory_device, name, TEXT),
	FIELD(struct inventory_device, driver, TEXT),
	FIELD(struct inventory_device, firmware, TEXT),
	FIELD(struct inventory_device, node_guid, TEXT),
	FIELD(struct inventory_device, problem, TEXT),
	FIELD(struct inventory_device, numa_node, I32),
	FIELD(struct inventory_device, max_mr_size, U64),
	FIELD(struct inventory_device, max_qp, U32),
	FIELD(struct inventory_device, max_qp_wr, U32),
	FIELD(struct inventory_device, max_sge, U32),
	FIELD(struct inventory_device, max_cqe, U32),
	FIELD(struct inventory_device, max_rd_init, U32),
	FIELD(struct inventory_device, max_rd_res, U32),
	FIELD(struct inventory_device, atomics, U32),
};

static const struct field port_fields[] = {
	FIELD(struct inventory_port, netdev, TEXT),
	FIELD(struct inventory_port, number, U32),
	FIELD(struct inventory_port, state, U32),
	FIELD(struct inventory_port, link_layer, U32),
	FIELD(struct inventory_port, active_mtu, U32),
	FIELD(struct inventory_port, max_mtu, U32),
	FIELD(struct inventory_port, netdev_mtu, U32),
	FIELD(struct inventory_port, max_msg_sz, U64),
};

static const struct field gid_fields[] = {
	FIELD(struct inventory_gid, address, TEXT),
	FIELD(struct inventory_gid, netdev, TEXT),
	FIELD(struct inventory_gid, index, U32),
	FIELD(struct inventory_gid, kind, U32),
};

static json_t *encode_port(const struct inventory_port *p)
{
	json_t *port = fields_encode(port_fields, COUNT(port_fields), p);
	json_t *gids = json_array();

	for (size_t i = 0; i < p->gid_count; i++)
		json_array_append_new(gids, fields_encode(gid_fields, COUNT(gid_fields),
							  &p->gids[i]));
	json_object_set_new(port, "gids", gids);
	return port;
}

json_t *message_devices(const struct inventory *inventory)
{
	json_t *message = message_simple("DEVICES"), *devices = json_array();

	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_device *d = &inventory->devices[i];
		json_t *device = fields_encode(device_fields, COUNT(device_fields), d);
		json_t *ports = json_array();

		for (size_t j = 0; j < d->port_count; j++)
			json_array_append_new(ports, encode_port(&d->ports[j]));
		json_object_set_new(device, "ports", ports);
		json_array_append_new(devices, device);
	}
	json_object_set_new(message, "devices", devices);
	return message;
}

/* The array under name, of at most max elements. */
static int get_array(const json_t *object, const char *name, size_t max, const json_t **array,
		     const char **key)
{
	*key = name;
	*array = json_object_get(object, name);
	return json_is_array(*array) && json_array_size(*array) <= max ? 0 : -EBADMSG;
}

/* Room for what array has, in *list; its length goes to *size. */
static int make_room(const json_t *array, size_t element, void *list, size_t *size)
{
	void **room = list;

	*size = json_array_size(array);
	*room = *size ? calloc(*size, element) : NULL;
	if (*room || !*size)
		return 0;
	*size = 0;
	return -EBADMSG;
}

static int get_port(const json_t *json, struct inventory_port *p, const char **key)
{
	const json_t *gids;
	int rc = fields_decode(port_fields, COUNT(port_fields), json, p, key);

	if (!rc)
		rc = get_array(json, "gids", GIDS_MAX, &gids, key);
	if (!rc)
		rc = make_room(gids, sizeof(*p->gids), &p->gids, &p->gid_count);
	for (size_t i = 0; !rc && i < p->gid_count; i++)
		rc = fields_decode(gid_fields, COUNT(gid_fields), json_array_get(gids, i),
				   &p->gids[i], key);
	return rc;
}

static int get_device(const json_t *json, struct inventory_device *d, const char **key)
{
	const json_t *ports;
	int rc = fields_decode(device_fields, COUNT(device_fields), json, d, key);

	if (!rc)
		rc = get_array(json, "ports", PORTS_MAX, &ports, key);
	if (!rc)
		rc = make_room(ports, sizeof(*d->ports), &d->ports, &d->port_count);
	for (size_t i = 0; !rc && i < d->port_count; i++)
		rc = get_port(json_array_get(ports, i), &d->ports[i], key);
	return rc;
}

int message_get_devices(const json_t *json, struct inventory *inventory, const char **key)
{
	const json_t *devices;
	int rc = get_array(json, "devices", DEVICES_MAX, &devices, key);

	*inventory = (struct inventory){ 0 };
	if (!rc)
		rc = make_room(devices, sizeof(*inventory->devices), &inventory->devices,
			       &inventory->count);
	for (size_t i = 0; !rc && i < inventory->count; i++)
		rc = get_device(json_array_get(devices, i), &inventory->devices[i], key);
	return rc;
}
