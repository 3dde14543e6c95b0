# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The short table: what is claimed of rdmeter, a row each, and whether this machine holds it."""
import os
import statistics
import sys
from dataclasses import dataclass
from typing import Optional

import single
from programs import Failed
from rows import ALL, GROUPS

LONG = float(os.environ.get('BENCH_LONG', 1e9)) # messages of the long run for memory

# Of each way of posting: rate as a part of bare's, and of perftest's, at least.
LEAST = {'signal 1': (0.75, 1.6), 'signal 100': (0.80, 2.0), 'lists of 16': (0.85, 1.0)}
LEAST_STAMP_ALL = 0.45
SAME = 0.95 # two ways that are to be as fast as each other
FLAT = 1.05 # memory; the same run twice differs by up to 4 %, by what the loader maps where
OPERATIONS = ('write', 'read', 'cas', 'fadd', 'send')

NOTE = (
    'Rates: nanoseconds are CPU time of a message; ratio is by CPU time and decides, reported is by '
    'the messages/s that each tells, over its own window; both the median of the rounds. On an idle '
    'machine they agree; on a busy one only the first means anything. Times without a ratio by CPU '
    'time are wall time and want an idle machine.')


@dataclass
class Row:
    what: str
    mine: str = '-'
    other: str = '-'
    ratio: str = '-'
    reported: str = '-'
    target: str = '-'
    held: Optional[bool] = None # None: there is nothing to judge
    why: str = ''

    def cells(self):
        verdict = {True: 'yes', False: 'NO', None: self.why or '-'}[self.held]
        return [self.what, self.mine, self.other, self.ratio, self.reported, self.target, verdict]


COLUMNS = ['what', 'rdmeter', 'reference', 'ratio', 'reported', 'target', 'held']


def quotients(above, below, key):
    """Rounds belong together: whatever else ran, both had some of it."""
    pairs = [a[key] / b[key] for a, b in zip(above, below) if a.get(key) and b.get(key)]
    return statistics.median(pairs) if pairs else None


def percent(x):
    return '-' if x is None else f'{100 * x:.0f} %'


def ns_of(runs):
    got = [r['cpu_ns'] for r in runs if r.get('cpu_ns') is not None]
    return f'{statistics.median(got):.2f} ns' if got else '-'


def rate_row(what, mine, theirs, least):
    """mine, theirs: rounds with rate and cpu_ns."""
    ratio = quotients(theirs, mine, 'cpu_ns')
    return Row(what, ns_of(mine), ns_of(theirs), percent(ratio),
               percent(quotients(mine, theirs, 'rate')), f'>= {100 * least:.0f} %',
               None if ratio is None else ratio >= least, '' if ratio else 'no figure')


# ---- the rates of the loops


def wanted_variants(group):
    """What the short table has of a group: the default, and stamp all where it is not that."""
    operation, _, way = group.name.partition(', ')
    if operation not in OPERATIONS or way not in LEAST or group.counted_only:
        return ()
    return group.variants[:1] + tuple(v for v in group.variants[1:] if v[1] == ALL
                                      and way == 'signal 1')


def rate_rows(group, side, tools):
    runs = {t.name: t.runs for t in tools}
    name = group.name
    if len(group.sides) > 1:
        name += ', sender' if side == 'client' else ', receiver'
    bare, perftest = LEAST[group.name.partition(', ')[2]]
    for i, (variant, _) in enumerate(wanted_variants(group)):
        if i == 0:
            yield rate_row(f'{name}: of bare', runs[variant], runs['bare'], bare)
            if 'perftest' in runs:
                yield rate_row(f'{name}: of perftest', runs[variant], runs['perftest'], perftest)
            else:
                yield Row(f'{name}: of perftest', ns_of(runs[variant]),
                          target=f'>= {100 * perftest:.0f} %', why='no perftest')
        elif side == 'client':
            yield rate_row(f'{name}, {variant}: of bare', runs[variant], runs['bare'],
                           LEAST_STAMP_ALL)


