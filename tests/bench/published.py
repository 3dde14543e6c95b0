#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""results/bench.md, and the rows of it that the README shows.

published.py RESULTS README: exits 1, and says how they differ, when the README's rows are not those
of the results.
"""
import sys

sys.dont_write_bytecode = True # not into the source tree
import claims
import tables

MATTER = ( # what the README shows
    'write, signal 1: of perftest',
    'write, signal 100: of bare',
    'write, lists of 16: of bare',
    'read latency, p50: of perftest and a clock read',
    'set-up of 1,024 queue pairs, exec to first post: of perftest',
)
BEGIN, END = '<!-- rows of results/bench.md: make bench-results -->\n', '<!-- end of rows -->\n'

HEAD = '''# What a message costs

Command: `make bench-results`. Everything runs on the null device of `tests/fakeverbs`, where an
operation takes no time: what is left is the program. "bare" is `tests/bench/bare`, the least that
a program can do to keep the same window full.

'''


def lines_of(table):
    columns, body, note = table
    lines = ['| ' + ' | '.join(columns) + ' |', '|---' + '|---:' * (len(columns) - 1) + '|']
    return lines + ['| ' + ' | '.join(row) + ' |' for row in body] + ['', note, '']


def instructions(record):
    rows = [[name, f'{n:.1f}'] for name, n in record['rows'].items()]
    note = (f'Counted by callgrind; {record["compiler"]}, {record["flags"]}, {record["machine"]}. '
            'Checked by `make bench-instructions`.')
    return ['instance', 'instructions a message'], rows, note


def write(path, head, rows, long, record):
    parts = [HEAD + '\n'.join(f'* {name}: {value}' for name, value in head), '',
             '## What is claimed', '', *lines_of(claims.table(rows))]
    if record:
        parts += ['## Instructions of the loops', '', *lines_of(instructions(record))]
    if long:
        parts += ['## All instances', '', *lines_of(long)]
    with open(path, 'w') as f:
        f.write('\n'.join(parts))


def wanted_block(results):
    """What the README is to have between its marks."""
    with open(results) as f:
        lines = f.read().splitlines()
    at = lines.index('| ' + ' | '.join(claims.COLUMNS) + ' |')
    rows = [line for what in MATTER for line in lines if line.startswith(f'| {what} |')]
    if len(rows) != len(MATTER):
        raise SystemExit(f'{results} does not have the {len(MATTER)} rows that matter')
    return '\n'.join([BEGIN, *lines[at:at + 2], *rows, '']) + '\n' + END


def split(readme):
    with open(readme) as f:
        text = f.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f'{readme} has not one place for the rows of the results')
    first, last = text.index(BEGIN), text.index(END) + len(END)
    return text[:first], text[first:last], text[last:]


def renew_readme(readme, results):
    before, _, after = split(readme)
    with open(readme, 'w') as f:
        f.write(before + wanted_block(results) + after)


def main():
    results, readme = sys.argv[1:]
    have, want = split(readme)[1], wanted_block(results)
    if have != want:
        print(f'{readme} has\n{have}\nand {results} wants\n{want}\n`make bench-results` renews both')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
