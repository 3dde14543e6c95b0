# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The properties. Each check yields what is wrong with one run; nothing when it holds."""

import itertools
import re

import output
import plans

PROPERTIES = {
    'ends': 'each run ends inside its deadline, with the exit code that it should have',
    'device': 'the device saw no broken rule',
    'counts': 'requested == posted == completed for each queue pair',
    'received': 'what is sent is received, and counted',
    'lost': 'what is not received is lost, where it may be, and reported',
    'queue': 'no work request beyond the depth, no receive beyond its queue',
    'signal': 'one request in N is signalled, and the last that may wait',
    'cq': 'no completion queue is overrun',
    'threads': 'each thread has completion queues of its own',
    'finite': 'every number printed is finite and not negative',
    'window': 'rate x window == messages in the window',
    'agree': 'figures of a row agree with each other',
    'schedule': 'a response is the lateness and the service, and as many have one as the other',
    'config': 'what was asked for is what was run',
    'data': 'data arrive as they were sent, and a wrong bit is found',
    'path': 'the device has the path attributes that were asked for',
    'regions': 'each buffer is registered as was asked for',
    'calls': 'requests are posted as was asked for',
    'receives': 'receives are given back as was asked for, to the queue that was asked for',
    'events': 'a side has completion channels when events are asked for, and only then',
    'pieces': 'a message has as many pieces as was asked for',
    'refused': 'what cannot be is refused with one line',
}


def sends(side, direction):
    return direction in ('both', 'out' if side == 'client' else 'in')


def posts(row, side, direction):
    """Whether a side posts requests: a ping-pong of messages goes both ways."""
    return sends(side, direction) or (row.test == 'lat' and row.op in plans.OUT)


def takes(row, side, direction):
    other = 'server' if side == 'client' else 'client'
    return row.op in plans.RECEIVES and posts(row, other, direction)


def replies(run, row, side):
    """Whether a side posts only for what it gets, of which some may be lost."""
    return run.plan.lossy() and row.test == 'lat' and not sends(side, run.plan.args['direction'])


def ends(run):
    for side in ('client', 'server'):
        ended = run.ended[side]
        if ended is None:
            yield f'{side}: no end within {run.deadline} s'
        elif side == 'client' and ended != run.plan.code:
            yield f'client: exit {ended}, not {run.plan.code}: {run.err["client"][-300:].strip()}'
        elif side == 'server' and run.plan.code == 0 and ended:
            yield f'server: exit {ended}: {run.err["server"][-300:].strip()}'
        if 'Sanitizer' in run.err[side]:
            yield f'{side}: {run.err[side]}'


def device(run):
    for side, report in run.reports.items():
        for what in report.violations:
            yield f'{side}: {what}'


def partitions(rows, count):
    """The ways to cut rows into that many runs of neighbours; one that receives stands alone."""
    for cuts in itertools.combinations(range(1, len(rows)), count - 1) if rows and count else ():
        runs = [rows[i:k] for i, k in zip((0, *cuts), (*cuts, len(rows)))]
        if all(len(r) == 1 or not any(row.op in plans.RECEIVES for row in r) for r in runs):
            yield runs


def wanted(run, rows, side, does):
    """Messages of a queue pair that rows share."""
    return sum(run.plan.total() for row in rows if does(row, side, run.plan.args['direction']))


def shares(run):
    """
    Which rows went on with the queue pairs of the one before, the same at both ends: as many runs
    of rows as the devices saw queue pairs come and go, with messages that add up. Else [].
    """
    seen = {side: report.rows for side, report in run.reports.items()}
    counts_seen = {len(rows) for rows in seen.values()}
    if len(counts_seen) != 1:
        return []
    if run.plan.lossy():  # and then none goes on with those of another
        return [[row] for row in run.rows] if counts_seen == {len(run.rows)} else []
    for runs in partitions(run.rows, counts_seen.pop()):
        if all(rows[i][0] and rows[i][0][0]['messages'] == wanted(run, r, side, posts)
               for side, rows in seen.items() for i, r in enumerate(runs)):
            return runs
    return []


def each_qp(run):
    """(rows, their name, side, queue pairs, completion queues) as the devices saw them."""
    for i, rows in enumerate(shares(run)):
        name = ', '.join(f'{row.op} {row.test}' for row in rows)
        for side, report in run.reports.items():
            yield (rows, name, side, *report.rows[i])


