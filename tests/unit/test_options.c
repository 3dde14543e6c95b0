/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line, through the table that it is parsed by. Expected numbers were worked out by
 * hand: 4K is 4,096, 2 s is 2,000,000,000 ns.
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

#include "base/fail.h"
#include "cli/help.h"
#include "cli/options.h"

#include <cmocka.h> /* last: it has a macro named fail */

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define WORDS 64
#define SECOND UINT64_C(1000000000)

/* A few command lines are kept at a time: options point into them. '' is an empty word. */
static int parse(struct options *opt, const char *words)
{
	static char kept[8][1024];
	static unsigned int next;
	char *text = kept[next++ % COUNT_OF(kept)], *argv[WORDS], *save = NULL;
	char name[] = "rdmeter";
	int argc = 0;

	snprintf(text, sizeof(kept[0]), "%s", words);
	argv[argc++] = name;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < WORDS - 1);
		argv[argc++] = strcmp(w, "''") ? w : w + 2;
	}
	argv[argc] = NULL;
	fail_clear();
	return options_parse(opt, argc, argv);
}

static const struct option_row *row_named(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (!strcmp(option_rows[i].name, name))
			return &option_rows[i];
	fail_msg("no row is named %s", name);
	return NULL;
}

static struct option_value *value_named(struct options *opt, const char *name)
{
	return option_value(opt, row_named(name));
}

struct known {
	const char *words;
	const char *row;
	uint64_t num;
};

static void check_known(const struct known *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct option_value *v;
		struct options opt;
		int rc = parse(&opt, k[i].words);

		v = value_named(&opt, k[i].row);
		if (rc || !v->given || v->num != k[i].num)
			fail_msg("%s: returned %d, given %d, value %" PRIu64, k[i].words, rc,
				 v->given, v->num);
		assert_int_equal(fail_last()->class, FAIL_NONE);
	}
}

static void every_kind(void **state)
{
	static const struct known known[] = {
		{ "--size 64", "size", 64 },
		{ "--size=4K", "size", 4096 },
		{ "--size 1MiB", "size", 1048576 },
		{ "-s 8M", "size", 8388608 },
		{ "-s8m", "size", 8388608 },
		{ "-s 1G", "size", 1073741824 },
		{ "-n 5", "iters", 5 },
		{ "--iters 140737488355328", "iters", UINT64_C(1) << 47 },
		{ "-D 2", "duration", 2 * SECOND },
		{ "-D 0", "duration", 0 },
		{ "--duration 0.5", "duration", SECOND / 2 },
		{ "--duration=10ms", "duration", SECOND / 100 },
		{ "--duration 10s", "duration", 10 * SECOND },
		{ "--warmup 0", "warmup", 0 },
		{ "--warmup 2us", "warmup", 2000 },
		{ "--warmup 10000000000", "warmup", UINT64_C(10000000000000000000) },
		{ "--test lat", "test", TEST_LAT },
		{ "--test bw", "test", TEST_BW },
		{ "--test LAT", "test", TEST_LAT },
		{ "--direction out", "direction", DIRECTION_OUT },
		{ "-m 1024", "mtu", 1024 },
		{ "--mtu 256", "mtu", 256 },
		{ "--stamp all", "stamp", 1 },
		{ "--stamp off", "stamp", 0 },
		{ "--stamp 16", "stamp", 16 },
		{ "-t 128", "tx-depth", 128 },
		{ "-r 512", "rx-depth", 512 },
		{ "-l 16", "batch", 16 },
		{ "-Q 100", "signal", 100 },
		{ "-I 0", "inline", 0 },
		{ "-I 64", "inline", 64 },
		{ "--align 64", "align", 64 },
		{ "--offset 63", "offset", 63 },
		{ "-i 1", "ib-port", 1 },
		{ "-x 0", "gid-index", 0 },
		{ "-x 3", "gid-index", 3 },
		{ "-p 0", "port", 0 },
		{ "-p 65535", "port", 65535 },
		{ "--connect-timeout 0", "connect-timeout", 0 },
		{ "--stall-timeout 1ms", "stall-timeout", 1000000 },
		{ "--once", "once", 1 },
		{ "--plan", "plan", 1 },
		{ "--peer-ib-port 2", "peer-ib-port", 2 },
		{ "--peer-gid-index 0", "peer-gid-index", 0 },
		{ "-Vh", "help", 1 },
	};

	(void)state;
	check_known(known, COUNT_OF(known));
}

