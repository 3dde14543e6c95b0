/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/require.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FEW_MESSAGES 100 /* in a window: no verdict is built on fewer */

enum dimension {
	DIMENSION_NUMBER,
	DIMENSION_BYTES,
	DIMENSION_TIME,
	DIMENSION_BYTE_RATE,
	DIMENSION_MESSAGE_RATE,
};

/* By the ending of its key a column has a dimension, and so many base units to its own. */
static const struct {
	const char *ending;
	enum dimension dimension;
	double factor;
} endings[] = {
	{ "_mib_per_s", DIMENSION_BYTE_RATE, 1048576 },
	{ "_gbit_per_s", DIMENSION_BYTE_RATE, 1e9 / 8 },
	{ "_bytes_per_s", DIMENSION_BYTE_RATE, 1 },
	{ "_per_s", DIMENSION_MESSAGE_RATE, 1 },
	{ "_bytes", DIMENSION_BYTES, 1 },
	{ "_ns", DIMENSION_TIME, 1 },
	{ "_us", DIMENSION_TIME, 1e3 },
	{ "_s", DIMENSION_TIME, 1e9 },
	{ "", DIMENSION_NUMBER, 1 },
};

/* Base units: ns, bytes, bytes a second, messages a second. Letters count: b is a bit, B a byte. */
static const struct require_unit {
	const char *name;
	enum dimension dimension;
	double factor;
} units[] = {
	{ "ns", DIMENSION_TIME, 1 },
	{ "us", DIMENSION_TIME, 1e3 },
	{ "ms", DIMENSION_TIME, 1e6 },
	{ "s", DIMENSION_TIME, 1e9 },
	{ "b/s", DIMENSION_BYTE_RATE, 1.0 / 8 },
	{ "kb/s", DIMENSION_BYTE_RATE, 1e3 / 8 },
	{ "Mb/s", DIMENSION_BYTE_RATE, 1e6 / 8 },
	{ "Gb/s", DIMENSION_BYTE_RATE, 1e9 / 8 },
	{ "Tb/s", DIMENSION_BYTE_RATE, 1e12 / 8 },
	{ "B/s", DIMENSION_BYTE_RATE, 1 },
	{ "kB/s", DIMENSION_BYTE_RATE, 1e3 },
	{ "MB/s", DIMENSION_BYTE_RATE, 1e6 },
	{ "GB/s", DIMENSION_BYTE_RATE, 1e9 },
	{ "KiB/s", DIMENSION_BYTE_RATE, 1024 },
	{ "MiB/s", DIMENSION_BYTE_RATE, 1048576 },
	{ "GiB/s", DIMENSION_BYTE_RATE, 1073741824 },
	{ "", DIMENSION_MESSAGE_RATE, 1 },
	{ "/s", DIMENSION_MESSAGE_RATE, 1 },
	{ "k/s", DIMENSION_MESSAGE_RATE, 1e3 },
	{ "M/s", DIMENSION_MESSAGE_RATE, 1e6 },
	{ "G/s", DIMENSION_MESSAGE_RATE, 1e9 },
	{ "", DIMENSION_BYTES, 1 },
	{ "B", DIMENSION_BYTES, 1 },
	{ "K", DIMENSION_BYTES, 1024 },
	{ "KiB", DIMENSION_BYTES, 1024 },
	{ "M", DIMENSION_BYTES, 1048576 },
	{ "MiB", DIMENSION_BYTES, 1048576 },
	{ "G", DIMENSION_BYTES, 1073741824 },
	{ "GiB", DIMENSION_BYTES, 1073741824 },
	{ "", DIMENSION_NUMBER, 1 },
	{ "k", DIMENSION_NUMBER, 1e3 },
	{ "M", DIMENSION_NUMBER, 1e6 },
};

static bool less(double a, double b) { return a < b; }
static bool at_most(double a, double b) { return a <= b; }
static bool more(double a, double b) { return a > b; }
static bool at_least(double a, double b) { return a >= b; }
static bool equal(double a, double b) { return a >= b && a <= b; }
static bool unlike(double a, double b) { return a < b || a > b; }

/* The longer ones first, since the shorter ones begin them. */
static const struct require_operator {
	const char *sign;
	bool (*holds)(double got, double wanted);
} operators[] = {
	{ "<=", at_most }, { ">=", at_least }, { "==", equal }, { "!=", unlike },
	{ "<", less },	   { ">", more },      { "=", equal },
};

const char *verdict_name(enum verdict v)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "does not apply", [VERDICT_HOLDS] = "holds",
		[VERDICT_INCONCLUSIVE] = "inconclusive", [VERDICT_FAILS] = "fails",
	};

	return words[v];
}

