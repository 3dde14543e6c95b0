# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The record of instructions a message: results/instructions.json, and what exceeds it."""
import json
import platform

import counting

ALLOWED = 1.02 # what a change may add before it is said


def built_by(args):
    """Compiler and flags; their order means nothing."""
    compiler, _, flags = (args.compiler or 'unknown').partition(', ')
    return {'compiler': compiler, 'flags': ' '.join(sorted(flags.split())),
            'machine': platform.machine()}


def read(path):
    if not path:
        return None
    try:
        with open(path) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def write(path, args, counted):
    with open(path, 'w') as f:
        json.dump({**built_by(args), 'unit': 'instructions a message in the loops',
                   'rows': {k: round(v, 2) for k, v in sorted(counted.items()) if v}}, f, indent=1)
        f.write('\n')


def why_not(args, record):
    """Why there is nothing to compare with, or None."""
    mine = built_by(args)
    if not record:
        return 'there is no record'
    differs = [f'{key} {mine[key]!r}, and the record is of {record.get(key)!r}'
               for key in mine if mine[key] != record.get(key)]
    return '; '.join(differs) or None


def compare(record, counted):
    """Lines of what to say, and how many rows exceed the record."""
    lines, more = [], 0
    for name, n in counted.items():
        was = record['rows'].get(name)
        if n is None:
            lines.append(f'{name}: no debugging information: not counted')
        elif was is None:
            lines.append(f'{name}: {n:.2f} instructions, not in the record')
        elif n > was * ALLOWED:
            lines.append(f'{name}: {n:.2f} instructions, {100 * (n / was - 1):+.1f} % '
                         f'of the {was:.2f} recorded: EXCEEDS THE RECORD')
            more += 1
        elif n < was / ALLOWED:
            lines.append(f'{name}: {n:.2f} instructions, {100 * (n / was - 1):+.1f} % '
                         f'of the {was:.2f} recorded: renew it, `make bench-record`')
    return lines, more


def count_all(bench, entries):
    """What can be counted to the instruction: nothing that waits for another process."""
    return counting.loops(bench, [e for e in entries if exact(*e[1:])])


def exact(group, side, tool):
    """Where there is a receiver, either side polls for as long as the other one takes."""
    return len(group.sides) == 1 and group.bare != 'both' and counting.countable(group, side, tool)
