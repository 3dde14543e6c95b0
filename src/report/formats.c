/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/formats.h"

#include "report/overview.h"
#include "report/sweep.h"
#include "report/text.h"

static void text_begin(FILE *out, const struct result *r)
{
	if (r->sweep)
		sweep_begin(out, r);
	else if (r->overview)
		overview_begin(out, r);
	else
		text_header(out, r);
}

static void text_row(FILE *out, const struct result *r)
{
	if (r->sweep)
		sweep_row(out, r);
	else if (r->overview)
		overview_row(out, r);
	else
		text_result(out, r, text_utf8());
}

/* It has been told on stderr why; in a table it has its place. */
static void text_failed(FILE *out, const struct result *r)
{
	if (r->sweep)
		sweep_row(out, r);
	else if (r->overview)
		overview_row(out, r);
}

static void text_end(FILE *out)
{
	overview_end(out);
	sweep_end(out);
}

const struct format formats[] = {
	[FORMAT_TEXT] = { .begin = text_begin, .row = text_row, .failed = text_failed,
			  .end = text_end },
	[FORMAT_CSV] = { .start = csv_start, .row = csv_row, .failed = csv_row },
	[FORMAT_MARKDOWN] = { .begin = markdown_begin, .row = markdown_row,
			      .failed = markdown_failed, .end = markdown_end },
	[FORMAT_HGRM] = { .row = hgrm_row },
};