/* Which of endings[] a key has; the last one fits all. */
static size_t ending_of(const char *key)
{
	size_t length = strlen(key), i = 0;

	for (; i + 1 < COUNT(endings); i++) {
		size_t n = strlen(endings[i].ending);

		if (n < length && !strcmp(key + length - n, endings[i].ending))
			break;
	}
	return i;
}

/* The key without its unit; where it begins without "lat_" or "stamped_" goes to *bare. */
static void short_name(const struct column *c, char *out, size_t size, const char **bare)
{
	static const char *const beginnings[] = { "lat_", "stamped_" };
	size_t length = strlen(c->key) - strlen(endings[ending_of(c->key)].ending);

	snprintf(out, size, "%.*s", (int)length, c->key);
	*bare = out;
	for (size_t i = 0; i < COUNT(beginnings); i++)
		if (!strncmp(out, beginnings[i], strlen(beginnings[i])))
			*bare = out + strlen(beginnings[i]);
}

static bool is_called(const struct column *c, const char *name)
{
	const char *bare;
	char text[48];

	short_name(c, text, sizeof(text), &bare);
	return !strcasecmp(name, c->key) || !strcasecmp(name, text) || !strcasecmp(name, bare) ||
	       !strcasecmp(name, c->header);
}

/* The column that a row of these tests is judged by; NULL when none has both name and dimension. */
static const struct column *find_column(const char *name, enum dimension dimension,
					unsigned int tests)
{
	for (size_t i = 0; i < column_count; i++)
		if (columns[i].tests & tests && is_called(&columns[i], name) &&
		    endings[ending_of(columns[i].key)].dimension == dimension)
			return &columns[i];
	return NULL;
}

static bool is_column(const char *name)
{
	for (size_t i = 0; i < column_count; i++)
		if (is_called(&columns[i], name))
			return true;
	return false;
}

static void add_word(char *out, size_t size, const char *word)
{
	char spaced[64];
	size_t used = strlen(out);

	/* Several columns have the same short name. */
	snprintf(spaced, sizeof(spaced), " %s", word);
	if (!strstr(out, spaced) || strncmp(strstr(out, spaced) + strlen(spaced), ",", 1))
		snprintf(out + used, size - used, " %s,", word);
}

static int told_no_column(const struct requirement *q)
{
	char list[900] = "", text[48];
	const char *bare;

	for (size_t i = 0; i < column_count; i++) {
		short_name(&columns[i], text, sizeof(text), &bare);
		add_word(list, sizeof(list), bare);
	}
	list[strlen(list) - 1] = '\0';
	return fail(FAIL_USAGE, EINVAL, "--require '%s': no column '%s'; there are%s", q->text,
		    q->name, list);
}

/* The units of every column that has the name. */
static int told_no_unit(const struct requirement *q, const char *unit)
{
	char list[300] = "";

	for (size_t i = 0; i < COUNT(units); i++)
		if (units[i].name[0] && find_column(q->name, units[i].dimension, COLUMN_ANY))
			add_word(list, sizeof(list), units[i].name);
	if (!list[0])
		return fail(FAIL_USAGE, EINVAL, "--require '%s': '%s' is no unit of %s; give a "
			    "bare number", q->text, unit, q->name);
	list[strlen(list) - 1] = '\0';
	if (!unit[0])
		return fail(FAIL_USAGE, EINVAL, "--require '%s': %s wants a unit; there are%s",
			    q->text, q->name, list);
	return fail(FAIL_USAGE, EINVAL, "--require '%s': '%s' is no unit of %s; there are%s",
		    q->text, unit, q->name, list);
}

