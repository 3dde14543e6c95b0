/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device is besides its limits: driver, firmware, link, slot. */
#ifndef RDMETER_VERBS_ABOUT_H
#define RDMETER_VERBS_ABOUT_H

#include <infiniband/verbs.h>

#include "verbs/caps.h"

/* Fills those facts of the device called facts->name; what is not known stays unknown. */
void about_device(struct device_facts *facts, const struct ibv_device_attr *attr,
		  const struct ibv_port_attr *port);

#endif
