/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sweep that goes on with what the document of an earlier one has measured already. */
#ifndef RDMETER_REPORT_RESUME_H
#define RDMETER_REPORT_RESUME_H

#include "report/document.h"

struct resume {
	const char *name;         /* as given; NULL: nothing is resumed */
	struct document document; /* the earlier one */
	struct record *record;    /* the row that was taken last */
	size_t taken;
};

/*
 * Reads what --resume names, and refuses it unless it is of a sweep by the same command line:
 * options of output, of the control connection and --max-time may be others. mine has this one's
 * options. 0, also without --resume, or -errno told. To be given to resume_close().
 */
int resume_open(struct resume *s, const struct options *opt, const struct document *mine);
void resume_close(struct resume *s);

/*
 * Makes r what came of the row with its config_id if that has been measured, and returns 1; else
 * leaves it as it is and returns 0. -errno told when the row is of other hosts or devices, or
 * cannot be read. What r refers to then stays until the next call.
 */
int resume_take(struct resume *s, struct result *r);

#endif
