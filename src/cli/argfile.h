/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * @FILE on the command line: options from a file, one a line, in the place of the word.
 *
 *   # a comment, also after a blank behind an option
 *   --size 2:8M:x2
 *   --op=write,read
 *   --bind "an address"        quotes, double or single, are taken off; nothing escapes them
 *
 * A line is an option and its value, if it has one. An @FILE inside a file is refused, and so is
 * anything that does not begin with '-'.
 */
#ifndef RDMETER_CLI_ARGFILE_H
#define RDMETER_CLI_ARGFILE_H

/*
 * Replaces *argc and *argv when a word before "--" begins with @; the new ones are kept until the
 * process ends, as argv is. 0, or -errno told.
 */
int argfile_expand(int *argc, char ***argv);

#endif
