/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How an error is told, once. The function that first decides that something is wrong calls
 * fail(); everybody above it only hands on the value. What was told is kept, so that main can
 * choose the exit code and the session can tell the peer the same sentence.
 */
#ifndef RDMETER_BASE_FAIL_H
#define RDMETER_BASE_FAIL_H

#include <stdbool.h>

/* The classes are the exit codes of the manual page. */
enum fail_class {
	FAIL_NONE = 0,
	FAIL_USAGE = 2,
	FAIL_SETUP = 3,
	FAIL_RUN = 4,
};

#define FAIL_TEXT 512

struct failure {
	enum fail_class class;
	char text[FAIL_TEXT]; /* "what failed: cause; what to try", without the program's name */
};

/*
 * Prints "rdmeter: TEXT" on stderr and remembers it, unless a failure is already remembered: the
 * first one is the cause, what follows from it is not told again. errnum is a positive errno.
 * Returns -errnum, for the caller to return.
 */
int fail(enum fail_class class, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Part of a sentence may come from the peer: nothing of it is to steer a terminal. Control
 * characters become '?'; fail() and note() do this to what they print.
 */
void make_harmless(char *text);

/* The failure told since the last fail_clear(); class FAIL_NONE when there is none. */
const struct failure *fail_last(void);

/* Forgets it, and those set aside. */
void fail_clear(void);

/* While held, failures are kept but not printed: they stand in a table instead. */
void fail_hold(bool hold);

/* The failure ends a row, not the run: its class counts for the exit code, another may be told. */
void fail_set_aside(void);

/* What the exit code is: the worst class of those set aside and the last; FAIL_NONE for none. */
enum fail_class fail_worst(void);

/* Prints a failure that was held. */
void fail_tell(void);

/* Called before anything is printed here, for an unfinished line on stderr to be taken back. */
void fail_before(void (*call)(void));

/* Notes are not printed from here on; failures are. */
void note_none(void);

/* "rdmeter: TEXT" on stderr: something the user should know that stops nothing. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
