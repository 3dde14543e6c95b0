/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Quantities as text. Parsing is strict: the whole string must be the quantity. No sign, no blank,
 * no base prefix, no exponent, no locale. Errors, the same everywhere:
 *
 * -EINVAL  not in the grammar (wins over -ERANGE: junk after too large a number is junk)
 * -ERANGE  in the grammar, but does not fit 64 bits
 *
 * The result is stored only on success (0). Nothing is printed: the caller knows the option.
 */

/* A count: DIGITS. */
int units_parse_count(const char *s, uint64_t *v);

/*
 * A size in bytes: DIGITS, then nothing or one of K M G T (2^10, 2^20, 2^30, 2^40; lower case
 * too), alone or written out as Ki or KiB. KB is refused: to many people it is 1,000 bytes.
 */
int units_parse_size(const char *s, uint64_t *v);

/*
 * A time in nanoseconds: DIGITS[.DIGITS], then nothing (seconds) or one of s ms us ns min.
 * The arithmetic is decimal and exact: "0.3" is 300,000,000. A time that is not a whole number
 * of nanoseconds ("1.5ns") is -EINVAL, not rounded.
 */
int units_parse_time(const char *s, uint64_t *ns);

/*
 * A rate: DIGITS[.DIGITS], then nothing or one of k M G T (10^3, 10^6, 10^9, 10^12; K too), then
 * nothing or msg/s (messages), b/s or bit/s (bits), or B/s (bytes, which may also have Ki Mi Gi
 * Ti). In thousandths of a message, or of a bit with UNITS_RATE_BITS set. What is not a whole
 * number of them, or has more than 11 digits after the point, is -EINVAL.
 */
#define UNITS_RATE_BITS (UINT64_C(1) << 63)
int units_parse_rate(const char *s, uint64_t *rate);

/* Room for anything that the functions below write, with its terminating NUL. */
#define UNITS_TEXT_SIZE 32

/*
 * These write into @buf of @n bytes (UNITS_TEXT_SIZE is always enough, less truncates) and return
 * @buf, so that the call can be an argument of printf.
 */

/*
 * Bytes, exactly: in the largest binary unit in which the number has no digit or one after the
 * point, which can only be a 5: "64 KiB", "1.5 MiB", "1000 B", "1025 KiB".
 */
const char *units_size(char *buf, size_t n, uint64_t v);

/* Nanoseconds, rounded to three significant digits below 1,000 s: "1.25 us", "500 ms", "2 s". */
const char *units_time(char *buf, size_t n, uint64_t ns);

/* What units_parse_rate() gives, as it would be given: "1k", "0.5", "10Gb/s". */
const char *units_rate_asked(char *buf, size_t n, uint64_t rate);

/*
 * Messages in 10^9 s, rounded to 15 significant digits: as many survive in the floating-point
 * numbers of JSON, so that a rate that is read again is the one that was measured.
 */
uint64_t units_rate_round(unsigned __int128 rate);

/* Messages in 10^9 s as a rate: "1000/s", "0.5/s", "19073.486328125/s". */
const char *units_rate(char *buf, size_t n, uint64_t rate);

/* A count with thousands separators: "1,234,567". */
const char *units_count(char *buf, size_t n, uint64_t v);

#endif
