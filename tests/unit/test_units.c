/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known answers were worked out by hand; powers of two and the limits of 64 bits with python3
 * (print(2**64 - 1, 2**64 // 10**9) gives 18446744073709551615 18446744073).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/units.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* What a failed parse must leave as it was. */
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

struct known {
	const char *text;
	int ret;
	uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct known *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int ret = parse(k[i].text, &v);

		if (ret != k[i].ret || v != (ret ? UNTOUCHED : k[i].value))
			fail_msg("\"%s\": returned %d, value %llu", k[i].text, ret,
				 (unsigned long long)v);
	}
}

static void parse_count(void **state)
{
	static const struct known known[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "007", 0, 7 },
		{ "4294967296", 0, UINT64_C(1) << 32 },
		{ "9999999999999999999", 0, 9999999999999999999u },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551620", -ERANGE, 0 },
		{ "184467440737095516150", -ERANGE, 0 },
		{ "184467440737095516160", -ERANGE, 0 }, /* wraps to 0 one digit before its end */
		{ "99999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "\t1", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1,000", -EINVAL, 0 },
		{ "1K", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "\xd9\xa1", -EINVAL, 0 }, /* an Arabic digit one */
	};

	(void)state;
	check(units_parse_count, known, COUNT_OF(known));
}

/* The 40 strings of which perftest takes most for something else. */
static void parse_size(void **state)
{
	static const struct known known[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "65536", 0, 65536 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "64Ki", 0, 65536 },
		{ "64KiB", 0, 65536 },
		{ "64kiB", 0, 65536 },
		{ "4m", 0, 4194304 },
		{ "4M", 0, 4194304 },
		{ "1G", 0, 1073741824 },
		{ "1g", 0, 1073741824 },
		{ "1GiB", 0, 1073741824 },
		{ "2T", 0, 2199023255552 },
		{ "0T", 0, 0 },
		{ "9999999999999999999", 0, 9999999999999999999u },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "16777215T", 0, 18446742974197923840u },
		{ "16777216T", -ERANGE, 0 }, /* 2^24 2^40 */
		{ "18014398509481984K", -ERANGE, 0 }, /* 2^54 2^10 */
		{ "99999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999K", -ERANGE, 0 },
		{ "99999999999999999999Kx", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "-1K", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 K", -EINVAL, 0 },
		{ "1K ", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.5K", -EINVAL, 0 },
		{ "64xyz", -EINVAL, 0 },
		{ "64KB", -EINVAL, 0 },
		{ "64KIB", -EINVAL, 0 },
		{ "64KiBs", -EINVAL, 0 },
		{ "64KK", -EINVAL, 0 },
		{ "64P", -EINVAL, 0 },
		{ "64i", -EINVAL, 0 },
		{ "64B", -EINVAL, 0 },
	};

	(void)state;
	check(units_parse_size, known, COUNT_OF(known));
}

static void parse_time(void **state)
{
	static const struct known known[] = {
		{ "0", 0, 0 },
		{ "2", 0, 2000000000 },
		{ "0.5", 0, 500000000 },
		{ "0.3", 0, 300000000 },
		{ "0.1", 0, 100000000 },
		{ "10s", 0, 10000000000 },
		{ "1.000000001", 0, 1000000001 },
		{ "0.000000001s", 0, 1 },
		{ "0.5000000000000000000000", 0, 500000000 },
		{ "500ms", 0, 500000000 },
		{ "1.25us", 0, 1250 },
		{ "0.001us", 0, 1 },
		{ "7ns", 0, 7 },
		{ "7.0ns", 0, 7 },
		{ "1min", 0, 60000000000 },
		{ "1.5min", 0, 90000000000 },
		{ "0.00048828125min", 0, 29296875 }, /* 60 s / 2^11, the finest binary part */
		{ "0.00000000005min", 0, 3 },
		{ "18446744073.709551615", 0, UINT64_MAX },
		{ "18446744073.709551616", -ERANGE, 0 },
		{ "18446744074", -ERANGE, 0 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "307445735min", -ERANGE, 0 }, /* 2^64 / 60e9 = 307445734.56 */
		{ "99999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999 s", -EINVAL, 0 },
		{ "0.0000000001", -EINVAL, 0 },
		{ "1.5ns", -EINVAL, 0 },
		{ "0.0001us", -EINVAL, 0 },
		{ "0.00000000001min", -EINVAL, 0 }, /* 0.6 ns */
		/* 10^64 and above are 0 modulo 2^64 */
		{ "0.00000000000000000000000000000000000"
		  "00000000000000000000000000000000001",
		  -EINVAL, 0 },
	};

	(void)state;
	check(units_parse_time, known, COUNT_OF(known));
}

