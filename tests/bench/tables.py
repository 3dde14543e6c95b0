# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The long tables, and any table for a terminal."""
import statistics

TIMES_NOTE = (
    'messages/s: what each reports, over its own window. ns: CPU time of a message, least and most '
    'in parentheses. Of bare, of perftest: rdmeter\'s rate as a part of theirs, the median of the '
    'rounds, by CPU time; then by what they report. p50: reported latency; of rdmeter and perftest '
    'to 10 ns. Medians.')
INSTRUCTIONS_NOTE = (
    'instructions a message, without those of the device, and the device\'s own behind the plus. '
    'Of bare, of perftest: all of theirs over all of rdmeter\'s. Polls while another process is '
    'waited for count too: exact for writes, reads and atomics, rough where there is a receiver, '
    'not given for a ping-pong.')


def label(group, side, variant):
    words = [group.name]
    if len(group.sides) > 1:
        words.append('sender' if side == 'client' else 'receiver')
    if variant:
        words.append(variant)
    return ', '.join(words)


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def values(tool, key):
    return [run.get(key) for run in tool.runs] if tool else []


def rate(tool):
    m = median(values(tool, 'rate'))
    if m is None:
        return '-'
    return f'{m / 1e6:.2f} M' if m >= 1e5 else f'{m:,.0f}'


def spread(tool):
    got = [v for v in values(tool, 'cpu_ns') if v is not None]
    if not got:
        return '-'
    return f'{statistics.median(got):.2f} ({min(got):.2f}-{max(got):.2f})'


def quotient(above, below):
    """Rounds belong together: whatever else ran, both had some of it."""
    pairs = [a / b for a, b in zip(above, below) if a and b]
    return pairs


def percent(above, below, with_spread=True):
    pairs = quotient(above, below)
    if not pairs:
        return '-'
    text = f'{100 * statistics.median(pairs):.0f} %'
    if with_spread:
        text += f' ({100 * min(pairs):.0f}-{100 * max(pairs):.0f})'
    return text


def p50(tool):
    m = median(values(tool, 'p50'))
    return '-' if m is None else f'{m:.0f}'


def times_row(group, side, tool, others):
    bare, perftest = others.get('bare'), others.get('perftest')
    mine = values(tool, 'cpu_ns')
    return [
        label(group, side, tool.name), rate(tool), rate(bare), rate(perftest), spread(tool),
        spread(bare), spread(perftest), percent(values(bare, 'cpu_ns'), mine),
        percent(values(perftest, 'cpu_ns'), mine),
        percent(values(tool, 'rate'), values(bare, 'rate'), False),
        percent(values(tool, 'rate'), values(perftest, 'rate'), False),
        p50(tool), p50(bare), p50(perftest),
    ]


def split(tools):
    others = {t.name: t for t in tools if t.name in ('bare', 'perftest')}
    return [t for t in tools if t.name not in others], others


def build(rows, columns, cells, note):
    """(columns, rows, note); a row that failed says so in every cell."""
    body = []
    for group, side, tools in rows:
        if tools is None:
            body.append([label(group, side, '')] + ['failed'] * (len(columns) - 1))
            continue
        mine, others = split(tools)
        body += [cells(group, side, tool, others) for tool in mine]
    return columns, body, note


def times(rows):
    return build(rows, ['instance', 'rdmeter messages/s', 'bare', 'perftest', 'rdmeter ns', 'bare',
                        'perftest', 'of bare', 'of perftest', 'reported', 'reported',
                        'p50 rdmeter', 'bare', 'perftest'], times_row, TIMES_NOTE)


def counts(tool):
    if not tool or tool.count is None:
        return '-'
    own, device = tool.count
    return f'{own:.1f} + {device:.1f}'


def instructions_row(group, side, tool, others):
    def part(other):
        if not other or other.count is None or tool.count is None or not sum(tool.count):
            return '-'
        return f'{100 * sum(other.count) / sum(tool.count):.0f} %'

    bare, perftest = others.get('bare'), others.get('perftest')
    return [label(group, side, tool.name), counts(tool), counts(bare), counts(perftest),
            part(bare), part(perftest)]


def instructions(rows):
    return build(rows, ['instance', 'rdmeter', 'bare', 'perftest', 'of bare', 'of perftest'],
                 instructions_row, INSTRUCTIONS_NOTE)


def head_text(head):
    return ''.join(f'{name:<10}{value}\n' for name, value in head)


def as_text(head, table):
    columns, body, note = table
    width = [max(len(row[i]) for row in [columns, *body]) for i in range(len(columns))]
    lines = []
    for row in [columns, *body]:
        lines.append(row[0].ljust(width[0]) + ''.join(
            '  ' + cell.rjust(w) for cell, w in zip(row[1:], width[1:])))
    return head_text(head) + '\n' + '\n'.join(lines + ['', note, ''])
