/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/point.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/round.h"

#define CACHE_LINE 64
#define PAGE 4096
#define LARGEST (1ULL << 50) /* what is larger is refused, and sums of it may overflow */

/* Where each PUSH row's setting lies; other rows have no place in a point. */
static const struct {
	size_t option;
	size_t setting;
} places[] = {
#define PLACE_LOCAL(field)
#define PLACE_SERVER(field)
#define PLACE_PEER(field)
#define PLACE_PUSH(field) { offsetof(struct options, field), offsetof(struct point, field) },
#define OPTION(field, kind, name, letter, aliases, words, min, max, dfl, scope, ...) \
	PLACE_##scope(field)
#include "cli/options.def"
#undef OPTION
};

const struct setting *point_setting_const(const struct point *p, const struct option_row *row)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].option == row->offset)
			return (const struct setting *)((const char *)p + places[i].setting);
	return NULL;
}

struct setting *point_setting(struct point *p, const struct option_row *row)
{
	return (struct setting *)(uintptr_t)point_setting_const(p, row);
}

/* By name, so that an option is foreign to these operations until it is said to suit them. */
bool point_row_is_local(const struct option_row *row)
{
	static const char *const suitable[] = {
		"op", "test", "size", "all", "iters", "duration", "warmup", "shuffle", "max-time",
		"align", "offset", "slots", "memory", "relaxed-ordering", "odp", "window",
		"ib-dev", "ib-port", "gid-index", "stall-timeout",
	};

	for (size_t i = 0; i < sizeof(suitable) / sizeof(suitable[0]); i++)
		if (!strcmp(row->name, suitable[i]))
			return true;
	return row->group == GROUP_OUTPUT || row->group == GROUP_IGNORED;
}

static uint64_t page_of(const struct point *p)
{
	if (p->memory.value == MEMORY_HUGE2M)
		return 2ULL << 20;
	return p->memory.value == MEMORY_HUGE1G ? 1ULL << 30 : PAGE;
}

/* Places that are registered lie alike in their pages, so that all take as many. */
static uint64_t local_stride(const struct point *p)
{
	uint64_t page = page_of(p), all = p->offset.value % page + p->size.value;

	if (all <= page)
		return round_up(power_of_two_from(all < PAGE ? PAGE : all), p->align.value);
	return round_up(round_up(all, page), p->align.value);
}

uint64_t point_pages(const struct point *p)
{
	uint64_t page = page_of(p);

	return (p->offset.value % page + p->size.value + page - 1) / page;
}

uint64_t point_stride_of(uint64_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

uint64_t point_stride(const struct point *p)
{
	if (op_is_local(point_op(p)) && p->size.value < LARGEST)
		return local_stride(p);
	return point_stride_of(p->size.value);
}

uint32_t point_slots(const struct point *p)
{
	return (uint32_t)p->slots.value;
}

uint64_t point_working_set(const struct point *p)
{
	return point_stride(p) * p->slots.value * p->qps.value;
}

uint64_t point_config_id(const struct point *p)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	char text[80];

	for (size_t i = 0; i < option_row_count; i++) {
		const struct setting *s = point_setting_const(p, &option_rows[i]);

		if (!s || option_rows[i].group == GROUP_CONTROL)
			continue;
		snprintf(text, sizeof(text), "%s=%" PRIu64 ";", option_rows[i].name, s->value);
		for (const char *c = text; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3ULL;
	}
	return hash;
}
