/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct failure last;

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
