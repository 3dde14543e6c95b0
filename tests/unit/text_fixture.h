/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results made by hand, and their text. */
#ifndef TESTS_TEXT_FIXTURE_H
#define TESTS_TEXT_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

#define TEXT(field, text) snprintf(field, sizeof(field), "%s", text)
#define SECOND UINT64_C(1000000000)

struct fixture {
	struct result result;
	struct measure client, server;
};

int open_fixture(void **state);
int close_fixture(void **state);

/* The point of that command line. */
void plan(struct fixture *f, const char *words);

/* count messages in length ns; 20 before them and 10 after. */
void fill_measure(struct measure *m, uint64_t count, uint64_t length);
/* A counter that moved in the window. */
void move(struct measure *m, const char *name, uint64_t before, uint64_t after);

char *result_text(const struct fixture *f, bool utf8);

/* At most 100. In characters: what is not the rest of a UTF-8 sequence. */
void check_columns(const char *text);

/* Checks and frees text, whose lines may be long or must not be. */
void check_golden(char *text, const char *name);
void check_golden_long(char *text, const char *name);

void expect(const char *text, const char *part);
void expect_no(const char *text, const char *part);

/* The line behind the one that begins with the header "size", and one between: the values. */
const char *values_line(const char *text, char *line, size_t size);

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

#endif
