/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/transports.h"
#include "cli/argfile.h"
#include "cli/units.h"
#include "cli/values.h"
#include "engine/ops.h"

static const struct option_word words_test[] = {
	{ "lat", TEST_LAT }, { "bw", TEST_BW }, { NULL, 0 },
};

static const struct option_word words_transport[] = {
	{ "rc", TRANSPORT_RC }, { "uc", TRANSPORT_UC }, { "ud", TRANSPORT_UD }, { NULL, 0 },
};

static const struct option_word words_direction[] = {
	{ "out", DIRECTION_OUT }, { "in", DIRECTION_IN }, { "both", DIRECTION_BOTH }, { NULL, 0 },
};

static const struct option_word words_atomic_target[] = {
	{ "qp", ATOMIC_QP }, { "shared", ATOMIC_SHARED }, { NULL, 0 },
};

static const struct option_word words_format[] = {
	{ "text", FORMAT_TEXT }, { "csv", FORMAT_CSV }, { "markdown", FORMAT_MARKDOWN },
	{ "hgrm", FORMAT_HGRM }, { "json", FORMAT_JSON }, { NULL, 0 },
};

static const struct option_word words_switch[] = {
	{ "off", 0 }, { "on", 1 }, { NULL, 0 },
};

static const struct option_word words_memory[] = {
	{ "malloc", MEMORY_MALLOC }, { "huge2m", MEMORY_HUGE2M }, { "huge1g", MEMORY_HUGE1G },
	{ "file:", MEMORY_FILE }, { "shm", MEMORY_SHM }, { "udmabuf", MEMORY_UDMABUF }, { NULL, 0 },
};

static const struct option_word words_relaxed[] = {
	{ "off", RELAXED_OFF }, { "on", RELAXED_ON }, { "auto", RELAXED_AUTO }, { NULL, 0 },
};

static const struct option_word words_window[] = {
	{ "auto", WINDOW_AUTO }, { "1", WINDOW_1 }, { "2", WINDOW_2 }, { NULL, 0 },
};

static const struct option_word words_mr[] = {
	{ "one", MR_ONE }, { "qp", MR_QP }, { NULL, 0 },
};

static const struct option_word words_post_api[] = {
	{ "legacy", POST_LEGACY }, { "wr", POST_WR }, { NULL, 0 },
};

static const struct option_word words_arrival[] = {
	{ "fixed", ARRIVAL_FIXED }, { "poisson", ARRIVAL_POISSON }, { NULL, 0 },
};

static const struct option_word words_stamp[] = {
	{ "all", 1 }, { "off", 0 }, { NULL, 0 },
};

static const struct option_word words_rdma_cm[] = {
	{ "off", 0 }, { "on", 1 }, { NULL, 0 },
};

static const struct option_word words_tos[] = {
	{ "default", TOS_DEFAULT }, { NULL, 0 },
};

static const struct option_word words_mtu[] = {
	{ "256", 256 }, { "512", 512 }, { "1024", 1024 }, { "2048", 2048 }, { "4096", 4096 },
	{ NULL, 0 },
};

const struct option_row option_rows[] = {
#define OPTION(field_, kind_, name_, letter_, aliases_, words_, min_, max_, dfl_, scope_, group_, \
	       arg_, help_, manual_)                                                              \
	{                                                                                         \
		.name = name_, .letter = letter_, .aliases = aliases_, .kind = OPTION_##kind_,    \
		.words = words_, .min = min_, .max = max_, .dfl = dfl_, .scope = SCOPE_##scope_,  \
		.group = GROUP_##group_, .arg = arg_, .help = help_, .manual = manual_,           \
		.offset = offsetof(struct options, field_),                                       \
	},
#include "cli/options.def"
#undef OPTION
};

const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

const char *const option_group_titles[GROUP_COUNT] = {
	[GROUP_TEST] = "What to measure",
	[GROUP_QUEUE] = "Queues and work requests",
	[GROUP_MEMORY] = "Memory",
	[GROUP_WHERE] = "Device and path",
	[GROUP_CONTROL] = "Control connection",
	[GROUP_OUTPUT] = "Output",
	[GROUP_IGNORED] = "Accepted and ignored, for those used to perftest",
};

#define LONG_NAMES 256 /* names and aliases together */
#define LONG_BASE 1000 /* getopt's values for rows; letters lie below */

struct getopt_tables {
	struct option longs[LONG_NAMES];
	char *names[LONG_NAMES]; /* what longs[].name point to, to be freed */
	size_t count;
	char shorts[2 * 64];
};

struct option_value *option_value(struct options *opt, const struct option_row *row)
{
	return (struct option_value *)((char *)opt + row->offset);
}

const char *option_word(const struct option_word *words, uint64_t value)
{
	for (; words && words->word; words++)
		if (words->value == value)
			return words->word;
	return NULL;
}

