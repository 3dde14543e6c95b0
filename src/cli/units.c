/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{ "", 1000000000 }, { "s", 1000000000 }, { "ms", 1000000 },
	{ "us", 1000 },     { "ns", 1 },         { "min", 60000000000 },
};

static const struct unit rates[] = {
	{ "", 1 },        { "K", 1000 },       { "k", 1000 },
	{ "M", 1000000 }, { "G", 1000000000 }, { "T", 1000000000000 },
};

/* Of the sizes that only bytes a second have. */
static const struct unit binary_rates[] = {
	{ "Ki", UINT64_C(1) << 10 }, { "Mi", UINT64_C(1) << 20 },
	{ "Gi", UINT64_C(1) << 30 }, { "Ti", UINT64_C(1) << 40 },
};

static const struct {
	const char *name;
	uint64_t factor; /* thousandths of what is kept */
	bool bits, bytes;
} rate_units[] = {
	{ "", 1000, false, false },    { "msg/s", 1000, false, false },
	{ "b/s", 1000, true, false },  { "bit/s", 1000, true, false },
	{ "B/s", 8000, true, true },
};

/*
 * Read the digits at @s, at least one. Goes on after an overflow, for what follows decides which
 * error it is. Returns the first character after them, NULL when there is no digit.
 */
static const char *read_digits(const char *s, uint64_t *v, bool *overflow)
{
	if (*s < '0' || *s > '9')
		return NULL;

	*v = 0;
	*overflow = false;
	for (; *s >= '0' && *s <= '9'; s++) {
		*overflow |= __builtin_mul_overflow(*v, 10, v);
		*overflow |= __builtin_add_overflow(*v, (uint64_t)(*s - '0'), v);
	}

	return s;
}

int units_parse_count(const char *s, uint64_t *v)
{
	uint64_t whole;
	bool overflow;

	s = read_digits(s, &whole, &overflow);
	if (!s || *s != '\0')
		return -EINVAL;
	if (overflow)
		return -ERANGE;

	*v = whole;
	return 0;
}

/* log2 of the size that the suffix @s stands for, -1 when it is none. */
static int size_shift(const char *s)
{
	static const char letters[] = "KMGTkmgt";
	const char *letter;

	if (*s == '\0')
		return 0;

	letter = strchr(letters, *s);
	if (!letter || (strcmp(s + 1, "") && strcmp(s + 1, "i") && strcmp(s + 1, "iB")))
		return -1;

	return 10 * (int)((letter - letters) % 4 + 1);
}

int units_parse_size(const char *s, uint64_t *v)
{
	uint64_t whole;
	bool overflow;
	int shift;

	s = read_digits(s, &whole, &overflow);
	if (!s)
		return -EINVAL;
	shift = size_shift(s);
	if (shift < 0)
		return -EINVAL;
	if (overflow || whole > UINT64_MAX >> shift)
		return -ERANGE;

	*v = whole << shift;
	return 0;
}

/*
 * The fraction 0.DIGITS of @factor, where @s to @end are the digits. -EINVAL when it is not a
 * whole number. Of the factors, 1 min = 2^11 3 5^10 ns has the most powers of 2 and 5: with more
 * than 11 digits, the last not 0, the product with any of them is never whole.
 */
static int fraction_of(const char *s, const char *end, uint64_t factor, uint64_t *part)
{
	unsigned __int128 product = 0;
	uint64_t power = 1;

	while (end > s && end[-1] == '0')
		end--;
	if (end - s > 11)
		return -EINVAL;

	for (; s < end; s++) {
		product = product * 10 + (unsigned)(*s - '0');
		power *= 10;
	}
	product *= factor;
	if (product % power)
		return -EINVAL;

	*part = (uint64_t)(product / power);
	return 0;
}

/* DIGITS[.DIGITS]: the whole part, the fraction's digits; what comes after it, NULL for none. */
static const char *read_decimal(const char *s, uint64_t *whole, bool *overflow,
				const char **fraction, const char **end)
{
	uint64_t ignored;
	bool overflow_too;

	s = read_digits(s, whole, overflow);
	*fraction = *end = s;
	if (!s || *s != '.')
		return s;
	*fraction = s + 1;
	return *end = read_digits(*fraction, &ignored, &overflow_too);
}

int units_parse_time(const char *s, uint64_t *ns)
{
	const char *fraction, *end;
	uint64_t whole, part;
	bool overflow;
	size_t i = 0;

	if (!read_decimal(s, &whole, &overflow, &fraction, &end))
		return -EINVAL;
	while (i < COUNT_OF(times) && strcmp(end, times[i].name))
		i++;
	if (i == COUNT_OF(times) || fraction_of(fraction, end, times[i].factor, &part))
		return -EINVAL;

	overflow |= __builtin_mul_overflow(whole, times[i].factor, &whole);
	overflow |= __builtin_add_overflow(whole, part, &whole);
	if (overflow)
		return -ERANGE;

	*ns = whole;
	return 0;
}