static void parse_time_refuses_junk(void **state)
{
	static const char *const junk[] = {
		"",    "s",    ".5",   "5.",    "5.s",  "-1",  "+1",   " 1",   "1 ",    "1 s",
		"1S",  "1sec", "1m",   "1h",    "1Ms",  "0x1", "1e3",  "1.2.3", "1,5",  "ms",
		"1us ", "1uss", "1.-5", "1. 5", "inf", "nan",  "1min2", ".",    "1\xc2\xb5s",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(junk); i++)
		check(units_parse_time, &(struct known){ junk[i], -EINVAL, 0 }, 1);
}

struct shown {
	uint64_t value;
	const char *text;
};

static void check_text(const char *(*print)(char *, size_t, uint64_t), const struct shown *k,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char buf[UNITS_TEXT_SIZE], small[4] = "###";

		memset(buf, '#', sizeof(buf));
		assert_ptr_equal(print(buf, sizeof(buf), k[i].value), buf);
		assert_string_equal(buf, k[i].text);

		/* too small a buffer truncates and stays within */
		print(small, 3, k[i].value);
		assert_memory_equal(small, k[i].text, strlen(small));
		assert_in_range(strlen(small), 1, 2);
		assert_int_equal(small[3], 0);
	}
}

static void print_size(void **state)
{
	static const struct shown known[] = {
		{ 0, "0 B" },
		{ 8, "8 B" },
		{ 1000, "1000 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1025, "1025 B" },
		{ 1536, "1.5 KiB" },
		{ 65536, "64 KiB" },
		{ 65537, "65537 B" },
		{ 1048576, "1 MiB" },
		{ 1572864, "1.5 MiB" },
		{ 1310720, "1280 KiB" }, /* 1.25 MiB */
		{ 1049600, "1025 KiB" },
		{ 8388608, "8 MiB" },
		{ 2147483648, "2 GiB" },
		{ UINT64_C(3) << 39, "1.5 TiB" },
		{ UINT64_C(1) << 63, "8388608 TiB" },
		{ UINT64_MAX, "18446744073709551615 B" },
	};

	(void)state;
	check_text(units_size, known, COUNT_OF(known));
}

static void print_time(void **state)
{
	static const struct shown known[] = {
		{ 0, "0 ns" },
		{ 1, "1 ns" },
		{ 999, "999 ns" },
		{ 1000, "1 us" },
		{ 1004, "1 us" },
		{ 1005, "1.01 us" },
		{ 1250, "1.25 us" },
		{ 1500, "1.5 us" },
		{ 9994, "9.99 us" },
		{ 9996, "10 us" },
		{ 12340, "12.3 us" },
		{ 99960, "100 us" },
		{ 123456, "123 us" },
		{ 999499, "999 us" },
		{ 999500, "1 ms" },
		{ 1000000, "1 ms" },
		{ 500000000, "500 ms" },
		{ 999500000, "1 s" },
		{ 2000000000, "2 s" },
		{ 2050000000, "2.05 s" },
		{ 90000000000, "90 s" },
		{ 7200000000000, "7200 s" },
		{ UINT64_MAX, "18446744074 s" },
	};

	(void)state;
	check_text(units_time, known, COUNT_OF(known));
}

static void print_count(void **state)
{
	static const struct shown known[] = {
		{ 0, "0" },
		{ 7, "7" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 12345, "12,345" },
		{ 100000, "100,000" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	(void)state;
	check_text(units_count, known, COUNT_OF(known));
}

/* Thousandths of messages, or of bits with the mark. */
#define BITS(n) (UNITS_RATE_BITS | UINT64_C(n))

static void parse_rate(void **state)
{
	static const struct known known[] = {
		{ "1", 0, 1000 },
		{ "0", 0, 0 },
		{ "0.5", 0, 500 },
		{ "0.001", 0, 1 },
		{ "0.0005", -EINVAL, 0 }, /* half a thousandth */
		{ "0.0005k", 0, 500 },
		{ "999", 0, 999000 },
		{ "20k", 0, 20000000 },
		{ "20K", 0, 20000000 },
		{ "1.25M", 0, 1250000000 },
		{ "2G", 0, 2000000000000 },
		{ "20kmsg/s", 0, 20000000 },
		{ "3msg/s", 0, 3000 },
		{ "10Gb/s", 0, BITS(10000000000000) },
		{ "10Gbit/s", 0, BITS(10000000000000) },
		{ "1b/s", 0, BITS(1000) },
		{ "0.1b/s", 0, BITS(100) },
		{ "1MB/s", 0, BITS(8000000000) },
		{ "1.5MB/s", 0, BITS(12000000000) },
		{ "1MiB/s", 0, BITS(8388608000) },
		{ "1TB/s", 0, BITS(8000000000000000) },
		{ "9000000T", -ERANGE, 0 },
		{ "9223372036854775", 0, 9223372036854775000 },
		{ "9223372036854776", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "0.123456789012", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "k", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1m", -EINVAL, 0 },
		{ "1g", -EINVAL, 0 },
		{ "1Mi", -EINVAL, 0 },
		{ "1Mib/s", -EINVAL, 0 },
		{ "1Gb", -EINVAL, 0 },
		{ "1 Gb/s", -EINVAL, 0 },
		{ "1Gb/sx", -EINVAL, 0 },
		{ "1kk", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "/s", -EINVAL, 0 },
	};

	(void)state;
	check(units_parse_rate, known, COUNT_OF(known));
}

static void print_rate(void **state)
{
	static const struct shown known[] = {
		{ 1000000000, "1/s" },
		{ 500000000, "0.5/s" },
		{ 1, "0.000000001/s" },
		{ 1000000000000000000, "1000000000/s" },
		{ 19073486328125, "19073.486328125/s" },
		{ UINT64_MAX, "18446744073.709551615/s" },
	};

	(void)state;
	check_text(units_rate, known, COUNT_OF(known));
}

static void print_asked_rate(void **state)
{
	static const struct {
		const char *given, *text;
	} known[] = {
		{ "0", "0" }, { "1", "1" }, { "999", "999" }, { "0.5", "0.5" }, { "1000", "1k" },
		{ "1500", "1500" }, { "1.5M", "1500k" }, { "0.001", "0.001" }, { "20k", "20k" },
		{ "10Gb/s", "10Gb/s" }, { "10Gbit/s", "10Gb/s" }, { "1MB/s", "8Mb/s" },
		{ "1KiB/s", "8192b/s" }, { "2Tb/s", "2Tb/s" }, { "0b/s", "0b/s" },
		{ "1000G", "1T" },
	};
	char buf[UNITS_TEXT_SIZE];
	uint64_t rate;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_int_equal(units_parse_rate(known[i].given, &rate), 0);
		assert_string_equal(units_rate_asked(buf, sizeof(buf), rate), known[i].text);
	}
}

/* What is rounded is a whole number of a double's digits: it is the same when read again. */
static void round_rate(void **state)
{
	(void)state;
	assert_int_equal(units_rate_round(0), 0);
	assert_int_equal(units_rate_round(999999999999999), 999999999999999);
	assert_int_equal(units_rate_round(1000000000000004), 1000000000000000);
	assert_int_equal(units_rate_round(1000000000000005), 1000000000000010);
	assert_int_equal(units_rate_round(41666666666666667), 41666666666666700);
	assert_int_equal(units_rate_round(999999999999999999), 1000000000000000000);
	assert_int_equal(units_rate_round(1000000000000000000), 1000000000000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_count),
		cmocka_unit_test(parse_size),
		cmocka_unit_test(parse_time),
		cmocka_unit_test(parse_time_refuses_junk),
		cmocka_unit_test(print_size),
		cmocka_unit_test(print_time),
		cmocka_unit_test(print_count),
		cmocka_unit_test(parse_rate),
		cmocka_unit_test(print_rate),
		cmocka_unit_test(print_asked_rate),
		cmocka_unit_test(round_rate),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
