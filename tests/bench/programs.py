# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs of the programs that are compared, on the null device, and what they say of themselves."""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

TIMEOUT = 120
GID_INDEX = '1'
WARMUP = 4200    # rdmeter's: the null device checks the first 4,096


class Failed(Exception):
    """A run that did not give its figures."""


class Bench:
    """What all runs share: the programs, the device, a place for files."""

    def __init__(self, args):
        self.args = args
        self.failures = 0
        self.perftest = not args.no_perftest and bool(shutil.which('ib_write_bw'))
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.dir = tempfile.mkdtemp(prefix='rdmeter-bench-', dir=shm)
        self.files = itertools.count()
        self.ports = itertools.count()

    def file(self):
        """The name of a new file."""
        return os.path.join(self.dir, f'file.{next(self.files)}')

    def port(self):
        """One for perftest, which another of its runs does not hold at the same time."""
        return self.args.port + next(self.ports) % 16

    def env(self, mode, times=None):
        """Of a process on the device; with times, a file, tests/bench/times.c looks on."""
        own = {'LD_PRELOAD': self.args.device, 'FAKEVERBS': mode, 'FAKEVERBS_DIR': self.dir}
        if times:
            own = dict(own, LD_PRELOAD=f'{self.args.times} {self.args.device}', TIMES=times)
        return dict(os.environ, **own)

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Process:
    """A program on the null device, with its output and the CPU time it took."""

    def __init__(self, bench, mode, command, times=None):
        self.command = command
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.out = tempfile.TemporaryFile(dir=bench.dir)
        self.child = subprocess.Popen(command, env=bench.env(mode, times), stdin=subprocess.DEVNULL,
                                      stdout=self.out, stderr=subprocess.STDOUT)
        self.cpu = None

    def text(self):
        self.out.seek(0)
        return self.out.read().decode('utf-8', 'replace')

    def fail(self, why):
        if self.child.returncode is None:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()
        raise Failed(f'{" ".join(self.command)}: {why}\n{self.text()}')

    def until(self, what, seconds=20):
        """What `what` returns once that is true; the process is to live until then."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            if self.child.poll() is not None:
                self.fail(f'ended with {self.child.returncode}')
            time.sleep(0.002)
        return self.fail('does not begin')

    def wait(self):
        end = time.monotonic() + TIMEOUT
        while True:
            pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                self.fail(f'not done after {TIMEOUT} s')
            time.sleep(0.002)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = (usage.ru_utime + usage.ru_stime) * 1e9
        if self.child.returncode:
            self.fail(f'ended with {self.child.returncode}')
        return self.text()

    def stop(self):
        if self.child.returncode is None:
            self.child.kill()
            self.child.wait()


def number(text):
    return float(text.replace(',', ''))


def listens(port):
    """Whether anything listens there, without a connection that a server would count."""
    for name in ('/proc/net/tcp', '/proc/net/tcp6'):
        with open(name) as f:
            for line in f.readlines()[1:]:
                word = line.split()
                if word[3] == '0A' and int(word[1].split(':')[-1], 16) == port:
                    return True
    return False


# ---- the programs: a run gives, by side, {'rate', 'cpu' or 'cpu_ns', 'p50'} as far as it has them


def start_rdmeter(bench, mode, wrap=(), times=None):
    server = Process(bench, mode, [*wrap, bench.args.rdmeter, '--once', '-p', '0'], times)
    port = server.until(lambda: re.search(r'listening on \S*:(\d+)', server.text()))
    return server, port.group(1)


def read_rdmeter(document, server):
    """What each side counted in its own window, by its own clock."""
    row = document['rows'][0]
    out = {'client': {}, 'server': {}}
    for name, side in out.items():
        window = row[name]['window']
        if window:
            ns = window['end_ns'] - window['begin_ns']
            side['rate'] = window['messages'] / max(ns, 50000) * 1e9
        side['cpu'] = None
    out['client']['p50'] = row['flows'][0].get('lat_p50_ns')
    took = re.search(r': (\d+) messages in ([\d.]+) s', server)
    if took and 'rate' not in out['server']:
        out['server']['rate'] = float(took.group(1)) / max(float(took.group(2)), 0.0005)
    return out


def run_rdmeter(bench, group, options, messages, wrap=None, warmup=WARMUP):
    """wrap: {side: words} to put before a side's command."""
    wrap = wrap or {}
    server, port = start_rdmeter(bench, group.mode, wrap.get('server', ()))
    path = bench.file()
    try:
        client = Process(bench, group.mode, [
            *wrap.get('client', ()),
            bench.args.rdmeter, '-p', port, '--op', group.op, '--test', group.test,
            '-s', str(group.size), '-t', str(group.depth), '-n', str(messages),
            '--warmup', str(warmup), '--stall-timeout', '60', f'--json={path}', *group.rdmeter,
            *options, '127.0.0.1'])
        client.wait()
        with open(path) as f:
            out = read_rdmeter(json.load(f), server.wait())
        out['client']['cpu'], out['server']['cpu'] = client.cpu, server.cpu
        return out
    finally:
        server.stop()


