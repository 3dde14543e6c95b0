/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lists and ranges of values, and files of options. What is expected was written down by hand:
 * 2:20:x3 is 2, 6, 18; 1:16:+3 is 1, 4, 7, 10, 13, 16.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/argfile.h"
#include "cli/values.h"

#include <cmocka.h> /* late: it has a macro named fail */

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const struct option_row *row_named(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (!strcmp(option_rows[i].name, name))
			return &option_rows[i];
	fail_msg("no row is named %s", name);
	return NULL;
}

static void lists_and_ranges(void **state)
{
	static const struct {
		const char *option, *text, *values;
	} known[] = {
		{ "size", "64", "64" },
		{ "size", "1,4,16", "1 4 16" },
		{ "size", "16,1,4", "16 1 4" },
		{ "size", "4K,1M", "4096 1048576" },
		{ "size", "2:16:x2", "2 4 8 16" },
		{ "size", "2:20:x3", "2 6 18" },
		{ "size", "2:17:X2", "2 4 8 16" },
		{ "size", "1K:4K:+1K", "1024 2048 3072 4096" },
		{ "size", "1,8:64:x2,100", "1 8 16 32 64 100" },
		{ "size", "7:7:x2", "7" },
		{ "size", "7:8:+100", "7" },
		{ "size", "8,8", "8 8" },
		{ "size", "512G:1T:x2", "549755813888 1099511627776" },
		{ "qp", "1:16:+3", "1 4 7 10 13 16" },
		{ "qp", "1024", "1024" },
		{ "inline", "0,64", "0 64" },
		{ "inline", "0:64:+32", "0 32 64" },
		{ "inline", "0:0:x2", "0" },
		{ "stamp", "off,16,all", "0 16 1" },
		{ "mtu", "256,4096", "256 4096" },
		{ "direction", "in,out,both", "1 0 2" },
		{ "iters", "140737488355328:140737488355328:x9", "140737488355328" },
		/* Thousandths of messages; of bits with the highest binary digit set. */
		{ "rate", "10k:100k:x2", "10000000 20000000 40000000 80000000" },
		{ "rate", "0.5,2k", "500 2000000" },
		{ "rate", "1k:2k:+0.5k", "1000000 1500000 2000000" },
		{ "rate", "1b/s:4b/s:x2", "9223372036854776808 9223372036854777808 9223372036854779808" },
		{ "rate", "1kb/s:1kB/s:+4kb/s", "9223372036855775808 9223372036859775808" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct values v;
		char text[400] = "";

		fail_clear();
		if (values_parse(row_named(known[i].option), known[i].text, &v))
			fail_msg("%s: %s", known[i].text, fail_last()->text);
		for (size_t k = 0; k < v.count; k++) {
			size_t used = strlen(text);

			snprintf(text + used, sizeof(text) - used, "%s%" PRIu64, used ? " " : "",
				 v.num[k]);
		}
		values_free(&v);
		if (strcmp(text, known[i].values))
			fail_msg("%s: %s", known[i].text, text);
	}
}

static void bad_values(void **state)
{
	static const struct {
		const char *option, *text, *told;
	} known[] = {
		{ "size", "1,,4", "--size: an empty value in its list" },
		{ "size", "1,", "--size: an empty value in its list" },
		{ "size", ",1", "--size: an empty value in its list" },
		{ "size", "1,4x", "--size '4x': not a size" },
		{ "size", "1 ,4", "--size '1 ': not a size" },
		{ "size", "1,2T", "--size '2T': out of range" },
		{ "size", "0,2", "--size '0': out of range" },
		{ "size", "2:8", "--size '2:8': a range without a step" },
		{ "size", "2:", "--size '2:': a range without a step" },
		{ "size", ":8:x2", "--size ':8:x2': not a range" },
		{ "size", "2::x2", "--size '2::x2': not a range" },
		{ "size", "2:8:", "--size '2:8:': its step is not xN or +N" },
		{ "size", "2:8:2", "--size '2:8:2': its step is not xN or +N" },
		{ "size", "2:8:-2", "--size '2:8:-2': its step is not xN or +N" },
		{ "size", "2:8:x2:x2", "--size '2:8:x2:x2': its step is not a whole number" },
		{ "size", "2:8:x2junk", "--size '2:8:x2junk': its step is not a whole number" },
		{ "size", "2:8:x", "--size '2:8:x': its step is not a whole number" },
		{ "size", "2:8:x1K", "--size '2:8:x1K': its step is not a whole number" },
		{ "size", "2:8:+99999999999999999999", "its step is not a whole number" },
		{ "size", "2:8:x0", "--size '2:8:x0': the range does not end" },
		{ "size", "2:8:x1", "--size '2:8:x1': the range does not end" },
		{ "size", "2:8:+0", "--size '2:8:+0': the range does not end" },
		{ "inline", "0:8:x2", "--inline '0:8:x2': the range does not end" },
		{ "size", "8:2:x2", "--size '8:2:x2': the range descends" },
		{ "size", "2:2T:x2", "--size '2T': out of range" },
		{ "size", "2:8q:x2", "--size '8q': not a size" },
		{ "stamp", "all:8:x2", "--stamp 'all:8:x2': not a range" },
		{ "mtu", "256:4096:x2", "--mtu '256:4096:x2': not one of 256, 512" },
		{ "mtu", "256,300", "--mtu '300': not one of 256, 512" },
		{ "iters", "1:100001:+1", "--iters '1:100001:+1': more than 100000 values" },
		{ "rate", "10k:20k", "--rate '10k:20k': a range without a step" },
		{ "rate", "1k:1Gb/s:x2", "one end is a rate of messages, the other one of data" },
		{ "rate", "1Mb/s:1Gb/s:+1k", "its step is not a rate of the same unit" },
		{ "rate", "1k:2k:+1Kb/s", "its step is not a rate of the same unit" },
		{ "rate", "1k:2k:+0", "the range does not end" },
		{ "rate", "1k:2k:x1.5", "its step is not a whole number" },
		{ "rate", "0:2k:x2", "the range does not end" },
		{ "rate", "1k,2q", "--rate '2q': not a rate" },
		{ "rate", "1k:1001T:x9", "--rate '1001T': out of range; from 0 to 1000T" },
		{ "rate", "1b/s,1001Tb/s", "--rate '1001Tb/s': out of range" },
		{ "qp", "1111111111111111111111111111111111111111111111111111111111111111111111111"
			"1111111111111", ": out of range; from 1 to " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct values v;
		int rc;

		fail_clear();
		rc = values_parse(row_named(known[i].option), known[i].text, &v);
		assert_null(v.num);
		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].told) || strchr(fail_last()->text, '\n'))
			fail_msg("%s: %d, '%s'", known[i].text, rc, fail_last()->text);
	}
}