def counts(run):
    direction, total = run.plan.args['direction'], run.plan.total()
    qps = run.plan.args.get('qp', 1)
    if not shares(run):
        yield f'the queue pairs are not those of the rows: {[r.rows for r in run.reports.values()]}'
    for rows, name, side, qp, _ in each_qp(run):
        if len(qp) != qps:
            yield f'{name}, {side}: not {qps} queue pairs'
        want = wanted(run, rows, side, posts)
        for q in qp:
            if any(replies(run, row, side) for row in rows) and q['messages'] < want:
                want = q['messages']
            if q['messages'] != want or q['freed'] != q['posted'] or \
                    q['completions'] != q['signalled']:
                yield f'{name}, {side}: not {want} posted and reaped: {q}'
    for row, side in itertools.product(run.rows, ('client', 'server')):
        said, want = row.counts.get(side), qps * total
        if said and replies(run, row, side):
            want = said['received']
        if posts(row, side, direction) and \
                (not said or said['posted'] != want or said['completed'] != want):
            yield f'{row.op} {row.test}, {side}: not {want} posted and completed: {said}'


def received(run):
    direction, total = run.plan.args['direction'], run.plan.total()
    qps = run.plan.args.get('qp', 1)
    for rows, name, side, qp, _ in each_qp(run):
        want = wanted(run, rows, side, takes)
        for q in qp:
            if q['received'] != want and not (run.plan.lossy() and q['received'] < want):
                yield f'{name}, {side}: not {want} received: {q}'
    for row, side in itertools.product(run.rows, ('client', 'server')):
        said = row.counts.get(side)
        if run.plan.lossy():
            continue
        if takes(row, side, direction) and (not said or said['received'] != qps * total):
            yield f'{row.op} {row.test}, {side}: not {qps * total} received: {said}'


def lost(run):
    """The device knows what has come; of a ping-pong some of it may have come too late."""
    direction = run.plan.args['direction']
    for (row, *_), _, side, qp, _ in each_qp(run):
        came, said = sum(q['received'] for q in qp), row.counts.get(side, {'received': 0})
        if takes(row, side, direction) and (said['received'] > came or (
                said['received'] < came and row.test == 'bw')):
            yield f'{row.op} {row.test}, {side}: {said} of {came} received'
    for row, side in itertools.product(run.rows, ('client', 'server')):
        known = row.loss.get(side)
        if (known is not None) != (run.plan.lossy() and sends(side, direction)):
            yield f'{row.op} {row.test}, {side}: said {known} of loss'
        if not known:
            continue
        sent, unknown, came, gone = known
        truth = side if row.test == 'lat' else 'server' if side == 'client' else 'client'
        if bool(unknown) != (row.op == 'write' and row.test == 'bw'):
            yield f'{row.op} {row.test}, {side}: delivery unknown or not: {known}'
        elif int(sent) != row.counts[side]['posted'] or not unknown and (
                int(came) != row.counts[truth]['received'] or int(gone) != int(sent) - int(came)):
            yield f'{row.op} {row.test}, {side}: {known}, but {row.counts}'


def queue(run):
    for rows, name, side, qp, _ in each_qp(run):
        depth, rx_depth = rows[0].settings['tx-depth'], rows[0].settings.get('rx-depth', 0)
        for q in qp:
            if q['sq_most'] > depth:
                yield f'{name}, {side}: {q["sq_most"]} in a queue of {depth}'
            if rows[0].op in plans.RECEIVES and q['rq_most'] > rx_depth:
                yield f'{name}, {side}: {q["rq_most"]} receives, not {rx_depth}'


