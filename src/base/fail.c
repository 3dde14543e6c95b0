/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct failure last;

/* Part of a sentence may come from the peer: nothing of it is to steer a terminal. */
static void make_harmless(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
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
	fprintf(stderr, "rdmeter: %s\n", last.text);
	return -errnum;
}

const struct failure *fail_last(void)
{
	return &last;
}

void fail_clear(void)
{
	last.class = FAIL_NONE;
	last.text[0] = '\0';
}

void note(const char *fmt, ...)
{
	char text[FAIL_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	make_harmless(text);
	fprintf(stderr, "rdmeter: %s\n", text);
}
