/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/units.h"
#include "report/estimate.h"
#include "report/text.h"

#define REDRAW_NS 200000000
#define LINE 1024 /* no terminal is wider */
#define SECOND 1000000000ULL

static struct {
	struct estimate estimate;
	uint64_t started, row_began; /* 0: no run */
	char head[32], what[512];    /* of the row that runs */
	bool running;                /* a row is */
	bool shown;                  /* the line is on the screen */
} state;
static bool none;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* Columns of the terminal; 0 where there is none, or one that cannot take a line back. */
static size_t columns_of_terminal(void)
{
	const char *term = getenv("TERM");
	struct winsize size;

	if (none || !isatty(STDERR_FILENO) || !term || !*term || !strcmp(term, "dumb") ||
	    ioctl(STDERR_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

/* no-color.org: present and not empty. */
static bool may_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return !no || !*no;
}

void progress_none(void)
{
	none = true;
}

void progress_expect(const struct point *p, bool refused, uint64_t most)
{
	if (!state.started)
		state.started = state.row_began = now_ns();
	state.estimate.most = most;
	/* Without memory there is a line without an estimate, and the run does not suffer. */
	(void)estimate_add(&state.estimate, p, refused);
}

/* Tenths while they matter; at most seven columns below ten hours. */
const char *progress_time(char text[PROGRESS_TIME], uint64_t ns)
{
	uint64_t s = (ns + SECOND / 2) / SECOND, tenths = (ns + SECOND / 20) / (SECOND / 10);

	if (tenths < 100)
		snprintf(text, PROGRESS_TIME, "%" PRIu64 ".%" PRIu64 " s", tenths / 10,
			 tenths % 10);
	else if (s < 60)
		snprintf(text, PROGRESS_TIME, "%" PRIu64 " s", s);
	else if (s < 3600)
		snprintf(text, PROGRESS_TIME, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		snprintf(text, PROGRESS_TIME, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			 s / 60 % 60, s % 60);
	return text;
}

static void add(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? ", " : "", more);
}

/* The values that the row has of what varies; where nothing does, what the row is. */
static void describe(const struct result *r)
{
	char value[UNITS_TEXT_SIZE], text[UNITS_TEXT_SIZE + 80];

	state.what[0] = '\0';
	for (size_t i = 0; r->sweep && i < r->sweep->varied_count; i++) {
		const struct option_row *row = r->sweep->varied[i];

		text_value(row, point_setting_const(&r->point, row), value, sizeof(value));
		snprintf(text, sizeof(text), "%s %s", row->name, value);
		add(state.what, sizeof(state.what), text);
	}
	if (!r->sweep)
		snprintf(state.what, sizeof(state.what), "%s %s, %s", point_op(&r->point)->name,
			 r->point.test.value == TEST_LAT ? "latency" : "bandwidth",
			 units_size(value, sizeof(value), r->point.size.value));
}

/*
 * How far first, then what varies: where the line is cut it is there, and nothing moves. The last
 * column stays empty, since a cursor behind it is already in the next line on some terminals.
 */
static void draw(void)
{
	char left[PROGRESS_TIME] = "?", so_far[PROGRESS_TIME], text[LINE];
	uint64_t now = now_ns(), ns;
	size_t width = columns_of_terminal(), head = strlen(state.head);
	bool colour = may_colour();

	if (!width || !state.running)
		return;
	width = width > LINE ? LINE : width;
	if (estimate_left(&state.estimate, now - state.started, now - state.row_began, &ns))
		progress_time(left, ns);
	snprintf(text, width, "%s, %7s so far, %7s left: %s", state.head,
		 progress_time(so_far, now - state.started), left, state.what);
	head = head < strlen(text) ? head : strlen(text);
	fprintf(stderr, "\r%s%.*s%s%s\033[K", colour ? "\033[1m" : "", (int)head, text,
		colour ? "\033[0m" : "", text + head);
	state.shown = true;
}

void progress_begin(const struct result *r)
{
	int digits = snprintf(NULL, 0, "%u", r->rows);

	snprintf(state.head, sizeof(state.head), "%*u of %u", digits, r->row + 1, r->rows);
	describe(r);
	state.running = true;
	draw();
}

uint64_t progress_tick(void)
{
	if (!columns_of_terminal())
		return PROGRESS_NEVER;
	draw();
	return REDRAW_NS;
}

void progress_hide(void)
{
	if (state.shown)
		fputs("\r\033[K", stderr);
	state.shown = false;
}

void progress_row(void)
{
	uint64_t now = now_ns();

	progress_hide();
	state.running = false;
	estimate_done(&state.estimate, now - state.row_began);
	state.row_began = now;
}

void progress_end(void)
{
	progress_hide();
	estimate_free(&state.estimate);
	memset(&state, 0, sizeof(state));
}

static void print_traffic(char *text, size_t size, const struct result *r,
			  const struct result_interval *i)
{
	double rate = (double)i->count / ((double)(i->to_ns - i->from_ns) / 1e9);
	char count[UNITS_TEXT_SIZE];
	int n = snprintf(text, size, "%9.2f s %13s messages/s", (double)i->to_ns / 1e9,
			 units_count(count, sizeof(count), (uint64_t)(rate + 0.5)));

	if (r->point.test.value == TEST_BW)
		snprintf(text + n, size - (size_t)n, " %10.2f MiB/s",
			 rate * (double)r->point.size.value / 1048576);
}

void progress_interval(const struct result *r, const struct result_interval *i)
{
	char traffic[100], flight[40] = "", trouble[80] = "", row[32] = "";

	if (none)
		return;
	if (r->rows > 1)
		snprintf(row, sizeof(row), "%u of %u: ", r->row + 1, r->rows);
	print_traffic(traffic, sizeof(traffic), r, i);
	if (i->posts)
		snprintf(flight, sizeof(flight), ", in flight %" PRIu64, i->in_flight);
	if (i->counters)
		snprintf(trouble, sizeof(trouble), ", retransmits %" PRIu64 ", RNR %" PRIu64,
			 i->retransmits, i->rnr);
	progress_hide();
	fprintf(stderr, "%s%s, completed %" PRIu64 "%s%s%s\n", row, traffic, i->count, flight,
		trouble, i->of_server ? " (the server's)" : "");
	draw();
}