/* What a rate's suffix multiplies by, and whether it then counts bits; -EINVAL when it is none. */
static int rate_factor(const char *suffix, uint64_t *factor, bool *bits)
{
	for (size_t i = 0; i < COUNT_OF(rate_units); i++) {
		size_t rest = strlen(suffix), length = strlen(rate_units[i].name);

		if (rest < length || strcmp(suffix + rest - length, rate_units[i].name))
			continue;
		*bits = rate_units[i].bits;
		for (size_t k = 0; k < COUNT_OF(rates) + COUNT_OF(binary_rates); k++) {
			const struct unit *u = k < COUNT_OF(rates) ? &rates[k] :
						&binary_rates[k - COUNT_OF(rates)];

			if ((k >= COUNT_OF(rates) && !rate_units[i].bytes) ||
			    strlen(u->name) != rest - length ||
			    strncmp(suffix, u->name, rest - length))
				continue;
			*factor = u->factor * rate_units[i].factor;
			return 0;
		}
	}
	return -EINVAL;
}

int units_parse_rate(const char *s, uint64_t *rate)
{
	const char *fraction, *end;
	uint64_t whole, part, factor;
	bool overflow, bits;

	if (!read_decimal(s, &whole, &overflow, &fraction, &end) ||
	    rate_factor(end, &factor, &bits) || fraction_of(fraction, end, factor, &part))
		return -EINVAL;
	overflow |= __builtin_mul_overflow(whole, factor, &whole);
	overflow |= __builtin_add_overflow(whole, part, &whole);
	if (overflow || whole >= UNITS_RATE_BITS)
		return -ERANGE;

	*rate = whole | (bits ? UNITS_RATE_BITS : 0);
	return 0;
}

/* v / 10^digits, without zeros at its end. */
static void print_decimal(char *buf, size_t n, uint64_t v, int digits, const char *unit)
{
	uint64_t power = 1;
	char part[24];
	int last = digits;

	for (int i = 0; i < digits; i++)
		power *= 10;
	snprintf(part, sizeof(part), "%0*" PRIu64, digits, v % power);
	while (last && part[last - 1] == '0')
		last--;
	snprintf(buf, n, "%" PRIu64 "%s%.*s%s", v / power, last ? "." : "", last, part, unit);
}

const char *units_rate_asked(char *buf, size_t n, uint64_t rate)
{
	const char *unit = rate & UNITS_RATE_BITS ? "b/s" : "";
	uint64_t v = rate & ~UNITS_RATE_BITS;

	for (size_t i = COUNT_OF(rates); v && i-- > 1;)
		if (v % (1000 * rates[i].factor) == 0) {
			snprintf(buf, n, "%" PRIu64 "%s%s", v / 1000 / rates[i].factor,
				 rates[i].name, unit);
			return buf;
		}
	print_decimal(buf, n, v, 3, unit);
	return buf;
}

uint64_t units_rate_round(unsigned __int128 rate)
{
	unsigned __int128 unit = 1;

	while (rate / unit >= 1000000000000000)
		unit *= 10;
	return (uint64_t)((rate + unit / 2) / unit * unit);
}

const char *units_rate(char *buf, size_t n, uint64_t rate)
{
	print_decimal(buf, n, rate, 9, "/s");
	return buf;
}

const char *units_size(char *buf, size_t n, uint64_t v)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };

	for (size_t i = COUNT_OF(names); i-- > 0;) {
		uint64_t unit = UINT64_C(1) << (10 * (i + 1));

		if (v < unit || v % (unit / 2))
			continue;
		snprintf(buf, n, "%" PRIu64 "%s %s", v / unit, v % unit ? ".5" : "", names[i]);
		return buf;
	}

	snprintf(buf, n, "%" PRIu64 " B", v);
	return buf;
}

const char *units_time(char *buf, size_t n, uint64_t ns)
{
	/* A unit goes up to where three digits would round to 1,000 of it. */
	static const struct {
		const char *name;
		uint64_t factor, below;
	} shown[] = {
		{ "ns", 1, 1000 },
		{ "us", 1000, 999500 },
		{ "ms", 1000000, 999500000 },
		{ "s", 1000000000, UINT64_MAX },
	};
	uint64_t factor, whole, hundredths, step;
	const char *name;
	size_t i = 0;

	while (i < COUNT_OF(shown) - 1 && ns >= shown[i].below)
		i++;
	factor = shown[i].factor;
	whole = ns / factor;

	/* Round to the last of three digits, with whole and fraction apart: no overflow. */
	step = whole < 10 ? 1 : whole < 100 ? 10 : 100;
	hundredths = (ns % factor * (100 / step) + factor / 2) / factor * step;
	whole += hundredths / 100;
	hundredths %= 100;

	name = shown[i].name;
	if (hundredths == 0)
		snprintf(buf, n, "%" PRIu64 " %s", whole, name);
	else if (hundredths % 10 == 0)
		snprintf(buf, n, "%" PRIu64 ".%" PRIu64 " %s", whole, hundredths / 10, name);
	else
		snprintf(buf, n, "%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths, name);

	return buf;
}

const char *units_count(char *buf, size_t n, uint64_t v)
{
	char digits[UNITS_TEXT_SIZE], text[UNITS_TEXT_SIZE];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	char *out = text;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';

	snprintf(buf, n, "%s", text);
	return buf;
}
