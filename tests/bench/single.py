# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is measured for one line of the short table: all but the rates of the loops."""
import os
import re
import statistics
import subprocess
from dataclasses import replace

from programs import (WARMUP, Failed, Process, Times, clock_cost, overlap, perftest_pair,
                      run_bare, run_rdmeter, start_rdmeter)
from rows import GROUPS, Group

CHECKED = 64          # messages that the device checks, where there are thousands of queue pairs
FEW = ('-t', '16', '-Q', '1')
QPS = Group('queue pairs', 'write', depth=16, mode=f'null checked={CHECKED}',
            rdmeter=('-l', '1', '-Q', '1'))
QPS_BASE, QPS_LEAST = 100, 200  # messages of each: in a run for what set-up takes; at least
DELAY = 100000        # ns, of the device that is late
SAMPLES = 20000       # perftest's
SETUP_QPS = 1024
MULTIPLE = 1600       # whole windows


def alternate(bench, measures):
    """{name: [result, ...]}: every one once, then all again."""
    got = {name: [] for name in measures}
    for _ in range(bench.args.repeats):
        for name, measure in measures.items():
            got[name].append(measure())
    return got


def middle(runs, key):
    return statistics.median(run[key] for run in runs)


def group(name):
    return next(g for g in GROUPS if g.name == name)


def offers(bench, option):
    """Whether this rdmeter has an option."""
    said = subprocess.run([bench.args.rdmeter, '--help'], stdout=subprocess.PIPE, check=False)
    return option in said.stdout.decode('utf-8', 'replace')


# ---- latency


def rdmeter_latency(bench, g, messages, base):
    got = run_rdmeter(bench, g, (), messages)['client']
    return {'p50': got['p50'], 'wall': 1e9 / got['rate'],
            'cpu': max(got['cpu'] - base, 0) / messages}


def perftest_latency(bench, g):
    """Its own median has two digits of microseconds, so from its samples."""
    ran = perftest_pair(bench, g.mode, [*g.perftest, '-U', '-n', str(SAMPLES)])
    samples = re.findall(r'^\d+, ([\d.e+-]+)$', ran['client'].text(), re.M)
    if not samples:
        raise Failed(f'no samples in: {ran["client"].text()[:2000]}')
    return {'p50': statistics.median(map(float, samples)) * 1000}


def latency(bench, name):
    """By program: {p50, wall, cpu}, {cpu_ns, rate}, p50 or None; and what clock reads take."""
    g = group(name)
    messages = min(max(int(bench.args.seconds * 1e9 / 50), 2000), g.most)
    base = run_rdmeter(bench, g, (), 100)['client']['cpu']
    measures = {'rdmeter': lambda: rdmeter_latency(bench, g, messages, base),
                'bare': lambda: run_bare(bench, g, (), messages)['client']}
    if bench.perftest:
        measures['perftest'] = lambda: perftest_latency(bench, g)
    got = alternate(bench, measures)
    plain, ordered = clock_cost(bench)
    mine = {key: middle(got['rdmeter'], key) for key in ('p50', 'wall', 'cpu')}
    bare = {key: middle(got['bare'], key) for key in ('cpu_ns', 'rate')}
    theirs = middle(got['perftest'], 'p50') if bench.perftest else None
    return {'rdmeter': mine, 'bare': bare, 'perftest': theirs, 'plain': plain, 'ordered': ordered}


# ---- one way of running rdmeter beside another


def rate_of(bench, options, each, qps=1, g=QPS):
    """Rate and CPU time of a message, of qps queue pairs with so many messages each."""
    warmup = 2 * CHECKED if 'checked' in g.mode else WARMUP

    def run(n):
        return run_rdmeter(bench, g, ('-q', str(qps), *options), n, warmup=warmup)['client']

    few, many = run(QPS_BASE), run(each)
    return {'rate': many['rate'],
            'cpu_ns': max(many['cpu'] - few['cpu'], 0) / (qps * (each - QPS_BASE))}


