#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""results/bench.md, and the rows of it that the README shows.

published.py RESULTS README: exits 1, and says how they differ, when the README's rows are not those
of the results, or when the results have a row that is not held and no reason for it.
"""
import re
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
a program can do to keep the same window full; its receiver looks at its queue all the time, which
costs the sender more than a receiver's own work, and which rdmeter's does not.

'''

# Of a claim that is not held, down to so many percent: what the limit is, and what shows it.
REASONS = (
    (r'^4,096 queue pairs', 55,
     'what a visit to a queue pair needs is not in a near cache: its requests (16 of 128 B, 8 '
     "MB for all), the lane's part of it and the device's, where a core has 1 MB. The next "
     "visit's are fetched while this one posts, which took 23.3 ns to 11.2. With `--slots 1 "
     '--stamp off`, one request for each queue pair (0.5 MB), 4,096 take 9.6 ns and one 8.8; '
     "with 16 requests 10.0 and 6.8: the rest is the requests' way from the cache that all "
     'cores share.'),
    (r'^(write|read), signal 1, stamp all: of bare', 42,
     'a clock read for each message takes 9.8 ns by itself (its row is above), and a message '
     "of bare's 6.9: one after the other they are 16.7, 41 %. What rdmeter takes, 15.4, is "
     "less because a part of both overlaps; adding up a poll's samples in registers first "
     'changed nothing.'),
    (r'--post-api wr: of legacy', 11,
     'by calls the device takes 266 instructions a message where it takes 78 by a list, in every '
     'program. What rdmeter adds is 91, as it looks up for each message which call its operation '
     'needs and how its data go; bare, which knows that it posts writes, adds 61, and 38 by a '
     'list, as rdmeter does: the ratio of both ways is a twentieth less here.'),
    (r'^(write|read|fadd), lists of 16: of perftest', 95,
     'as fast, by what rounds differ: rdmeter has 4.8 instructions of its own a message and '
     'perftest 5.1 to 6.0, beside 18.5 (write, read) and 51 (fadd) of the device.'),
    (r'^cas, signal 1: of perftest', 150,
     'rdmeter has 51 instructions of its own a message and perftest 172, but both wait for the '
     "device, whose swap hangs on the one before: 113 more, and 9.4 of bare's nanoseconds."),
    (r'^cas, lists of 16: of perftest', 65,
     'perftest posts the same operands each time, so that no swap after the first changes '
     'anything, and looks at no result; rdmeter writes both operands of each message and '
     'compares what came back. Instructions a message, program and device, by '
     '`make bench-instructions`: rdmeter 19.2 and 53.5; bare, which writes the operands and looks at '
     'nothing, 9.9 and 53.5; perftest 5.9 and 50.8. To write two operands, and to load and '
     'compare one result in a loop, is 9 of them.'),
)

UNEXPLAINED = 'not explained'


def reasons(rows):
    """A line for each row that is not held."""
    lines = []
    for row in (r for r in rows if r.held is False):
        ratio = re.match(r'[\d.]+', row.ratio)
        why = [text for name, least, text in REASONS
               if re.search(name, row.what) and ratio and float(ratio.group()) >= least]
        lines.append(f'* {row.what}: {why[0] if why else UNEXPLAINED}')
    return ['## What is not held, and why', '', *lines, ''] if lines else []


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
             '## What is claimed', '', *lines_of(claims.table(rows)), *reasons(rows)]
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
    with open(results) as f:
        open_rows = [line for line in f.read().splitlines() if line.endswith(UNEXPLAINED)]
    if open_rows:
        print(f'{results}:', *open_rows, 'a line of REASONS in published.py is to say why', sep='\n')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
