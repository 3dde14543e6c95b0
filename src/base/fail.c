/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct failure last;
static enum fail_class aside; /* the worst that fail_set_aside() has seen */
static bool held, no_notes;
static void (*before)(void);

/* A control character of U+0080 to U+009F, as UTF-8 spells it. */
static bool is_c1(const unsigned char *at)
{
	return at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
}

void make_harmless(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		if (is_c1(at))
			*at++ = '?';
		else if (*at >= ' ' && *at != 0x7f)
			continue;
		*at = '?';
	}
}

static void print(const char *text)
{
	if (before)
		before();
	fprintf(stderr, "rdmeter: %s\n", text);
}

int fail(enum fail_class class, int errnum, const char *fmt, ...)
{
	va_list ap;

	/* A provider may fail without an errno; what has failed must not return success. */
	errnum = errnum ? errnum : EIO;
	if (last.class != FAIL_NONE)
		return -errnum;
	va_start(ap, fmt);
	vsnprintf(last.text, sizeof(last.text), fmt, ap);
	va_end(ap);
	make_harmless(last.text);
	last.class = class;
	if (!held)
		print(last.text);
	return -errnum;
}

const struct failure *fail_last(void)
{
	return &last;
}

/* In the order of the exit codes, 2 before 3 before 4, smaller is worse. */
static enum fail_class worse(enum fail_class a, enum fail_class b)
{
	if (a == FAIL_NONE || b == FAIL_NONE)
		return a == FAIL_NONE ? b : a;
	return a < b ? a : b;
}

void fail_hold(bool hold)
{
	held = hold;
}

void fail_set_aside(void)
{
	aside = worse(aside, last.class);
	last.class = FAIL_NONE;
	last.text[0] = '\0';
}

enum fail_class fail_worst(void)
{
	return worse(aside, last.class);
}

void fail_clear(void)
{
	aside = FAIL_NONE;
	last.class = FAIL_NONE;
	last.text[0] = '\0';
}

void fail_tell(void)
{
	print(last.text);
}

void fail_before(void (*call)(void))
{
	before = call;
}

void note_none(void)
{
	no_notes = true;
}

void note(const char *fmt, ...)
{
	char text[FAIL_TEXT];
	va_list ap;

	if (no_notes)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	make_harmless(text);
	print(text);
}
