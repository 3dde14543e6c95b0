/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * argv -> struct options. Every option is one row of options.def; this header turns the rows into
 * the fields of a struct and into a table that others walk (help, manual page, wire).
 */
#ifndef RDMETER_CLI_OPTIONS_H
#define RDMETER_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,
	OPTION_COUNT,
	OPTION_SIZE,
	OPTION_TIME,
	OPTION_RATE, /* num as units_parse_rate() has it; in a point messages in 10^9 s */
	OPTION_ENUM,
	OPTION_ENUMS, /* one word or several with commas; num is the first's value */
	OPTION_TEXT,
	OPTION_FILE, /* --name=FILE, or --name alone: "-", standard output */
	OPTION_TEXTS, /* may be given several times, and each counts */
	OPTION_IGNORED,
};

enum option_scope {
	SCOPE_LOCAL,
	SCOPE_PUSH,
	SCOPE_PEER,
	SCOPE_SERVER,
};

enum option_group {
	GROUP_TEST,
	GROUP_QUEUE,
	GROUP_MEMORY,
	GROUP_WHERE,
	GROUP_CONTROL,
	GROUP_OUTPUT,
	GROUP_IGNORED,
	GROUP_COUNT,
};

enum { TEST_LAT, TEST_BW };
enum { DIRECTION_OUT, DIRECTION_IN, DIRECTION_BOTH };
enum { FORMAT_TEXT, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_HGRM, FORMAT_JSON };
enum { ATOMIC_QP, ATOMIC_SHARED };
enum { MR_ONE, MR_QP };
enum { WINDOW_AUTO, WINDOW_1, WINDOW_2 };
enum { POST_LEGACY, POST_WR };
enum { RELAXED_OFF, RELAXED_ON, RELAXED_AUTO };
enum { TOS_DEFAULT = 256 }; /* what the host sets */
enum { ARRIVAL_FIXED, ARRIVAL_POISSON };

/* Where buffers lie: rows of verbs/memory.c. */
enum { MEMORY_MALLOC, MEMORY_HUGE2M, MEMORY_HUGE1G, MEMORY_FILE, MEMORY_SHM, MEMORY_UDMABUF };

/* A word that ends with a colon is followed by a text, such as a path, which must not be empty. */
struct option_word {
	const char *word; /* NULL ends a list of words */
	uint64_t value;
};

#define OPTION_REPEATS 16 /* times that an option of the kind TEXTS may be given */

/* One option as it was given: the last of several wins, unless each counts. */
struct option_value {
	bool given;
	uint64_t num;     /* counts, bytes, nanoseconds, the value of a word; 1 for a flag */
	const char *text; /* as typed, or the default's text; NULL when neither */
	const char *texts[OPTION_REPEATS]; /* TEXTS: as typed, in that order */
	size_t count; /* of them; of a swept option its values, of which num is the first */
};

enum command {
	COMMAND_SERVE,
	COMMAND_MEASURE,
	COMMAND_DEVICES,
	COMMAND_REPORT,
	COMMAND_HELP,
	COMMAND_VERSION,
};

struct options {
#define OPTION(field, ...) struct option_value field;
#include "cli/options.def"
#undef OPTION
	enum command command;
	const char *host; /* NULL for a server, and for this host's devices */
	const char *file; /* a stored document, for a report; else NULL */
};

struct option_row {
	const char *name;
	const char *aliases; /* comma separated, or NULL */
	const char *dfl;
	const char *arg;
	const char *help;
	const char *manual;
	const struct option_word *words;
	uint64_t min, max;
	size_t offset; /* of its struct option_value in struct options */
	enum option_kind kind;
	enum option_scope scope;
	enum option_group group;
	int letter; /* 0 for none */
	bool sweeps; /* takes several values (cli/values.h) */
};

/* In options.def: the kind of a row that takes several values. */
#define OPTION_SWEPT(kind_) OPTION_##kind_, .sweeps = true

extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const char *const option_group_titles[GROUP_COUNT];

/* The value of a row inside opt. */
struct option_value *option_value(struct options *opt, const struct option_row *row);

/* The word that stands for value, or NULL when words has none. */
const char *option_word(const struct option_word *words, uint64_t value);

/*
 * The next of a list's words: copies it to out and returns what follows it, NULL after the last.
 * An empty word is a word.
 */
const char *option_list_next(const char *list, char *out, size_t size);

/*
 * Parses one value by its row's kind, words and range. Returns 0, or -EINVAL after having told
 * what is wrong with it.
 */
int option_parse_value(const struct option_row *row, const char *text, uint64_t *num);

/* Fills opt with every option's default, none given. 0, or -EINVAL told. */
int options_default(struct options *opt);

/*
 * Parses the command line; opt is filled whole, defaults included. The strings stay argv's, or
 * those of an @FILE (cli/argfile.h).
 * Returns 0, or -EINVAL after having told why.
 */
int options_parse(struct options *opt, int argc, char **argv);

#endif