/* A path may be one of the values, and may be as long as paths are. */
static void long_values(void **state)
{
	const struct option_row *row = row_named("memory");
	char text[5000] = "shm,file:/";
	struct values v;

	(void)state;
	memset(text + 10, 'x', 4000);
	assert_int_equal(values_parse(row, text, &v), 0);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.num[1], MEMORY_FILE);
	values_free(&v);
	memset(text + 10, 'x', 4800);
	fail_clear();
	assert_int_equal(values_parse(row, text, &v), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "too long for a value"));
}

static void most_values(void **state)
{
	struct values v;

	(void)state;
	assert_int_equal(values_parse(row_named("iters"), "1:100000:+1", &v), 0);
	assert_int_equal(v.count, 100000);
	assert_int_equal(v.num[0], 1);
	assert_int_equal(v.num[99999], 100000);
	values_free(&v);
	assert_null(v.num);
}

static int parse(struct options *opt, int argc, char **argv)
{
	fail_clear();
	return options_parse(opt, argc, argv);
}

/* An option knows how many values it has, and the last one given counts. */
static void options_count_values(void **state)
{
	char name[] = "rdmeter", first[] = "--size=1,2,3", last[] = "--size=5:6:+1", qp[] = "-q4";
	char host[] = "h", *argv[] = { name, first, last, qp, host, NULL };
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, 5, argv), 0);
	assert_int_equal(opt.size.count, 2);
	assert_int_equal(opt.size.num, 5);
	assert_int_equal(opt.qps.count, 1);
	assert_int_equal(opt.depth.count, 0);
}