/* Long names compare with '-' for '_' and in lower case, as far as a '='. */
static void normalize(char *name)
{
	for (; *name && *name != '='; name++)
		*name = *name == '_' ? '-' : (char)tolower((unsigned char)*name);
}

static bool takes_argument(const struct option_row *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_IGNORED;
}

/* A value that may be left out has to be joined by '='. */
static int argument_of(const struct option_row *row)
{
	if (!takes_argument(row))
		return no_argument;
	return row->kind == OPTION_FILE ? optional_argument : required_argument;
}

static void add_name(struct getopt_tables *t, const char *name, size_t len, size_t row)
{
	char *copy = strndup(name, len);

	if (!copy || t->count + 1 >= LONG_NAMES) {
		free(copy);
		return;
	}
	normalize(copy);
	t->names[t->count] = copy;
	t->longs[t->count++] = (struct option){
		.name = copy,
		.has_arg = argument_of(&option_rows[row]),
		.val = LONG_BASE + (int)row,
	};
}

static void build_tables(struct getopt_tables *t)
{
	char *s = t->shorts;

	*t = (struct getopt_tables){ 0 };
	*s++ = ':';
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const char *alias = row->aliases;

		add_name(t, row->name, strlen(row->name), i);
		while (alias) {
			size_t len = strcspn(alias, ",");

			add_name(t, alias, len, i);
			alias = alias[len] ? alias + len + 1 : NULL;
		}
		if (row->letter) {
			*s++ = (char)row->letter;
			if (takes_argument(row))
				*s++ = ':';
		}
	}
}

static void free_tables(struct getopt_tables *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->names[i]);
}

static const struct option_row *row_of(int value)
{
	if (value >= LONG_BASE)
		return &option_rows[value - LONG_BASE];
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].letter == value)
			return &option_rows[i];
	return NULL;
}

static void list_words(const struct option_word *words, char *out, size_t size)
{
	out[0] = '\0';
	for (; words && words->word; words++) {
		size_t used = strlen(out);

		snprintf(out + used, size - used, "%s%s", used ? ", " : "", words->word);
	}
}

static void print_quantity(const struct option_row *row, uint64_t num, char *out, size_t size)
{
	if (row->kind == OPTION_SIZE)
		units_size(out, size, num);
	else if (row->kind == OPTION_TIME)
		units_time(out, size, num);
	else if (row->kind == OPTION_RATE)
		units_rate_asked(out, size, num);
	else
		snprintf(out, size, "%" PRIu64, num);
}

static int parse_number(const struct option_row *row, const char *text, uint64_t *num)
{
	switch (row->kind) {
	case OPTION_SIZE:
		return units_parse_size(text, num);
	case OPTION_TIME:
		return units_parse_time(text, num);
	case OPTION_RATE:
		return units_parse_rate(text, num);
	case OPTION_COUNT:
		return units_parse_count(text, num);
	default:
		return -EINVAL;
	}
}

static bool is_enum(const struct option_row *row)
{
	return row->kind == OPTION_ENUM || row->kind == OPTION_ENUMS;
}

static int told_bad(const struct option_row *row, const char *text)
{
	static const char *const wants[] = {
		[OPTION_COUNT] = "a whole number",
		[OPTION_SIZE] = "a size such as 64, 4K or 1M",
		[OPTION_TIME] = "a time such as 2, 0.5 or 10ms",
		[OPTION_RATE] = "a rate such as 1000, 0.5, 20k, 10Gb/s or 1MB/s",
		[OPTION_ENUM] = "one of",
		[OPTION_ENUMS] = "one of",
	};
	char words[200];

	list_words(row->words, words, sizeof(words));
	return fail(FAIL_USAGE, EINVAL, "--%s '%s': not %s%s%s; see rdmeter --help", row->name,
		    text, wants[row->kind],
		    !words[0] ? "" : is_enum(row) ? " " : " or one of ", words);
}

static bool is_word(const char *word, const char *text)
{
	size_t length = strlen(word);

	if (word[length - 1] == ':')
		return !strncasecmp(word, text, length) && text[length];
	return !strcasecmp(word, text);
}

int option_parse_value(const struct option_row *row, const char *text, uint64_t *num)
{
	char min[48], max[48];
	uint64_t amount;
	int rc;

	for (const struct option_word *w = row->words; w && w->word; w++) {
		if (is_word(w->word, text)) {
			*num = w->value;
			return 0;
		}
	}
	rc = parse_number(row, text, num);
	if (rc == -EINVAL)
		return told_bad(row, text);
	amount = row->kind == OPTION_RATE ? *num & ~UNITS_RATE_BITS : *num;
	if (rc == 0 && amount >= row->min && amount <= row->max)
		return 0;
	print_quantity(row, row->min, min, sizeof(min));
	print_quantity(row, row->max, max, sizeof(max));
	return fail(FAIL_USAGE, EINVAL, "--%s '%s': out of range; from %s to %s", row->name, text,
		    min, max);
}