/* What perftest's users type. */
static void aliases(void **state)
{
	static const struct known known[] = {
		{ "--post_list 4", "batch", 4 },
		{ "--post-list=4", "batch", 4 },
		{ "--batch 4", "batch", 4 },
		{ "--cq-mod 2", "signal", 2 },
		{ "--cq_mod 2", "signal", 2 },
		{ "--CQ_MOD=2", "signal", 2 },
		{ "--Signal 2", "signal", 2 },
		{ "--inline_size 64", "inline", 64 },
		{ "--inline-size 64", "inline", 64 },
		{ "--ib-port 1", "ib-port", 1 },
		{ "--ib_port 1", "ib-port", 1 },
		{ "--gid-index 1", "gid-index", 1 },
		{ "--gid_index=1", "gid-index", 1 },
		{ "--tx-depth 8", "tx-depth", 8 },
		{ "--tx_depth 8", "tx-depth", 8 },
		{ "--depth 8", "tx-depth", 8 },
		{ "--rx-depth 8", "rx-depth", 8 },
		{ "--size 8", "size", 8 },
		{ "--SIZE 8", "size", 8 },
		{ "--iters 8", "iters", 8 },
		{ "--mtu 2048", "mtu", 2048 },
		{ "--port 1", "port", 1 },
		{ "--duration 1", "duration", SECOND },
		{ "--connect_timeout 1", "connect-timeout", SECOND },
		{ "--Stall_Timeout=1", "stall-timeout", SECOND },
	};

	(void)state;
	check_known(known, COUNT_OF(known));
}

/* The name is folded, the value is not. */
static void text_is_kept(void **state)
{
	static const char *const lines[] = {
		"-d Rxe_0", "--ib-dev Rxe_0", "--ib_dev=Rxe_0", "--IB_DEV=Rxe_0", "--dev Rxe_0",
		"--device=Rxe_0", "-dRxe_0",
	};
	struct options opt;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		assert_int_equal(parse(&opt, lines[i]), 0);
		assert_true(opt.device.given);
		assert_string_equal(opt.device.text, "Rxe_0");
	}
	assert_int_equal(parse(&opt, "--peer_dev=Mlx5_1 --Bind_Source_IP Fe80::A%E_1 H_o-S"), 0);
	assert_string_equal(opt.peer_device.text, "Mlx5_1");
	assert_string_equal(opt.bind.text, "Fe80::A%E_1");
	assert_string_equal(opt.host, "H_o-S");
}

static void last_one_wins(void **state)
{
	static const struct known known[] = {
		{ "--size 1K --size 4K", "size", 4096 },
		{ "-s 4K --size=1K", "size", 1024 },
		{ "--batch 2 -l 3 --post_list 4", "batch", 4 },
		{ "--test lat --test bw", "test", TEST_BW },
		{ "--stamp 16 --stamp off", "stamp", 0 },
		{ "-D 1 -D 0", "duration", 0 },
		{ "--once --once", "once", 1 },
	};
	struct options opt;

	(void)state;
	check_known(known, COUNT_OF(known));
	assert_int_equal(parse(&opt, "-d a h -d b"), 0);
	assert_string_equal(opt.device.text, "b");
	assert_string_equal(opt.host, "h");
}

static void check_same(struct options *a, struct options *b, const char *what)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_value *x = option_value(a, &option_rows[i]);
		const struct option_value *y = option_value(b, &option_rows[i]);

		if (x->num != y->num || !x->text != !y->text ||
		    (x->text && strcmp(x->text, y->text)))
			fail_msg("%s: --%s differs", what, option_rows[i].name);
	}
}

/* Swaps the words about, the same way in every run. */
static void shuffle(const char **pieces, size_t n)
{
	static uint32_t random = 1;

	for (size_t i = n - 1; i > 0; i--) {
		const char *held = pieces[i];
		size_t at;

		random = random * 1664525 + 1013904223;
		at = (random >> 8) % (i + 1);
		pieces[i] = pieces[at];
		pieces[at] = held;
	}
}

static void join(const char *const *pieces, size_t n, char *line, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(line + used, size - used, "%s ", pieces[i]);
	assert_true(used < size);
}

