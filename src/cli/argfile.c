/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "cli/argfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

#define LINE 4096
#define WORDS_MOST 4096 /* of a whole command line: a file that never ends has to */
#define BLANKS " \t\r\n"

/* What stays in use after parsing, so that it is found again: options point into it. */
static struct words {
	char **word; /* NULL at its end, as in argv */
	int count;
	struct words *before;
} *kept;

struct place {
	const char *file;
	unsigned int line;
};

static int add(struct words *w, char *word)
{
	char **grown;

	if (w->count == WORDS_MOST) {
		free(word);
		return fail(FAIL_USAGE, E2BIG, "more than %d words; is the @file one of options?",
			    WORDS_MOST);
	}
	grown = realloc(w->word, (size_t)(w->count + 2) * sizeof(*grown));
	if (!grown || !word) {
		free(word);
		w->word = grown ? grown : w->word;
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the command line");
	}
	w->word = grown;
	w->word[w->count++] = word;
	w->word[w->count] = NULL;
	return 0;
}

static int told(const struct place *p, const char *what, const char *text)
{
	return fail(FAIL_USAGE, EINVAL, "@%s, line %u: '%s': %s", p->file, p->line, text, what);
}

/* A comment begins at a # that begins the line or follows a blank, outside of quotes. */
static void cut_comment(char *line)
{
	char quote = '\0';

	for (char *c = line; *c; c++) {
		if (quote)
			quote = *c == quote ? '\0' : quote;
		else if (*c == '"' || *c == '\'')
			quote = *c;
		else if (*c == '#' && (c == line || strchr(BLANKS, c[-1])))
			*c = '\0';
		if (!*c)
			break;
	}
}

/* The blanks around text go; the result lies inside it. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, BLANKS);
	n = strlen(text);
	while (n && strchr(BLANKS, text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* Takes off the quotes around a value. NULL, told, when they are not just around it. */
static char *unquote(const struct place *p, char *value)
{
	size_t n = strlen(value);

	if (*value != '"' && *value != '\'')
		return value;
	if (n < 2 || strchr(value + 1, *value) != value + n - 1) {
		told(p, "a quote that is not closed at the end of the line", value);
		return NULL;
	}
	value[n - 1] = '\0';
	return value + 1;
}

/* "--name=value" and "-s64" are one word; "--name value" and "-s value" are two. */
static int add_line(struct words *w, const struct place *p, char *line)
{
	char *option, *value, *equals;
	int rc;

	cut_comment(line);
	option = trim(line);
	if (!*option)
		return 0;
	if (*option == '@')
		return told(p, "a file of options cannot name another", option);
	if (*option != '-' || !strcmp(option, "--") || !strcmp(option, "-"))
		return told(p, "not an option; write one a line, as --size 64", option);
	value = option + strcspn(option, BLANKS);
	equals = strncmp(option, "--", 2) ? NULL : strchr(option, '=');
	if (equals && equals < value) {
		char *word;

		value = unquote(p, equals + 1);
		if (!value)
			return -EINVAL;
		*equals = '\0';
		return asprintf(&word, "%s=%s", option, value) < 0 ? add(w, NULL) : add(w, word);
	}
	if (*value)
		*value++ = '\0';
	value = unquote(p, trim(value));
	if (!value)
		return -EINVAL;
	rc = add(w, strdup(option));
	return rc || !*value ? rc : add(w, strdup(value));
}

static int add_file(struct words *w, const char *name)
{
	struct place p = { .file = name };
	FILE *file = fopen(name, "re");
	char line[LINE];
	int rc = 0;

	if (!file)
		return fail(FAIL_USAGE, errno, "@%s: %s; a word that begins with @ names a file of "
			    "options", name, strerror(errno));
	while (!rc && fgets(line, sizeof(line), file)) {
		p.line++;
		if (strlen(line) == sizeof(line) - 1)
			rc = fail(FAIL_USAGE, EINVAL, "@%s, line %u: longer than %d bytes; is it a "
				  "file of options?", name, p.line, LINE - 2);
		else if (p.line > 10 * WORDS_MOST)
			rc = fail(FAIL_USAGE, EINVAL, "@%s: more than %d lines; is it a file of "
				  "options?", name, 10 * WORDS_MOST);
		else
			rc = add_line(w, &p, line);
	}
	if (!rc && ferror(file))
		rc = fail(FAIL_USAGE, errno, "@%s: reading it: %s", name, strerror(errno));
	fclose(file);
	return rc;
}

static int expand(struct words *w, int argc, char **argv)
{
	bool literal = false;
	int rc = 0;

	for (int i = 0; i < argc && !rc; i++) {
		literal = literal || (i && !strcmp(argv[i], "--"));
		if (i && !literal && argv[i][0] == '@')
			rc = add_file(w, argv[i] + 1);
		else
			rc = add(w, strdup(argv[i]));
	}
	return rc;
}

int argfile_expand(int *argc, char ***argv)
{
	struct words *w;
	bool any = false;
	int rc;

	for (int i = 1; i < *argc && strcmp((*argv)[i], "--"); i++)
		any = any || (*argv)[i][0] == '@';
	if (!any)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the command line");
	w->before = kept;
	kept = w;
	rc = expand(w, *argc, *argv);
	*argc = w->count;
	*argv = w->word;
	return rc;
}
