/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host's RDMA devices, for people and for scripts. */
#ifndef RDMETER_REPORT_DEVICES_H
#define RDMETER_REPORT_DEVICES_H

#include <stdio.h>

#include "verbs/inventory.h"

/* A block a device, at most 100 columns. */
void devices_print(FILE *out, const struct inventory *inventory);

/*
 * A line a GID, or a port without one, or a device without a port: key=value between tabs. The
 * keys and their order are fixed, no value is empty ("-": unknown) or has a blank in it.
 */
void devices_print_script(FILE *out, const struct inventory *inventory);

#endif
