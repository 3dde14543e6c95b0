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
#include "plan/matrix.h"
#include "report/devices.h"
#include "report/outputs.h"
#include "report/overview.h"
#include "report/progress.h"
#include "report/require.h"
#include "report/resume.h"
#include "report/stored.h"
#include "session/devices.h"
#include "session/session.h"

#define EXIT_REQUIREMENT 1  /* one failed */
#define EXIT_INCONCLUSIVE 5 /* none failed, one could not be judged */
#define EXIT_PIPE 141 /* as a shell shows a program that SIGPIPE ended */

/*
 * Results go to what was stdout; what a provider library prints there goes to stderr instead, so
 * that it cannot spoil them.
 */
static FILE *keep_stdout(void)
{
	static char buffer[65536];
	int fd = dup(STDOUT_FILENO);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	/* Few writes: one that fails between two flushes would leave its cause behind. */
	if (out)
		setvbuf(out, buffer, _IOFBF, sizeof(buffer));
	if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		fail(FAIL_SETUP, errno, "standard output: %s; open it", strerror(errno));
		return NULL;
	}
	return out;
}

static void report_begin(void *outputs, const struct result *r)
{
	outputs_begin(outputs, r);
	progress_begin(r);
}

static struct requirements required;

/* The overview and a sweep have no place for more than their numbers. */
static void note_requirements(const struct result *r)
{
	const struct op *op = point_op(&r->point);
	char text[200];

	for (size_t i = 0; i < required.count; i++) {
		struct judgement j;

		requirement_judge(&required.list[i], r, &j);
		requirement_text(&required.list[i], &j, text, sizeof(text));
		if (j.verdict > VERDICT_HOLDS)
			note("row %u, %s %s: require %s", r->row + 1, op->name,
			     r->point.test.value == TEST_LAT ? "lat" : "bw", text);
	}
}

static void report_row(void *outputs, const struct result *r)
{
	progress_row();
	requirements_count(&required, r);
	outputs_row(outputs, r);
	if ((r->overview || r->sweep) && !r->failed)
		note_requirements(r);
}

static struct resume resumed;

static int report_resumed(void *outputs, const struct result *r)
{
	struct result was = *r;
	int rc = resume_take(&resumed, &was);

	if (rc > 0)
		report_row(outputs, &was);
	return rc;
}

static void report_end(void *outputs)
{
	progress_end();
	if (resumed.name)
		note("--resume '%s': %zu rows had been measured", resumed.name, resumed.taken);
	outputs_end(outputs);
}

static int run_measure(const struct options *opt, struct watch *watch, struct outputs *o)
{
	const struct reporter reporter = {
		.out = o, .begin = report_begin, .row = report_row, .end = report_end,
		.resume = report_resumed, .required = &required,
		.expect = progress_expect, .tick = progress_tick, .interval = progress_interval,
	};
	int rc = requirements_parse(&required, opt);

	if (opt->quiet.given || opt->plan.given)
		progress_none();
	return rc ? rc : client_run(opt, watch, &reporter);
}

static int run_serve(const struct options *opt, struct watch *watch, struct outputs *o)
{
	(void)o;
	return server_run(opt, watch);
}

static int run_devices(const struct options *opt, struct watch *watch, struct outputs *o)
{
	return devices_run(opt, watch, o->out,
			   opt->script.given ? devices_print_script : devices_print);
}

static int run_help(const struct options *opt, struct watch *watch, struct outputs *o)
{
	(void)opt;
	(void)watch;
	help_print(o->out);
	matrix_print(o->out);
	return 0;
}

static int run_version(const struct options *opt, struct watch *watch, struct outputs *o)
{
	(void)opt;
	(void)watch;
	fprintf(o->out, "rdmeter %s\n", PACKAGE_VERSION);
	return 0;
}

static int run_report(const struct options *opt, struct watch *watch, struct outputs *o)
{
	(void)watch;
	return stored_print(o->out, opt->file, (int)opt->format.num);
}

static int (*const commands[])(const struct options *opt, struct watch *watch,
			       struct outputs *o) = {
	[COMMAND_SERVE] = run_serve,
	[COMMAND_MEASURE] = run_measure,
	[COMMAND_DEVICES] = run_devices,
	[COMMAND_REPORT] = run_report,
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
static int close_output(FILE *out, int known)
{
	int error = !ferror(out) ? 0 : nobody_reads(out) ? EPIPE : known ? known : EIO;

	if (fclose(out))
		error = errno;
	if (!error)
		return 0;
	if (error != EPIPE)
		fail(FAIL_RUN, error, "writing the result: %s", strerror(error));
	return error;
}

/* After everything else: what was measured was measured. */
static int verdict_code(void)
{
	switch (requirements_verdict(&required)) {
	case VERDICT_FAILS:
		return EXIT_REQUIREMENT;
	case VERDICT_INCONCLUSIVE:
		return EXIT_INCONCLUSIVE;
	default:
		return 0;
	}
}

static int exit_code(int rc, const struct watch *watch, int output_error)
{
	if (fail_worst() != FAIL_NONE)
		return (int)fail_worst();
	if (output_error == EPIPE)
		return EXIT_PIPE;
	if (rc == -EINTR && watch->signal)
		return 128 + watch->signal;
	return rc ? FAIL_RUN : verdict_code();
}

/* The exit code, which is also in what is printed last. */
static int finish(struct outputs *o, int rc, struct watch *watch)
{
	outputs_end(o);
	outputs_finish(o, exit_code(rc, watch, 0), true);
	rc = exit_code(rc, watch, close_output(o->out, o->error));
	outputs_finish(o, rc, false);
	return fail_worst() != FAIL_NONE ? (int)fail_worst() : rc;
}

/* What a measurement needs before it begins: files, and what an earlier one has left. */
static int open_measure(struct outputs *o, const struct options *opt)
{
	int rc;

	if (opt->command != COMMAND_MEASURE)
		return 0;
	document_ask(&o->document, opt);
	rc = resume_open(&resumed, opt, &o->document);
	if (rc)
		return rc;
	if (resumed.name)
		o->document.before = &resumed.document;
	return outputs_open(o, opt);
}

int main(int argc, char **argv)
{
	struct outputs outputs = { 0 };
	struct options opt;
	struct watch watch;
	FILE *out;
	int rc;

	setlocale(LC_CTYPE, "");
	fail_before(progress_hide);
	out = keep_stdout();
	if (!out || outputs_new(&outputs, out, argc, argv) || options_parse(&opt, argc, argv) ||
	    open_measure(&outputs, &opt) || watch_open(&watch)) {
		outputs_free(&outputs);
		resume_close(&resumed);
		exit((int)fail_last()->class);
	}
	if (opt.quiet.given)
		note_none();
	rc = commands[opt.command](&opt, &watch, &outputs);
	watch_close(&watch);
	rc = finish(&outputs, rc, &watch);
	outputs_free(&outputs);
	resume_close(&resumed);
	exit(rc);
}