# ---- the others


def ns(x, unit=1, word='ns'):
    return '-' if x is None else f'{x / unit:,.1f} {word}'


def ms(x):
    return ns(x, 1e6, 'ms')


def latency_row(got, what, reads=1):
    """The p50, which may be perftest's and so many ordered clock reads: half of one in a half."""
    mine, theirs = got['rdmeter']['p50'], got['perftest']
    most = theirs + reads * got['ordered'] if theirs else None
    allowed = 'a clock read' if reads == 1 else 'half a clock read'
    return Row(f'{what} latency, p50: of perftest and {allowed}', ns(mine), ns(most),
               percent(mine / most) if most else '-', '-', '<= 100 %',
               mine <= most if most else None, 'no perftest')


def roundtrip_rows(name, what):
    """Of what needs no peer: nobody else's time is in it."""
    def rows(bench):
        got = single.latency(bench, name)
        mine, bare = got['rdmeter'], got['bare']
        yield latency_row(got, what)
        yield Row(f'{what} latency, a whole sample: of bare',
                  f'{mine["cpu"]:.1f} ns, wall {mine["wall"]:.1f}', ns(bare['cpu_ns']),
                  percent(bare['cpu_ns'] / mine['cpu']) if mine['cpu'] else '-',
                  percent(1e9 / bare['rate'] / mine['wall']), '<= 40 ns', mine['cpu'] <= 40)
        if name == 'read lat':
            yield Row('a clock read: plain, ordered', ns(got['plain']), ns(got['ordered']),
                      why='for information')
    return rows


def pingpong_rows(name, what):
    """Two processes that wait for each other, each on a CPU of its own."""
    def rows(bench):
        row = latency_row(single.latency(bench, name), what, 0.5)
        if single.cpus() < 2:
            row.held, row.why = None, 'one CPU'
        yield row
    return rows


def qp_rows(count):
    def rows(bench):
        what = f'{count:,} queue pairs: of one, bursts of 16'
        try:
            mine, theirs = single.beside(bench, ((), count), ((), 1))
        except Failed as e:
            if 'out of range' not in str(e):
                raise
            yield Row(what, target='>= 85 %', why='this rdmeter has no so many')
            return
        yield rate_row(what, mine, theirs, 0.85)
    return rows


def post_api_rows(bench):
    """No slower than legacy where the device is not: as bare is, by the same calls."""
    if not single.offers(bench, '--post-api'):
        return
    for name in ('write, signal 1', 'write, signal 100', 'write, lists of 16'):
        got = single.by_calls(bench, name)
        row = rate_row(f'{name}, --post-api wr: of legacy', got['wr'], got['legacy'], 1)
        device = quotients(got['bare legacy'], got['bare wr'], 'cpu_ns')
        ratio = quotients(got['legacy'], got['wr'], 'cpu_ns')
        if device and ratio:
            least = SAME * min(device, 1)
            row.target = f'>= {100 * least:.0f} %, bare has {100 * device:.0f}'
            row.held = ratio >= least
        yield row


def thread_rows(bench):
    if single.offers(bench, '--threads'):
        mine, theirs = single.beside(bench, (('--threads', '2'), 2), (('--threads', '1'), 2))
        ratio = quotients(mine, theirs, 'rate')
        enough = single.cpus() >= 2
        yield Row('two threads: of one', ns_of(mine), ns_of(theirs),
                  percent(quotients(theirs, mine, 'cpu_ns')), percent(ratio),
                  '>= 180 % reported', ratio >= 1.8 if enough else None, 'one CPU')


