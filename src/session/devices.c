/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices of this host, or of a server's: who asks and who answers. */
#include "session/devices.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "control/messages.h"
#include "session/common.h"
#include "session/dialog.h"
#include "verbs/choose.h"
#include "verbs/inventory.h"

static int take(struct inventory *inventory)
{
	int rc = inventory_take(inventory);

	return rc ? fail(FAIL_SETUP, -rc, "listing RDMA devices: %s; see ibv_devices",
			 strerror(-rc)) : 0;
}

static int answer(struct session *s)
{
	struct inventory inventory;
	int rc = take(&inventory);

	if (!rc)
		rc = dialog_send(s, message_devices(&inventory));
	if (!rc)
		note("%s: asked for the devices", s->peer);
	inventory_free(&inventory);
	return rc;
}

int devices_answer(struct session *s, json_t **facts)
{
	int rc = 0;

	*facts = NULL;
	while (!rc) {
		json_t *json;
		const char *type;

		rc = dialog_next(s, "FACTS", &json);
		if (rc)
			return rc;
		type = message_type(json);
		if (!strcmp(type, "FACTS")) {
			*facts = json;
			return 0;
		}
		if (!strcmp(type, "DEVICES")) {
			rc = answer(s);
		} else if (!strcmp(type, "BYE")) {
			json_decref(json);
			return 0;
		} else {
			rc = dialog_told_undue(s, json, "FACTS or DEVICES");
		}
		json_decref(json);
	}
	return rc;
}

static int ask(struct session *s, struct inventory *inventory)
{
	const char *key;
	json_t *json;
	int rc = dialog_send(s, message_simple("DEVICES"));

	if (!rc)
		rc = dialog_expect(s, "DEVICES", &json);
	if (rc)
		return rc;
	rc = message_get_devices(json, inventory, &key);
	if (rc)
		rc = dialog_told_bad(s, json, key);
	json_decref(json);
	if (!rc)
		dialog_send(s, message_simple("BYE"));
	if (!rc && !inventory->count)
		rc = fail(FAIL_SETUP, ENODEV, "the server %s: " CHOOSE_NO_DEVICE, s->peer);
	return rc;
}

static int ask_server(const struct options *opt, struct watch *watch, struct inventory *inventory)
{
	struct session s = { .watch = watch, .channel = { .fd = -1 } };
	int rc = session_connect(&s, opt, watch);

	if (!rc)
		rc = ask(&s, inventory);
	session_close(&s);
	return rc;
}

int devices_run(const struct options *opt, struct watch *watch, FILE *out,
		void (*print)(FILE *out, const struct inventory *inventory))
{
	struct inventory inventory = { 0 };
	int rc = opt->host ? ask_server(opt, watch, &inventory) : take(&inventory);

	if (!rc && !inventory.count)
		rc = fail(FAIL_SETUP, ENODEV, CHOOSE_NO_DEVICE);
	if (!rc)
		print(out, &inventory);
	inventory_free(&inventory);
	return rc;
}