def beside(bench, mine, theirs, g=QPS):
    """Of two (options, queue pairs): rounds of both, all with as many messages."""
    total = int(bench.args.seconds * 1e9 / 20)

    def measure(options, qps):
        return lambda: rate_of(bench, options, max(total // qps, QPS_LEAST), qps, g)

    got = alternate(bench, {'mine': measure(*mine), 'theirs': measure(*theirs)})
    return got['mine'], got['theirs']


def by_calls(bench, name):
    """Rounds of rdmeter and of bare, posting by ibv_wr_* and by ibv_post_send."""
    g = group(name)
    total = int(bench.args.seconds * 1e9 / 20) // MULTIPLE * MULTIPLE + MULTIPLE

    def rdmeter(api):
        return lambda: rate_of(bench, ('--post-api', api), total, g=g)

    def bare(loop):
        return lambda: run_bare(bench, replace(g, bare=loop), (), total)['client']

    return alternate(bench, {'wr': rdmeter('wr'), 'legacy': rdmeter('legacy'),
                             'bare wr': bare('calls'), 'bare legacy': bare('bw')})


# ---- set-up and memory


def rdmeter_times(bench, options, messages, warmup=2 * CHECKED):
    """Of a run: when its client began, and what both sides noted."""
    paths = {'client': bench.file(), 'server': bench.file()}
    server, port = start_rdmeter(bench, QPS.mode, times=paths['server'])
    try:
        client = Process(bench, QPS.mode, [
            bench.args.rdmeter, '-p', port, '--op', 'write', '--test', 'bw', '-s', '64',
            '-n', str(messages), '--warmup', str(warmup), '--stall-timeout', '60', *options,
            '127.0.0.1'], paths['client'])
        client.wait()
        # Of the server nothing is posted, so that only its calls are of interest.
        server.wait()
    finally:
        server.stop()
    return client.began * 1e9, Times(paths['client']), Times(paths['server'], posts=False)


def rdmeter_setup(bench, qps):
    began, client, server = rdmeter_times(bench, ('-q', str(qps), *FEW), QPS_BASE)
    connect, post = client.one['connect'], client.one['post']
    return {'whole': post - began, 'connected': post - connect,
            'verbs': overlap(client.calls + server.calls, connect, post)}


def perftest_setup(bench, qps):
    path = bench.file()
    ran = perftest_pair(bench, QPS.mode, ['ib_write_bw', '-s', '64', '-q', str(qps), '-N', '-n',
                                          str(QPS_BASE), *FEW], times={'client': path})
    return {'whole': Times(path).one['post'] - ran['client'].began * 1e9}


def setup(bench, qps):
    """{'rdmeter': {whole, own}, 'perftest': ns or None}: from exec, or connect(), to a post."""
    measures = {'rdmeter': lambda: rdmeter_setup(bench, qps)}
    if bench.perftest and qps == SETUP_QPS:
        measures['perftest'] = lambda: perftest_setup(bench, qps)
    got = alternate(bench, measures)
    if bench.perftest and qps != SETUP_QPS: # no ratio hangs on it, and it takes its time
        got['perftest'] = [perftest_setup(bench, qps)]
    for run in got['rdmeter']:
        run['own'] = run['connected'] - run['verbs']
    return {'rdmeter': {key: middle(got['rdmeter'], key) for key in ('whole', 'own', 'verbs')},
            'perftest': middle(got['perftest'], 'whole') if bench.perftest else None}


def resident(bench, messages):
    """
    KiB, the most that a client of so many messages had. The null device has 65,536 places for
    completions, and they are memory of the client: the fewest messages are to use them all.
    """
    return rdmeter_times(bench, ('-t', '128', '-Q', '1'), messages)[1].one['resident_kb']


# ---- accuracy


def late(bench, clock):
    """The p50 that is told of a device that is so late."""
    g = Group('late', 'read', 'lat', size=8, mode=f'late={DELAY} {clock}'.strip())
    messages = max(int(bench.args.seconds * 1e9 / DELAY), 100)
    runs = [run_rdmeter(bench, g, (), messages, warmup=10)['client']
            for _ in range(bench.args.repeats)]
    return middle(runs, 'p50')


def cpus():
    return len(os.sched_getaffinity(0))
