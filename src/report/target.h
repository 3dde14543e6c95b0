/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where output goes. A file is written beside its name and renamed onto it when it is whole, so
 * that whoever reads the name never sees half of it; what is no regular file (a device, a pipe) is
 * written through.
 */
#ifndef RDMETER_REPORT_TARGET_H
#define RDMETER_REPORT_TARGET_H

#include <stdbool.h>
#include <stdio.h>

struct target {
	FILE *file;
	bool standard; /* it is standard output, which is not closed here */
	char *path;    /* what it is going to be called; NULL when written through */
	char *beside;  /* what it is called until then */
	const char *name; /* as given, for messages */
	int error;        /* the first one of writing, as errno; 0: none yet */
};

/*
 * Opens what the option was given: "-" is out, and so is another name of the same. To be done
 * before anything is measured. 0, or -errno told as FAIL_SETUP.
 */
int target_open(struct target *t, const char *option, const char *name, FILE *out);

/* What has been printed can be read from now on, but for a file beside its name. */
void target_flush(struct target *t);

/*
 * Writes out what is left and gives the file its name. 0, or -errno told as FAIL_RUN, after which
 * what was there before still is. Standard output is only flushed: whoever closes it tells.
 */
int target_commit(struct target *t);

/* Forgets what was written, if that can be done. */
void target_abandon(struct target *t);

#endif