static void order_does_not_matter(void **state)
{
	const char *pieces[] = {
		"--test lat", "-s 4K", "-n 1000", "--warmup 7", "-t 16", "--signal=2", "-l 1",
		"-d rxe0", "--once", "-N", "--stamp all", "myhost", "-m 1024", "--stall-timeout 3",
	};
	char in_order[512], shuffled[512];
	struct options first, other;

	(void)state;
	join(pieces, COUNT_OF(pieces), in_order, sizeof(in_order));
	for (int round = 0; round < 200; round++) {
		shuffle(pieces, COUNT_OF(pieces));
		join(pieces, COUNT_OF(pieces), shuffled, sizeof(shuffled));
		assert_int_equal(parse(&first, in_order), 0);
		assert_int_equal(parse(&other, shuffled), 0);
		check_same(&first, &other, shuffled);
		assert_string_equal(other.host, "myhost");
		assert_int_equal(other.command, COMMAND_MEASURE);
	}
	assert_int_equal(other.stamp.num, 1);
	assert_int_equal(other.depth.num, 16);
}

/* A default that is typed behaves as one that is not. */
static void defaults_typed(void **state)
{
	struct options plain, typed;
	char line[200], all[1024] = "h";
	unsigned int seen = 0;

	(void)state;
	assert_int_equal(parse(&plain, "h"), 0);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		size_t used = strlen(all);

		if (!row->dfl)
			continue;
		snprintf(line, sizeof(line), "--%s %s h", row->name, row->dfl);
		assert_int_equal(parse(&typed, line), 0);
		assert_true(option_value(&typed, row)->given);
		assert_false(option_value(&plain, row)->given);
		check_same(&plain, &typed, line);
		snprintf(all + used, sizeof(all) - used, " --%s=%s", row->name, row->dfl);
		seen++;
	}
	assert_true(seen >= 8);
	assert_int_equal(parse(&plain, "h"), 0);
	assert_int_equal(parse(&typed, all), 0);
	check_same(&plain, &typed, all);
	assert_int_equal(plain.duration.num, 2 * SECOND);
	assert_int_equal(plain.align.num, 4096);
	assert_int_equal(plain.offset.num, 0);
	assert_int_equal(plain.batch.num, 1);
	assert_int_equal(plain.port.num, 18515);
	assert_int_equal(plain.connect_timeout.num, 10 * SECOND);
	assert_int_equal(plain.stall_timeout.num, 10 * SECOND);
	assert_int_equal(plain.test.num, TEST_BW);
	assert_string_equal(plain.op.text, "write");
}

static void number_text(const struct option_row *row, uint64_t v, char *out, size_t size)
{
	snprintf(out, size, "%" PRIu64 "%s", v, row->kind == OPTION_TIME ? "ns" : "");
}

static void check_range(const struct option_row *row)
{
	char text[32];
	uint64_t num;

	number_text(row, row->min, text, sizeof(text));
	assert_int_equal(option_parse_value(row, text, &num), 0);
	assert_true(num == row->min);
	number_text(row, row->max, text, sizeof(text));
	assert_int_equal(option_parse_value(row, text, &num), 0);
	assert_true(num == row->max);
	number_text(row, row->max + 1, text, sizeof(text));
	fail_clear();
	assert_int_equal(option_parse_value(row, text, &num), -EINVAL);
	assert_int_equal(fail_last()->class, FAIL_USAGE);
	assert_non_null(strstr(fail_last()->text, row->name));
	assert_non_null(strstr(fail_last()->text, text));
	assert_non_null(strstr(fail_last()->text, "out of range"));
	/* 2^64 and more is out of range too, not a small number. */
	fail_clear();
	assert_int_equal(option_parse_value(row, "18446744073709551617", &num), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "out of range"));
	if (!row->min)
		return;
	number_text(row, row->min - 1, text, sizeof(text));
	assert_int_equal(option_parse_value(row, text, &num), -EINVAL);
}

static void ranges(void **state)
{
	static const struct {
		const char *row;
		uint64_t min, max;
	} known[] = {
		{ "size", 1, 1099511627776 },	{ "iters", 1, 140737488355328 },
		{ "tx-depth", 1, 16777216 },	{ "rx-depth", 1, 16777216 },
		{ "batch", 1, 65536 },		{ "signal", 1, 16777216 },
		{ "inline", 0, 65536 },		{ "stamp", 1, 1048576 },
		{ "align", 1, 2097152 },	{ "offset", 0, 2097151 },
		{ "ib-port", 1, 255 },		{ "gid-index", 0, 255 },
		{ "port", 0, 65535 },		{ "duration", 0, 1000000000000000 },
		{ "tos", 0, 255 },		{ "stall-timeout", 1000000, 86400000000000 },
	};

	(void)state;
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].kind == OPTION_COUNT || option_rows[i].kind == OPTION_SIZE ||
		    option_rows[i].kind == OPTION_TIME)
			check_range(&option_rows[i]);
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_true(row_named(known[i].row)->min == known[i].min);
		assert_true(row_named(known[i].row)->max == known[i].max);
	}
}