const char *option_list_next(const char *list, char *out, size_t size)
{
	size_t n = strcspn(list, ",");

	snprintf(out, size, "%.*s", (int)n, list);
	return list[n] ? list + n + 1 : NULL;
}

/* Every word of a list has to be one of the row's; the first one's value is kept. */
static int parse_list(const struct option_row *row, const char *text, uint64_t *num)
{
	char word[32];
	bool first = true;

	for (const char *rest = text; rest;) {
		uint64_t value;
		int rc;

		rest = option_list_next(rest, word, sizeof(word));
		rc = option_parse_value(row, word, &value);
		if (rc)
			return rc;
		*num = first ? value : *num;
		first = false;
	}
	return 0;
}

static bool is_text(const struct option_row *row)
{
	return row->kind == OPTION_TEXT || row->kind == OPTION_FILE;
}

static int keep_text(struct option_value *v, const struct option_row *row, const char *text)
{
	if (v->count == OPTION_REPEATS)
		return fail(FAIL_USAGE, E2BIG, "--%s '%s': given more than %d times; drop some",
			    row->name, text, OPTION_REPEATS);
	v->texts[v->count++] = text;
	return 0;
}

/* All of a swept option's values are checked here; plan/sweep.c takes them from the text. */
static int parse_values(const struct option_row *row, const char *text, struct option_value *v)
{
	struct values values;
	int rc = values_parse(row, text, &values);

	if (rc)
		return rc;
	v->num = values.num[0];
	v->count = values.count;
	values_free(&values);
	return 0;
}

static int set_value(struct options *opt, const struct option_row *row, const char *text)
{
	struct option_value *v = option_value(opt, row);

	v->given = true;
	if (row->kind == OPTION_IGNORED)
		return 0;
	if (row->kind == OPTION_FLAG) {
		v->num = 1;
		return 0;
	}
	if (row->kind == OPTION_FILE && !text)
		text = "-";
	if (!*text)
		return fail(FAIL_USAGE, EINVAL, "--%s: its value is empty; give %s", row->name,
			    row->arg);
	v->text = text;
	if (row->kind == OPTION_TEXTS)
		return keep_text(v, row, text);
	if (row->kind == OPTION_ENUMS)
		return parse_list(row, text, &v->num);
	if (row->sweeps)
		return parse_values(row, text, v);
	return is_text(row) ? 0 : option_parse_value(row, text, &v->num);
}

int options_default(struct options *opt)
{
	memset(opt, 0, sizeof(*opt));
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		struct option_value *v = option_value(opt, row);
		int rc;

		v->text = row->dfl;
		if (!row->dfl || is_text(row))
			continue;
		rc = option_parse_value(row, row->dfl, &v->num);
		if (rc)
			return rc;
	}
	return 0;
}

/* What getopt could not make sense of. In a cluster such as -ab, optopt has the letter. */
static int told_unknown(int code, char *word)
{
	const struct option_row *row = optopt ? row_of(optopt) : NULL;

	if (code == ':' && row)
		return fail(FAIL_USAGE, EINVAL, "--%s: its value is missing; give %s", row->name,
			    row->arg);
	if (row && !takes_argument(row))
		return fail(FAIL_USAGE, EINVAL, "--%s takes no value; drop it", row->name);
	if (optopt && optopt < LONG_BASE)
		return fail(FAIL_USAGE, EINVAL, "-%c: no such option; see rdmeter --help", optopt);
	return fail(FAIL_USAGE, EINVAL,
		    "%s: no such option, or the beginning of several; see rdmeter --help", word);
}

