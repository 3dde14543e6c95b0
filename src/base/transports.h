/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transports by number; what they are is in verbs/transport.c. */
#ifndef RDMETER_BASE_TRANSPORTS_H
#define RDMETER_BASE_TRANSPORTS_H

enum transport_id {
	TRANSPORT_RC,
	TRANSPORT_UC,
	TRANSPORT_UD,
	TRANSPORTS,
};

/* As sets. */
enum {
	ON_RC = 1 << TRANSPORT_RC,
	ON_UC = 1 << TRANSPORT_UC,
	ON_UD = 1 << TRANSPORT_UD,
};

#endif