static int told_bad(const struct requirement *q, const char *what)
{
	return fail(FAIL_USAGE, EINVAL, "--require '%s': %s; write it as 'p99<3us' or "
		    "'bw>=190Gb/s'", q->text, what);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* Copies the column's name and returns what follows it. */
static const char *take_name(struct requirement *q)
{
	const char *text = skip_blanks(q->text);
	size_t n = strcspn(text, "<>=!");

	while (n && text[n - 1] == ' ')
		n--;
	snprintf(q->name, sizeof(q->name), "%.*s", n < sizeof(q->name) ? (int)n : 0, text);
	return skip_blanks(text + n);
}

static const struct require_operator *take_operator(const char **text)
{
	for (size_t i = 0; i < COUNT(operators); i++) {
		size_t n = strlen(operators[i].sign);

		if (strncmp(*text, operators[i].sign, n))
			continue;
		*text = skip_blanks(*text + n);
		return &operators[i];
	}
	return NULL;
}

/* Plain decimals: what strtod() takes beyond them (inf, hexadecimal, signs) is refused. */
static const char *take_number(const char *text, double *out)
{
	size_t n = strspn(text, "0123456789.");
	char digits[40], *end;

	if (!n || n >= sizeof(digits))
		return NULL;
	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	*out = strtod(digits, &end);
	return *end || !isdigit((unsigned char)digits[0]) ? NULL : skip_blanks(text + n);
}

static const struct require_unit *find_unit(const char *name, const char *text)
{
	for (size_t i = 0; i < COUNT(units); i++)
		if (!strcmp(units[i].name, text) &&
		    find_column(name, units[i].dimension, COLUMN_ANY))
			return &units[i];
	return NULL;
}

static int parse_one(struct requirement *q, const char *text)
{
	char unit[16];
	size_t n;

	*q = (struct requirement){ .text = text };
	text = take_name(q);
	q->operator = take_operator(&text);
	if (!q->operator)
		return told_bad(q, "it has no comparison");
	if (!is_column(q->name))
		return told_no_column(q);
	text = take_number(text, &q->wanted);
	if (!text)
		return told_bad(q, "no number follows the comparison");
	n = strlen(text);
	while (n && text[n - 1] == ' ')
		n--;
	snprintf(unit, sizeof(unit), "%.*s", (int)n, text);
	q->unit = n < sizeof(unit) ? find_unit(q->name, unit) : NULL;
	return q->unit ? 0 : told_no_unit(q, unit);
}

int requirements_parse(struct requirements *q, const struct options *opt)
{
	int rc = 0;

	q->count = 0;
	while (!rc && q->count < opt->require.count) {
		rc = parse_one(&q->list[q->count], opt->require.texts[q->count]);
		q->count++;
	}
	return rc;
}

/* A count or a size is what it is; everything else wants a window worth the name. */
static bool has_few(const struct requirement *q, const struct result *r, int sender)
{
	const struct measure *m = result_truth(r, sender);

	return m && m->window.count < FEW_MESSAGES && q->unit->dimension != DIMENSION_NUMBER &&
	       q->unit->dimension != DIMENSION_BYTES;
}

static void judge_flow(const struct requirement *q, const struct result *r, int sender,
		       const struct column *c, struct judgement *j)
{
	double value = c->value(r, sender) * endings[ending_of(c->key)].factor;

	*j = (struct judgement){ .column = c, .got = value / q->unit->factor };
	j->few = isfinite(value) && has_few(q, r, sender);
	if (!isfinite(value) || j->few)
		j->verdict = VERDICT_INCONCLUSIVE;
	else
		j->verdict = q->operator->holds(j->got, q->wanted) ? VERDICT_HOLDS : VERDICT_FAILS;
}

void requirement_judge(const struct requirement *q, const struct result *r, struct judgement *j)
{
	const struct column *c = find_column(q->name, q->unit->dimension,
					     column_tests_of(&r->point));
	struct judgement one;

	*j = (struct judgement){ .verdict = VERDICT_NONE, .got = NAN };
	for (int i = 0; c && i < SIDES; i++) {
		if (!result_sends(r, i))
			continue;
		judge_flow(q, r, i, c, &one);
		if (one.verdict > j->verdict)
			*j = one;
	}
}

enum verdict requirements_count(struct requirements *q, const struct result *r)
{
	enum verdict worst = VERDICT_NONE;

	for (size_t i = 0; i < q->count; i++) {
		struct judgement j;

		requirement_judge(&q->list[i], r, &j);
		q->list[i].rows[j.verdict]++;
		worst = j.verdict > worst ? j.verdict : worst;
	}
	return worst;
}

static enum verdict verdict_of(const struct requirement *q)
{
	if (q->rows[VERDICT_FAILS])
		return VERDICT_FAILS;
	if (q->rows[VERDICT_INCONCLUSIVE])
		return VERDICT_INCONCLUSIVE;
	if (q->rows[VERDICT_HOLDS])
		return VERDICT_HOLDS;
	return q->rows[VERDICT_NONE] ? VERDICT_INCONCLUSIVE : VERDICT_NONE;
}

enum verdict requirements_verdict(const struct requirements *q)
{
	enum verdict worst = VERDICT_NONE;

	for (size_t i = 0; i < q->count; i++)
		if (verdict_of(&q->list[i]) > worst)
			worst = verdict_of(&q->list[i]);
	return worst;
}

void requirement_text(const struct requirement *q, const struct judgement *j, char *out,
		      size_t size)
{
	const char *unit = q->unit->name;

	if (j->verdict == VERDICT_NONE)
		snprintf(out, size, "%s: %s to this test", q->text, verdict_name(j->verdict));
	else if (!isfinite(j->got))
		snprintf(out, size, "%s: %s: not measured", q->text, verdict_name(j->verdict));
	else
		snprintf(out, size, "%s: %s: %.*g%s%s%s", q->text, verdict_name(j->verdict),
			 fabs(j->got) < 1e6 ? 6 : 12, j->got, unit[0] ? " " : "", unit,
			 j->few ? " of too few messages" : "");
}