static int parse_words(struct options *opt, int argc, char **argv, const struct getopt_tables *t)
{
	int code, rc;

	optind = 0; /* makes glibc start afresh, so that tests can parse twice */
	opterr = 0;
	while ((code = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1) {
		if (code == '?' || code == ':')
			return told_unknown(code, argv[optind - 1]);
		rc = set_value(opt, row_of(code), optarg);
		if (rc)
			return rc;
	}
	return 0;
}

/* A stored document has everything in it but the form to print it in. */
static int check_report(struct options *opt)
{
	if (opt->command != COMMAND_REPORT)
		return !opt->format.given ? 0 :
		       fail(FAIL_USAGE, EINVAL, "--format without report: only a stored document "
			    "is printed in another form; drop it, or see --json, --csv and --hgrm");
	for (size_t i = 0; i < option_row_count; i++)
		if (option_value(opt, &option_rows[i])->given &&
		    option_rows[i].group != GROUP_IGNORED &&
		    option_value(opt, &option_rows[i]) != &opt->format)
			return fail(FAIL_USAGE, EINVAL, "--%s with report: it prints what was "
				    "measured and measures nothing; drop one of them",
				    option_rows[i].name);
	return opt->file ? 0 : fail(FAIL_USAGE, EINVAL, "report: of which document? give the FILE "
				    "that --json=FILE wrote, or - for standard input");
}

/* Whoever serves prints no results: they are the client's. */
static int check_serve(struct options *opt)
{
	const struct {
		const char *name;
		const struct option_value *value;
	} outputs[] = {
		{ "json", &opt->json }, { "csv", &opt->csv }, { "hgrm", &opt->hgrm },
		{ "json-stream", &opt->json_stream }, { "print", &opt->print },
		{ "samples", &opt->samples },
	};

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		if (outputs[i].value->given && opt->command == COMMAND_SERVE)
			return fail(FAIL_USAGE, EINVAL, "--%s without a host: the client has the "
				    "results; give it there", outputs[i].name);
	return 0;
}

/* Once all are parsed: --quiet may stand behind them. */
static void note_ignored(struct options *opt)
{
	for (size_t i = 0; i < option_row_count && !opt->quiet.given; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->kind == OPTION_IGNORED && option_value(opt, row)->given)
			note("-%c is ignored: %s", row->letter, row->help);
	}
}

/* A list of devices is asked for with the options of the control connection. */
static bool suits_devices(const struct option_row *row)
{
	return row->group == GROUP_IGNORED || !strcmp(row->name, "script") ||
	       !strcmp(row->name, "quiet") ||
	       (row->group == GROUP_CONTROL && row->scope != SCOPE_SERVER);
}

static int check_devices(struct options *opt)
{
	if (opt->command != COMMAND_DEVICES)
		return !opt->script.given ? 0 :
		       fail(FAIL_USAGE, EINVAL, "--script without devices: only the list of "
			    "devices has that form; drop it, or add devices");
	for (size_t i = 0; i < option_row_count; i++)
		if (option_value(opt, &option_rows[i])->given && !suits_devices(&option_rows[i]))
			return fail(FAIL_USAGE, EINVAL, "--%s with devices: it lists every device "
				    "and measures nothing; drop one of them", option_rows[i].name);
	return 0;
}

/*
 * The command's word is taken, so that a host comes next. Without either it is to serve, unless
 * an operation is asked for that needs no host.
 */
static enum command take_command(int argc, char **argv, const char *literal, const char *op)
{
	static const struct {
		const char *word;
		enum command command;
	} words[] = {
		{ "serve", COMMAND_SERVE }, { "devices", COMMAND_DEVICES },
		{ "report", COMMAND_REPORT },
	};

	if (optind == argc)
		return op_list_find(op, true) ? COMMAND_MEASURE : COMMAND_SERVE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (literal == argv[optind] || strcmp(argv[optind], words[i].word))
			continue;
		optind++;
		return words[i].command;
	}
	return COMMAND_MEASURE;
}

/* What follows "--" is a host, also when it is called serve: literal is the first such word. */
static int choose_command(struct options *opt, int argc, char **argv, const char *literal)
{
	int rc;

	if (opt->help.given) {
		opt->command = COMMAND_HELP;
		return 0;
	}
	if (opt->version.given) {
		opt->command = COMMAND_VERSION;
		return 0;
	}
	opt->command = take_command(argc, argv, literal, opt->op.text);
	if (optind < argc && opt->command == COMMAND_SERVE)
		return fail(FAIL_USAGE, EINVAL, "'%s': serve takes no host; drop one of them",
			    argv[optind]);
	if (opt->command == COMMAND_REPORT)
		opt->file = optind < argc ? argv[optind++] : NULL;
	else
		opt->host = optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		return fail(FAIL_USAGE, EINVAL, "'%s': one %s only; '%s' is it already",
			    argv[optind], opt->file ? "document" : "host", argv[optind - 1]);
	if (opt->host && !*opt->host)
		return fail(FAIL_USAGE, EINVAL, "the host's name is empty");
	rc = check_devices(opt);
	if (!rc)
		rc = check_serve(opt);
	return rc ? rc : check_report(opt);
}

int options_parse(struct options *opt, int argc, char **argv)
{
	struct getopt_tables tables;
	int rc = options_default(opt), i;
	const char *literal;

	if (!rc)
		rc = argfile_expand(&argc, &argv);
	if (rc)
		return rc;
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strncmp(argv[i], "--", 2))
			normalize(argv[i]);
	literal = i + 1 < argc ? argv[i + 1] : NULL; /* getopt moves words, not what they are */
	build_tables(&tables);
	rc = parse_words(opt, argc, argv, &tables);
	free_tables(&tables);
	if (!rc)
		note_ignored(opt);
	return rc ? rc : choose_command(opt, argc, argv, literal);
}