def perftest_pair(bench, mode, command, wrap=None, times=None):
    """Both of its sides, done."""
    wrap, times, port = wrap or {}, times or {}, bench.port()
    command = [*command, '-F', '-x', GID_INDEX, '-p', str(port)]
    server = Process(bench, mode, [*wrap.get('server', ()), *command], times.get('server'))
    try:
        server.until(lambda: listens(port))
        client = Process(bench, mode, [*wrap.get('client', ()), *command, '127.0.0.1'],
                         times.get('client'))
        client.wait()
        server.wait()
        return {'client': client, 'server': server}
    finally:
        server.stop()


def read_perftest(group, process):
    said = process.text()
    if group.test == 'lat':
        row = re.search(r't_typical.*\n\s*\d+\s+\d+\s+\S+\s+\S+\s+(\S+)\s+(\S+)', said)
        if not row:
            raise Failed(f'no latency in: {said}')
        # Not its CPU time: it sorts its samples when it is done. A sample is a whole iteration.
        mean = number(row.group(2)) * (2 if group.halved else 1) * 1e-6
        return {'p50': number(row.group(1)) * 1000, 'rate': 1 / mean if mean else None}
    row = re.search(r'MsgRate.*\n\s*\d+\s+\d+\s+\S+\s+\S+\s+([\d.]+)', said)
    if not row:
        raise Failed(f'no message rate in: {said}')
    return {'rate': number(row.group(1)) * 1e6, 'cpu': process.cpu}


def run_perftest(bench, group, options, messages, wrap=None):
    ran = perftest_pair(bench, group.mode, [*group.perftest, *options, '-n', str(messages)], wrap)
    return {side: read_perftest(group, ran[side]) for side in group.sides}


def run_bare(bench, group, _, messages, wrap=None):
    client = Process(bench, group.mode, [
        *(wrap or {}).get('client', ()), bench.args.bare, group.op, group.bare,
        str(group.depth), str(group.batch), str(group.signal), str(group.size), str(messages)])
    lines = [line.split() for line in client.wait().splitlines() if line.startswith('messages')]
    out = {}
    for line in lines:
        x = dict(zip(line[::2], map(float, line[1::2])))
        side = out['server' if x['peer'] else 'client'] = {
            'rate': x['messages'] / x['ns'] * 1e9, 'cpu_ns': x['cpu_ns'] / x['messages']}
        if 'p50_ns' in x:
            side['p50'] = x['p50_ns'] / (2 if group.halved else 1)
    if not all(side in out for side in group.sides):
        raise Failed(f'no figures in: {client.text()}')
    return out


def clock_cost(bench):
    """What a plain and an ordered read of the clock take, in nanoseconds."""
    said = Process(bench, 'null', [bench.args.bare, 'clock']).wait()
    word = said.split()
    if len(word) != 4:
        raise Failed(f'no clock in: {said}')
    return float(word[1]), float(word[3])


class Times:
    """What tests/bench/times.c noted of a process."""

    def __init__(self, path, posts=True):
        self.calls, self.one = [], {}
        with open(path) as f:
            for line in f:
                word = line.split()
                if len(word) == 2:
                    self.one[word[0]] = int(word[1])
                else:
                    self.calls.append((int(word[1]), int(word[2])))
        if posts and not self.one.get('post'):
            raise Failed('no request was posted')


def overlap(intervals, begin, end):
    """Nanoseconds between begin and end in which any of the intervals is."""
    total, at = 0, begin
    for first, last in sorted(intervals):
        first, last = max(first, at), min(last, end)
        if last > first:
            total += last - first
            at = last
    return total