static char path[] = "/tmp/rdmeter-argfile-XXXXXX";

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The words of "rdmeter BEFORE @path AFTER host", joined by '|'. */
static int expand(char *out, size_t size)
{
	char name[] = "rdmeter", before[] = "-p1", file[80], after[] = "-q2", host[] = "h";
	char *words[] = { name, before, file, after, host, NULL }, **argv = words;
	int argc = 5, rc;

	snprintf(file, sizeof(file), "@%s", path);
	fail_clear();
	rc = argfile_expand(&argc, &argv);
	out[0] = '\0';
	for (int i = 0; !rc && i < argc; i++) {
		size_t used = strlen(out);

		snprintf(out + used, size - used, "%s%s", i ? "|" : "", argv[i]);
	}
	if (!rc)
		assert_null(argv[argc]);
	return rc;
}

static void files_of_options(void **state)
{
	static const struct {
		const char *text, *words;
	} known[] = {
		{ "", "rdmeter|-p1|-q2|h" },
		{ "# nothing\n\n  \t\n", "rdmeter|-p1|-q2|h" },
		{ "--size 64\n--pivot\n", "rdmeter|-p1|--size|64|--pivot|-q2|h" },
		{ "--size=64\r\n-s 8 # eight\n-t4", "rdmeter|-p1|--size=64|-s|8|-t4|-q2|h" },
		{ "  --bind   \"a # b\"  \n", "rdmeter|-p1|--bind|a # b|-q2|h" },
		{ "--bind='it is \"x\"'\n", "rdmeter|-p1|--bind=it is \"x\"|-q2|h" },
		{ "--bind a#b\n", "rdmeter|-p1|--bind|a#b|-q2|h" },
		{ "--bind @x\n", "rdmeter|-p1|--bind|@x|-q2|h" },
		{ "--bind a=b c\n", "rdmeter|-p1|--bind|a=b c|-q2|h" },
	};
	char words[400];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		write_file(known[i].text);
		if (expand(words, sizeof(words)))
			fail_msg("%s: %s", known[i].text, fail_last()->text);
		assert_string_equal(words, known[i].words);
	}
}

static void bad_files(void **state)
{
	static const struct {
		const char *text, *told;
	} known[] = {
		{ "--size 64\n@other\n", ", line 2: '@other': a file of options cannot name another" },
		{ "\n\nhost\n", ", line 3: 'host': not an option" },
		{ "--\n", ", line 1: '--': not an option" },
		{ "-\n", ", line 1: '-': not an option" },
		{ "--bind \"a\n", ", line 1: '\"a': a quote that is not closed" },
		{ "--bind \"\n", ", line 1: '\"': a quote that is not closed" },
		{ "--bind 'a'b\n", ", line 1: ''a'b': a quote that is not closed" },
	};
	char words[400], longer[5000];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		write_file(known[i].text);
		if (expand(words, sizeof(words)) != -EINVAL ||
		    fail_last()->class != FAIL_USAGE || !strstr(fail_last()->text, known[i].told))
			fail_msg("%s: %s", known[i].text, fail_last()->text);
	}
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	write_file(longer);
	assert_int_equal(expand(words, sizeof(words)), -EINVAL);
	assert_non_null(strstr(fail_last()->text, ", line 1: longer than 4094 bytes"));
	unlink(path);
	assert_int_equal(expand(words, sizeof(words)), -ENOENT);
	assert_non_null(strstr(fail_last()->text, "No such file or directory; a word that begins"));
}

/* Words after "--" are never files, and without a file argv stays what it is. */
static void no_files(void **state)
{
	char name[] = "rdmeter", dashes[] = "--", at[] = "@nowhere";
	char *words[] = { name, dashes, at, NULL }, **argv = words;
	int argc = 3;

	(void)state;
	assert_int_equal(argfile_expand(&argc, &argv), 0);
	assert_int_equal(argc, 3);
	assert_ptr_equal(argv, words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_and_ranges),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(long_values),
		cmocka_unit_test(most_values),
		cmocka_unit_test(options_count_values),
		cmocka_unit_test(files_of_options),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(no_files),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