/* Words that are refused, and what the one line on stderr has to hold. */
static void refused(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "--size 64xyz",
		  "--size '64xyz': not a size such as 64, 4K or 1M; see rdmeter --help" },
		{ "-s 64KB", "--size '64KB': not a size" },
		{ "-s 1e3", "--size '1e3': not a size" },
		{ "-s 0x10", "--size '0x10': not a size" },
		{ "-s -1", "--size '-1': not a size" },
		{ "-s 1.5K", "--size '1.5K': not a size" },
		{ "-s 0", "--size '0': out of range; from 1 B to 1 TiB" },
		{ "-n 1K", "--iters '1K': not a whole number; see rdmeter --help" },
		{ "-n 0", "--iters '0': out of range; from 1 to 140737488355328" },
		{ "-n +5", "--iters '+5': not a whole number" },
		{ "-D 1x", "--duration '1x': not a time such as 2, 0.5 or 10ms" },
		{ "-D 1.5ns", "--duration '1.5ns': not a time" },
		{ "-D -1", "--duration '-1': not a time" },
		{ "-p 65536", "--port '65536': out of range; from 0 to 65535" },
		{ "-m 1500", "--mtu '1500': not one of 256, 512, 1024, 2048, 4096" },
		{ "--test foo", "--test 'foo': not one of lat, bw; see rdmeter --help" },
		{ "--test la", "--test 'la': not one of lat, bw" },
		{ "--stamp x", "--stamp 'x': not a whole number or one of all, off" },
		{ "--stamp 0", "--stamp '0': out of range; from 1 to 1048576" },
		{ "-s", "--size: its value is missing; give SIZE" },
		{ "--size", "--size: its value is missing; give SIZE" },
		{ "--cq_mod", "--signal: its value is missing; give N" },
		{ "-Vs", "--size: its value is missing; give SIZE" },
		{ "--size=", "--size: its value is empty; give SIZE" },
		{ "-d ''", "--ib-dev: its value is empty; give NAME" },
		{ "--once=1", "--once takes no value; drop it" },
		{ "-Z", "-Z: no such option; see rdmeter --help" },
		{ "-VZ", "-Z: no such option" },
		{ "-s 64 -Z", "-Z: no such option" },
		{ "--zap", "--zap: no such option" },
		{ "--zap=3", "--zap=3: no such option" },
		{ "--peer 3", "--peer: no such option, or the beginning of several" },
		{ "a b", "'b': one host only; 'a' is it already" },
		{ "a -s 8 b", "'b': one host only; 'a' is it already" },
		{ "serve b", "'b': serve takes no host" },
		{ "-- a b", "'b': one host only; 'a' is it already" },
		{ "''", "the host's name is empty" },
	};
	struct options opt;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc = parse(&opt, known[i].words);

		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    strncmp(fail_last()->text, known[i].told, strlen(known[i].told)))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
		assert_null(strchr(fail_last()->text, '\n'));
	}
}

/* Accepted for perftest's sake; nothing else changes. */
static void ignored_rows(void **state)
{
	static const char *const lines[] = {
		"-F h", "-N h", "-z h", "-FNz h", "h -F", "--cpu-freq h", "--nopeak h",
		"--comm_rdma_cm h",
	};
	struct options plain, opt;

	(void)state;
	assert_int_equal(parse(&plain, "h"), 0);
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		assert_int_equal(parse(&opt, lines[i]), 0);
		assert_int_equal(opt.command, COMMAND_MEASURE);
		assert_string_equal(opt.host, "h");
		check_same(&plain, &opt, lines[i]);
	}
}