def signal(run):
    for rows, name, side, qp, _ in each_qp(run):
        least = sum(wanted(run, [row], side, posts) // row.settings['signal'] for row in rows)
        for q in qp:
            if any(replies(run, row, side) for row in rows):
                least = q['messages'] // rows[0].settings['signal']
            if not least <= q['signalled'] <= q['posted']:
                yield f'{name}, {side}: not {least} signalled: {q}'


def cq(run):
    for _, name, side, _, cqs in each_qp(run):
        for q in cqs:
            if q['overruns'] or q['most'] > q['cqe'] or q['asked'] > min(64, q['cqe']):
                yield f'{name}, {side}: {q}'


def threads(run):
    for rows, name, side, _, cqs in each_qp(run):
        want = rows[0].settings.get('threads', 1)  # not shown of one queue pair
        if any(row.settings.get('threads', 1) != want for row in rows):
            yield f'{name}, {side}: queue pairs of other threads'
        if len(cqs) < 2 * want:
            yield f'{name}, {side}: {len(cqs)} completion queues for {want} threads'


def finite(run):
    for row in run.rows:
        for line in row.results.splitlines():
            if re.search(r'\b(nan|inf)\b|(^| )-\d|\d{17}|\d,\d{3},\d{3},\d{3},\d{3},\d{3}', line,
                         re.I):
                yield f'{row.op} {row.test}: {line.strip()}'


def product(messages, seconds, rate, size, what):
    """Whether messages = seconds x rate, each known to half of its last digit."""
    slack = rate.half * (seconds + seconds.half) + rate * seconds.half + 1e-6 * messages * size
    if abs(messages * size - rate * seconds) > slack + 1e-9:
        yield f'{what}: {messages * size} is not {rate:.10g} x {seconds:.10g} (+- {slack:.3g})'


def window(run):
    direction, total = run.plan.args['direction'], run.plan.total() * run.plan.args.get('qp', 1)
    for row in run.rows:
        name, size = f'{row.op} {row.test}', row.settings['size']
        flows = [t for t in row.tables() if 'messages' in t]
        ways = [side for side in ('client', 'server') if sends(side, direction)]
        if row.test == 'bw' and len(flows) != len(ways):
            yield f'{name}: {len(flows)} tables'
        for table, sender in zip(flows, ways):
            messages, seconds = int(table['messages']), table['window']
            truth = sender
            if row.op in plans.RECEIVES:
                truth = 'server' if sender == 'client' else 'client'
            before = row.counts[truth]['before']
            if run.plan.lossy() and truth != sender:
                total_here = row.counts[truth]['received']
            else:
                total_here = total
            if messages + before != total_here:
                yield f'{name}: {messages} in the window and {before} before it, not {total_here}'
            if table['messages/s'] is None:
                if messages and seconds:
                    yield f'{name}: no rate'
                continue
            yield from product(messages, seconds, table['messages/s'], 1, name)
            yield from product(messages, seconds, table['MiB/s'], size / 2 ** 20, name)
            yield from product(messages, seconds, table['Gb/s'], size * 8 / 1e9, name)
        for side, (messages, seconds, rate) in row.own.items():
            yield from product(messages, seconds, rate, size / 2 ** 20, f'{name}, {side}')
            if messages + row.counts[side]['before'] != total:
                yield f'{name}: {messages} in the own window of the {side}, not of {total}'


def ordered(table, names):
    known = [table[n] for n in names if table.get(n) is not None]
    return all(a <= b + a.half + b.half for a, b in zip(known, known[1:]))


def stamped_most(run, row, sender):
    """
    How many completions could be timed, one in K of those that a queue pair asked for; and whether
    that is exact: of rows that share queue pairs only their sum is known.
    """
    every = row.settings["stamp"]
    every = 1 if every == 'all' else every
    for i, rows in enumerate(shares(run)):
        if any(r is row for r in rows):
            asked = [q['signalled'] for q in run.reports[sender].rows[i][0]]
            return sum(-(-n // every) for n in asked), len(rows) == 1
    return 0, False


def agree(run):
    direction = run.plan.args['direction']
    alone = direction != 'both' and run.plan.args.get('warmup') == 0
    for row in run.rows:
        name = f'{row.op} {row.test}'
        for table in row.tables():
            if not ordered(table, ('min', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max')) or \
                    not ordered(table, ('min', 'mean', 'max')) or \
                    not ordered(table, ('min', 'median', 'max')):
                yield f'{name}: not in order: {table}'
            if table.get('window') and table['window'] < 0.09 and \
                    not ordered(table, ('max', 'MiB/s', 'min')):
                yield f'{name}: another rate than that of its one interval: {table}'
            if 'stamped' in table and direction != 'both':
                sender = 'client' if direction == 'out' else 'server'
                most, exact = stamped_most(run, row, sender)
                if table['stamped'] > most or (alone and exact and table['stamped'] != most):
                    yield f'{name}: {table["stamped"]:.0f} stamped, of {most}'
            if 'samples' in table:
                n = run.plan.args['iters']
                if run.plan.lossy():
                    n = min(n, int(table['samples']))
                if table['samples'] != n or row.bars() != (n, '100.000' if n else ''):
                    yield f'{name}: {table["samples"]:.0f} samples, bars {row.bars()}, not {n}'


def connected(run):
    """By rdma_cm every queue pair was, or none."""
    by_cm = 'rdma-cm' in run.plan.args
    for side, call in (('client', 'rdma_connect'), ('server', 'rdma_accept')):
        made = sum(len(qps) for qps, _ in run.reports[side].rows)
        if run.reports[side].calls.get(call, 0) != (made if by_cm else 0):
            yield f'{side}: {run.reports[side].calls.get(call, 0)} times {call}, {made} queue pairs'


def schedule(run):
    args = run.plan.args
    for row in run.rows:
        name, tables = f'{row.op} {row.test}', list(row.tables())
        kept = [t for t in tables if 'asked' in t]
        if len(kept) != (0 if 'rate' not in args else 2 if args['direction'] == 'both' else 1):
            yield f'{name}: {len(kept)} schedules'
        service = [t for t in tables if 'stamped' in t or 'samples' in t]
        response = [t for t in tables if 'response' in t]
        if not kept or args['direction'] == 'both':
            continue
        if run.plan.lossy() and not response and not any(t.get('samples') for t in service):
            continue  # all is lost
        if len(service) != len(response):
            yield f'{name}: {len(service)} tables of services, {len(response)} of responses'
        for s, r in zip(service, response):
            if s.get('stamped', s.get('samples')) != r['response']:
                yield f'{name}: not as many: {s}, {r}'
            late, alike = kept[0], row.settings['signal'] == 1 and row.settings.get('stamp', 'all') == 'all'
            if not (row.test == 'lat' or alike) or args.get('warmup') != 0:
                continue
            if run.plan.lossy() and row.test == 'lat' and s['samples'] < args['iters']:
                continue  # what is lost was late or not, as well
            late = late['late_mean']
            slack = s['mean'].half + r['mean'].half + late.half + 1e-6 * r['mean']
            if abs(s['mean'] + late - r['mean']) > slack:
                yield f'{name}: a mean response of {r["mean"]} of {late} and {s["mean"]}'


def config(run):
    yield from connected(run)
    if [(r.op, r.test) for r in run.rows] != run.plan.rows():
        yield f'rows {[(r.op, r.test) for r in run.rows]}, not {run.plan.rows()}'
    for row in run.rows:
        if row.transport != run.plan.args.get('connection', 'rc'):
            yield f'{row.op} {row.test}: on {row.transport}'
        for name, value in run.plan.args.items():
            value = 'on' if value is None else value  # a flag
            said = row.settings.get(name, value)
            if name == 'slots' and 'verify' in run.plan.args:
                said = min(said, value)  # more where more are in flight
            if name == 'outs':
                if isinstance(said, int) and said > value:
                    yield f'{row.op}: --outs {value} became {said}'
            elif said != value and not (name == 'stamp' and value == 1 and said == 'all'):
                yield f'{row.op} {row.test}: --{name} {value} became {said}'


PATH = {'sl': 'sl', 'tclass': 'tclass', 'flow-label': 'flow', 'hop-limit': 'hops',
        'pkey-index': 'pkey', 'qp-timeout': 'timeout', 'retry': 'retry', 'rnr-retry': 'rnr_retry',
        'min-rnr': 'min_rnr'}


RETRIES = ('qp-timeout', 'retry', 'rnr-retry', 'min-rnr')


def path(run):
    for rows, names, side, qp, _ in each_qp(run):
        for row, (name, key), q in itertools.product(rows, PATH.items(), qp):
            if run.plan.lossy() and name in RETRIES:
                continue  # they have none
            if run.plan.args.get('connection') == 'ud' and not q['messages']:
                continue  # each message has its address
            want = run.plan.args.get('tos', row.settings[name]) if name == 'tclass' else \
                row.settings[name]
            if q[key] != want:
                yield f'{names}, {side}: --{name} {want}, and {q}'


def regions(run):
    """Of a side: one for what it posts from, one for what the other side reaches, or one a QP."""
    direction, qps = run.plan.args['direction'], run.plan.args.get('qp', 1)
    if len(run.rows) > 1:
        return  # a row may go on with the regions of the one before
    for side, report in run.reports.items():
        other = 'server' if side == 'client' else 'client'
        want = {0: 0, 1: 0}
        for row in run.rows:
            each = qps if row.settings.get('mr', 'one') == 'qp' else 1
            shared = row.op in plans.ATOMIC and row.settings.get('atomic-target') == 'shared'
            want[row.settings['relaxed-ordering'] == 'on'] += \
                each * posts(row, side, direction) + \
                (1 if shared else each) * posts(row, other, direction)
        got = {on: report.regions.count(on) for on in want}
        if got != want:
            yield f'{side}: {got} regions, by relaxed ordering, not {want}'
        if set(report.paged) - {int('odp' in run.plan.args)}:
            yield f'{side}: on-demand paging: {report.paged}'


def pieces(run):
    direction = run.plan.args['direction']
    for rows, names, side, qp, _ in each_qp(run):
        want = max(row.settings['sge'] if posts(row, side, direction) else 0 for row in rows)
        copied = any(row.settings.get('post-api') == 'wr' and row.settings.get('inline')
                     for row in rows)
        for q in qp:  # what calls copy is copied in one
            silent = not q['messages'] and replies(run, rows[0], side)
            if q['sge_most'] != want and not silent and not (copied and q['sge_most'] == 1):
                yield f'{names}, {side}: not {want} pieces: {q}'


def calls(run):
    for rows, names, side, qp, _ in each_qp(run):
        by_calls = any(row.settings.get('post-api') == 'wr' for row in rows)
        for q in qp:
            if q['by_calls'] != (q['messages'] if by_calls else 0):
                yield f'{names}, {side}: not all as asked for: {q}'


def receives(run):
    shared, least = 'srq' in run.plan.args, run.plan.args.get('recv-batch', 1)
    for rows, names, side, qp, _ in each_qp(run):
        for q in qp:
            if shared and q['rq_most']:
                yield f'{names}, {side}: receives of its own: {q}'
            if 0 < q['rq_least'] < least:
                yield f'{names}, {side}: lists of {q["rq_least"]} receives: {q}'
    for side, report in run.reports.items():
        if shared != bool(report.srqs):
            yield f'{side}: {len(report.srqs)} shared queues'
        for q in report.srqs:
            if q['most'] > q['size'] or 0 < q['least'] < least:
                yield f'{side}: {q}'


def events(run):
    """The device looks that nobody sleeps with completions queued (device)."""
    for side, report in run.reports.items():
        if bool(report.events) != ('events' in run.plan.args):
            yield f'{side}: events of {len(report.events)} completion queues'


def data(run):
    if run.plan.code == 4:
        if run.plan.says not in run.err['client'] + run.err['server']:
            yield f'a wrong bit was not found: {run.err}'
        return
    for side in ('client', 'server'):
        if 'data' in run.err[side]:
            yield f'{side}: {run.err[side].strip()}'


def refused(run):
    lines = [line for line in run.err['client'].splitlines() if line.startswith('rdmeter: ')]
    if len(lines) != 1 or run.plan.says not in lines[0]:
        yield f'not one line with "{run.plan.says}": {run.err["client"]}'
    if output.rows(run.out):
        yield 'it printed a result'


def broken(run):
    """(property, what is wrong) of a run."""
    of_kind = {2: ('refused',), 3: ('refused', 'device'), 4: ('data',)}
    names = of_kind.get(run.plan.code, [n for n in PROPERTIES if n != 'refused'])
    wrong = [('ends', what) for what in ends(run)]
    if wrong:  # what the devices saw may say why
        names = ('device', 'cq')
    if list(finite(run)):  # numbers that are none are not to be compared
        names = ('finite',)
    for name in names:
        if name != 'ends':
            wrong += [(name, what) for what in globals()[name](run)]
    return wrong
