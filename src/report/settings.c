/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"
#include "control/fields.h"

#define PER_S 1000000000 /* a rate is kept in messages in 10^9 s */

static bool has_name(const struct option_row *row, const char *name)
{
	return !strcmp(row->name, name);
}

/* Numbers among words, as those of --mtu, are numbers. */
static bool has_words(const struct option_row *row)
{
	return (row->kind == OPTION_ENUM || row->kind == OPTION_ENUMS ||
		row->kind == OPTION_FLAG) &&
	       !isdigit((unsigned char)row->words[0].word[0]);
}

static const char *unit_of(const struct option_row *row, bool counts)
{
	if (row->kind == OPTION_SIZE || has_name(row, "mtu"))
		return "_bytes";
	if (row->kind == OPTION_RATE)
		return "_msg_per_s";
	if (has_name(row, "warmup") && counts)
		return "_messages";
	return row->kind == OPTION_TIME ? "_ns" : "";
}

const char *setting_key(const struct option_row *row, bool counts, char key[SETTING_KEY])
{
	snprintf(key, SETTING_KEY, "%s%s", row->name, unit_of(row, counts));
	for (char *c = key; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return key;
}

/*
 * A run ends by number or by time: the other one does not apply. Nor does what the host sets, nor
 * a rate where there is none.
 */
static bool applies(const struct option_row *row, const struct point *p)
{
	if (has_name(row, "tos"))
		return p->tos.value != TOS_DEFAULT;
	if (has_name(row, "rate"))
		return p->rate.value;
	if (has_name(row, "iters"))
		return point_counts(p);
	return !has_name(row, "duration") || !point_counts(p);
}

/* Of at most 15 digits, so that it comes back from a number of JSON as it was. */
static json_t *rate_value(uint64_t rate)
{
	if (rate % PER_S == 0)
		return json_integer((json_int_t)(rate / PER_S));
	return json_real((double)rate / PER_S);
}

static int decode_rate(const json_t *json, uint64_t *rate)
{
	double value = json_number_value(json) * PER_S;

	if (!json_is_number(json) || !(value >= 0 && value < (double)UINT64_MAX))
		return -EBADMSG;
	*rate = units_rate_round((unsigned __int128)(value + 0.5));
	return 0;
}

json_t *setting_value(const struct option_row *row, const struct point *p)
{
	const struct setting *s = point_setting_const(p, row);

	if (!applies(row, p))
		return json_null();
	if (row->kind == OPTION_TEXT)
		return json_string(point_op(p)->name);
	if (has_words(row))
		return json_string(option_word(row->words, s->value));
	return row->kind == OPTION_RATE ? rate_value(s->value) : fields_u64(s->value);
}

json_t *settings_encode(const struct point *p)
{
	json_t *json = json_object();
	char key[SETTING_KEY];

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const struct setting *s = point_setting_const(p, row);

		if (s)
			json_object_set_new(json, setting_key(row, point_counts(p), key),
					    json_pack("{s:o, s:s}", "value", setting_value(row, p),
						      "reason", s->why));
	}
	return json;
}

static int decode_word(const struct option_row *row, const char *word, uint64_t *value)
{
	for (const struct option_word *w = row->words; word && w->word; w++) {
		*value = w->value;
		if (!strcmp(w->word, word))
			return 0;
	}
	return -EBADMSG;
}

static int decode_value(const struct option_row *row, const json_t *json, uint64_t *value)
{
	const char *text = json_string_value(json);

	*value = has_name(row, "tos") ? TOS_DEFAULT : 0;
	if (json_is_null(json))
		return 0;
	if (row->kind == OPTION_TEXT) {
		const struct op *op = text ? op_find(text) : NULL;

		*value = op ? (uint64_t)(op - ops) : 0;
		return op ? 0 : -EBADMSG;
	}
	if (row->kind == OPTION_RATE)
		return decode_rate(json, value);
	return has_words(row) ? decode_word(row, text, value) : fields_get_u64(json, value);
}

/* What is asked of p is known by then: --iters comes before --warmup. */
static const json_t *find(const json_t *json, const struct option_row *row, const struct point *p)
{
	char key[SETTING_KEY];

	return json_object_get(json, setting_key(row, point_counts(p), key));
}

int settings_decode(const json_t *json, struct point *p, const char **key)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		struct setting *s = point_setting(p, row);
		const json_t *entry;
		const char *why;

		if (!s)
			continue;
		*key = row->name;
		entry = find(json, row, p);
		why = json_string_value(json_object_get(entry, "reason"));
		if (!why || decode_value(row, json_object_get(entry, "value"), &s->value))
			return -EBADMSG;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
	*key = "size";
	return p->size.value ? 0 : -EBADMSG;
}