static void commands(void **state)
{
	static const struct {
		const char *words, *host;
		enum command command;
	} known[] = {
		{ "", NULL, COMMAND_SERVE },
		{ "serve", NULL, COMMAND_SERVE },
		{ "serve --once", NULL, COMMAND_SERVE },
		{ "--once serve", NULL, COMMAND_SERVE },
		{ "-s 64 -t 8", NULL, COMMAND_SERVE },
		{ "--", NULL, COMMAND_SERVE },
		{ "host", "host", COMMAND_MEASURE },
		{ "-s 8 host", "host", COMMAND_MEASURE },
		{ "host -s 8", "host", COMMAND_MEASURE },
		{ "fe80::1%eth0", "fe80::1%eth0", COMMAND_MEASURE },
		{ "Serve", "Serve", COMMAND_MEASURE },
		{ "-- serve", "serve", COMMAND_MEASURE },
		{ "devices", NULL, COMMAND_DEVICES },
		{ "devices h", "h", COMMAND_DEVICES },
		{ "-- devices", "devices", COMMAND_MEASURE },
		{ "devices -- devices", "devices", COMMAND_DEVICES },
		{ "-s 8 -- serve", "serve", COMMAND_MEASURE },
		{ "-- -s", "-s", COMMAND_MEASURE },
		{ "-- --Once_x", "--Once_x", COMMAND_MEASURE },
		{ "-h", NULL, COMMAND_HELP },
		{ "--help serve", NULL, COMMAND_HELP },
		{ "host --help", NULL, COMMAND_HELP },
		{ "-V", NULL, COMMAND_VERSION },
		{ "--version host", NULL, COMMAND_VERSION },
	};
	struct options opt;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc = parse(&opt, known[i].words);

		if (rc || opt.command != known[i].command || !opt.host != !known[i].host ||
		    (opt.host && strcmp(opt.host, known[i].host)))
			fail_msg("'%s': returned %d, command %d, host %s", known[i].words, rc,
				 opt.command, opt.host ? opt.host : "none");
	}
}

/* Appends the long name and the aliases of a row; returns how many there are then. */
static unsigned int names_of(const struct option_row *row, char names[][40], unsigned int n)
{
	char all[200], *save = NULL;

	snprintf(all, sizeof(all), "%s,%s", row->name, row->aliases ? row->aliases : "");
	for (char *w = strtok_r(all, ",", &save); w; w = strtok_r(NULL, ",", &save))
		snprintf(names[n++], 40, "%s", w);
	return n;
}

static void table_is_sound(void **state)
{
	static char names[256][40];
	unsigned int count = 0;

	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		count = names_of(row, names, count);
		assert_true(count < 128); /* what options.c has room for */
		for (size_t j = 0; j < i; j++)
			if (row->letter && option_rows[j].letter == row->letter)
				fail_msg("-%c is used twice", row->letter);
		assert_true(row->help && *row->help && row->manual);
		if (row->kind != OPTION_IGNORED && strcmp(row->name, "version") &&
		    strcmp(row->name, "help") && !*row->manual)
			fail_msg("--%s has no text for the manual", row->name);
		if (row->kind != OPTION_FLAG && row->kind != OPTION_IGNORED)
			assert_non_null(row->arg);
		assert_true(row->group < GROUP_COUNT && option_group_titles[row->group]);
		assert_true(row->min <= row->max);
	}
	for (unsigned int i = 0; i < count; i++) {
		if (strspn(names[i], "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(names[i]))
			fail_msg("--%s is not in lower case with hyphens", names[i]);
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(names[i], names[j]))
				fail_msg("--%s is used twice", names[i]);
	}
}

static char *printed(void (*print)(FILE *out))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void help_fits(void **state)
{
	char *text = printed(help_print), *save = NULL;
	char wanted[64];

	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		snprintf(wanted, sizeof(wanted), "  %c%c%s --%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name);
		if (!strstr(text, wanted) || !strstr(text, row->help))
			fail_msg("--help lacks '%s' or its text", wanted);
	}
	assert_int_equal(strncmp(text, "usage: rdmeter [serve] [OPTIONS]", 32), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strlen(line) > 100)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
}

static void manual_names_all(void **state)
{
	char *text = printed(help_print_manual);
	char wanted[64];

	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		snprintf(wanted, sizeof(wanted), " Fl \\&-%s", option_rows[i].name);
		if (!strstr(text, wanted))
			fail_msg("the manual lacks --%s", option_rows[i].name);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind),
		cmocka_unit_test(aliases),
		cmocka_unit_test(text_is_kept),
		cmocka_unit_test(last_one_wins),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(defaults_typed),
		cmocka_unit_test(ranges),
		cmocka_unit_test(refused),
		cmocka_unit_test(ignored_rows),
		cmocka_unit_test(commands),
		cmocka_unit_test(table_is_sound),
		cmocka_unit_test(help_fits),
		cmocka_unit_test(manual_names_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
