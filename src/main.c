/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of contents: what is asked, who does it, and how it ends. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/help.h"
#include "cli/options.h"
#include "config.h"
#include "report/devices.h"
#include "report/overview.h"
#include "report/text.h"
#include "session/devices.h"
#include "session/session.h"

#define EXIT_PIPE 141 /* as a shell shows a program that SIGPIPE ended */

/*
 * Results go to what was stdout; what a provider library prints there goes to stderr instead, so
 * that it cannot spoil them.
 */
static FILE *keep_stdout(void)
{
	int fd = dup(STDOUT_FILENO);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		fail(FAIL_SETUP, errno, "standard output: %s; open it", strerror(errno));
		return NULL;
	}
	return out;
}

static void report_begin(FILE *out, const struct result *r)
{
	if (r->overview) {
		overview_begin(out, r);
		progress_begin(r);
		return;
	}
	text_header(out, r);
	fflush(out); /* what is being measured can be seen meanwhile, in a pipe too */
}

static void report_row(FILE *out, const struct result *r)
{
	if (r->overview) {
		progress_end();
		overview_row(out, r);
		return;
	}
	text_result(out, r, text_utf8());
	fflush(out);
}

static int run_measure(const struct options *opt, struct watch *watch, FILE *out)
{
	const struct reporter reporter = { out, report_begin, report_row };

	int rc = client_run(opt, watch, &reporter);

	progress_end();
	overview_end(out);
	return rc;
}

static int run_serve(const struct options *opt, struct watch *watch, FILE *out)
{
	(void)out;
	return server_run(opt, watch);
}

static int run_devices(const struct options *opt, struct watch *watch, FILE *out)
{
	return devices_run(opt, watch, out,
			   opt->script.given ? devices_print_script : devices_print);
}

static int run_help(const struct options *opt, struct watch *watch, FILE *out)
{
	(void)opt;
	(void)watch;
	help_print(out);
	return 0;
}

static int run_version(const struct options *opt, struct watch *watch, FILE *out)
{
	(void)opt;
	(void)watch;
	fprintf(out, "rdmeter %s\n", PACKAGE_VERSION);
	return 0;
}

static int (*const commands[])(const struct options *opt, struct watch *watch, FILE *out) = {
	[COMMAND_SERVE] = run_serve,
	[COMMAND_MEASURE] = run_measure,
	[COMMAND_DEVICES] = run_devices,
	[COMMAND_HELP] = run_help,
	[COMMAND_VERSION] = run_version,
};

/* Whether whoever read from here has gone away, as head(1) does. */
static bool nobody_reads(FILE *out)
{
	struct pollfd fd = { .fd = fileno(out), .events = POLLOUT };

	return poll(&fd, 1, 0) > 0 && fd.revents & POLLERR;
}

/* Output that could not be written is a failure of the run, unless nobody wanted it any more. */
static int close_output(FILE *out)
{
	int error = !ferror(out) ? 0 : nobody_reads(out) ? EPIPE : EIO;

	if (fclose(out))
		error = errno;
	if (!error)
		return 0;
	if (error != EPIPE)
		fail(FAIL_RUN, error, "writing the result: %s", strerror(error));
	return error;
}

static int exit_code(int rc, const struct watch *watch, int output_error)
{
	if (fail_last()->class != FAIL_NONE)
		return (int)fail_last()->class;
	if (output_error == EPIPE)
		return EXIT_PIPE;
	if (rc == -EINTR && watch->signal)
		return 128 + watch->signal;
	return rc ? FAIL_RUN : 0;
}

int main(int argc, char **argv)
{
	struct options opt;
	struct watch watch;
	FILE *out;
	int rc;

	setlocale(LC_CTYPE, "");
	out = keep_stdout();
	if (!out || options_parse(&opt, argc, argv) || watch_open(&watch))
		exit((int)fail_last()->class);
	rc = commands[opt.command](&opt, &watch, out);
	watch_close(&watch);
	exit(exit_code(rc, &watch, close_output(out)));
}