def setup_rows(count):
    def rows(bench):
        what = f'set-up of {count:,} queue pairs'
        try:
            got = single.setup(bench, count)
        except Failed as e:
            if 'out of range' not in str(e):
                raise
            yield Row(what, target='works', why='this rdmeter has no so many')
            return
        mine, theirs = got['rdmeter'], got['perftest']
        if count != single.SETUP_QPS:
            yield Row(f'{what}: exec to first post', ms(mine['whole']), ms(theirs),
                      percent(mine['whole'] / theirs) if theirs else '-', '-', 'works', True)
            return
        yield Row(f'{what}: connect to first post, less verbs calls', ms(mine['own']),
                  f'{ms(mine["verbs"])} in them', '-', '-', '<= 50 ms', mine['own'] <= 50e6)
        yield Row(f'{what}, exec to first post: of perftest', ms(mine['whole']), ms(theirs),
                  percent(mine['whole'] / theirs) if theirs else '-', '-', '<= 25 %',
                  mine['whole'] <= theirs / 4 if theirs else None, 'no perftest')
    return rows


def start_rows(bench):
    got = single.setup(bench, 1)
    mine, theirs = got['rdmeter']['whole'], got['perftest']
    yield Row('start: exec to first post', ms(mine), ms(theirs),
              percent(mine / theirs) if theirs else '-', '-', '<= 10 ms', mine <= 10e6)


def memory_rows(bench):
    few, many = single.resident(bench, 100000), single.resident(bench, int(LONG))
    yield Row(f'memory of {LONG:.0e} messages: of 1e+05', f'{many:,} KiB', f'{few:,} KiB',
              f'{100 * many / few:.1f} %', '-', f'<= {100 * FLAT:.0f} %', many <= FLAT * few)


def accuracy_rows(clock, what):
    def rows(bench):
        p50, delay = single.late(bench, clock), single.DELAY
        yield Row(f'read of a device {delay / 1000:.0f} us late, {what} clock: p50', ns(p50),
                  ns(delay), f'{100 * p50 / delay:.2f} %', '-', 'within 1 %, 30 ns',
                  abs(p50 - delay) <= max(0.01 * delay, 30))
    return rows


# A name, for --only, and what yields its rows.
OTHERS = [
    ('latency read', roundtrip_rows('read lat', 'read')),
    ('latency cas', roundtrip_rows('cas lat', 'cas')),
    ('latency fadd', roundtrip_rows('fadd lat', 'fadd')),
    ('latency write', pingpong_rows('write lat', 'write')),
    ('latency send', pingpong_rows('send lat', 'send')),
    ('16 queue pairs', qp_rows(16)),
    ('256 queue pairs', qp_rows(256)),
    ('4,096 queue pairs', qp_rows(4096)),
    ('post-api', post_api_rows),
    ('threads', thread_rows),
    ('set-up of 1,024', setup_rows(single.SETUP_QPS)),
    ('set-up of 4,096', setup_rows(4096)),
    ('start', start_rows),
    ('memory', memory_rows),
    ('accuracy virtual', accuracy_rows('clock=virtual', 'virtual')),
    ('accuracy real', accuracy_rows('', 'real')),
]


def others(bench, wanted):
    """The rows that are not rates of the loops; what fails is said and counted."""
    out = []
    for name, rows in OTHERS:
        if not wanted.search(name):
            continue
        print(f'{name} ...', file=sys.stderr, flush=True)
        try:
            out += rows(bench)
        except Failed as e:
            bench.failures += 1
            print(f'bench: {name}: {e}', file=sys.stderr)
            out.append(Row(name, why='failed'))
    return out


def rates(measured):
    """Of what the long table has too: (group, {side: tools} or None when it failed)."""
    out = []
    for group, sides in measured:
        if not wanted_variants(group):
            continue
        if sides is None:
            out.append(Row(group.name, why='failed'))
            continue
        for side, tools in sides.items():
            out += rate_rows(group, side, tools)
    return out


def table(rows):
    held = sum(r.held is True for r in rows)
    missed = [r.what for r in rows if r.held is False]
    said = f'{held} of {held + len(missed)} held'
    if missed:
        said += '; not held: ' + ', '.join(missed)
    return COLUMNS, [r.cells() for r in rows], NOTE + '\n' + said + '.'


def group_names():
    return [g.name for g in GROUPS if wanted_variants(g)]
