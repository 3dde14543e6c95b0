# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rows of the bench: what each program is told so that all do the same."""
from dataclasses import dataclass

DEPTH = 128
OFF = ('--stamp', 'off')
ALL = ('--stamp', 'all')


@dataclass
class Group:
    """One workload: variants of rdmeter that share the runs of the other two."""
    name: str
    op: str
    test: str = 'bw'
    batch: int = 1
    signal: int = 1
    size: int = 64
    depth: int = DEPTH
    bare: str = 'bw'                  # the loop of bare
    mode: str = 'null'                # FAKEVERBS
    rdmeter: tuple = ()
    perftest: tuple = ()
    variants: tuple = (('', ()),)     # a word for the table, options of rdmeter
    sides: tuple = ('client',)        # whose figures: a row for each
    halved: bool = False              # a latency is half of a round trip
    pilot: int = 200000
    most: int = 100000000             # perftest takes no more


def streaming(name, op, signal, batch=1, perftest=None, **more):
    """rdmeter counts from -t, -l and -Q alike in all three."""
    mine = ('-l', str(batch), '-Q', str(signal)) + more.pop('extra', ())
    theirs = ()
    if perftest:
        theirs = (*perftest, '-t', str(DEPTH), '-Q', str(signal), '-N',
                  *(('-l', str(batch)) if batch > 1 else ()))
    return Group(name, op, batch=batch, signal=signal, rdmeter=mine, perftest=theirs, **more)


def sized(binary, *more):
    return (binary, '-s', '64', *more)


WRITE = sized('ib_write_bw')
READ = sized('ib_read_bw', '-o', '16')
SEND = sized('ib_send_bw', '-r', '256')
CAS = ('ib_atomic_bw', '-A', 'CMP_AND_SWAP', '-o', '16')
FADD = ('ib_atomic_bw', '-A', 'FETCH_AND_ADD', '-o', '16')
AHEAD = {'mode': 'null=ahead', 'sides': ('client', 'server')}
EVERY_32 = (('stamp 32, default', ()), ('stamp off', OFF), ('stamp all', ALL))
EVERY_ONE = (('stamp all, default', ()), ('stamp off', OFF))

GROUPS = [
    streaming('write, signal 1', 'write', 1, perftest=WRITE, variants=EVERY_32),
    streaming('write, signal 100', 'write', 100, perftest=WRITE, variants=EVERY_ONE),
    streaming('write, lists of 16', 'write', 16, 16, perftest=WRITE, variants=EVERY_32),
    streaming('read, signal 1', 'read', 1, perftest=READ),
    streaming('read, signal 100', 'read', 100, perftest=READ),
    streaming('read, lists of 16', 'read', 16, 16, perftest=READ),
    streaming('cas, signal 1', 'cas', 1, perftest=CAS, size=8),
    streaming('cas, signal 100', 'cas', 100, perftest=CAS, size=8),
    streaming('fadd, signal 1', 'fadd', 1, perftest=FADD, size=8),
    streaming('fadd, signal 100', 'fadd', 100, perftest=FADD, size=8),
    streaming('send, signal 1', 'send', 1, perftest=SEND, **AHEAD),
    streaming('send, signal 100', 'send', 100, perftest=SEND, **AHEAD),
    streaming('send, lists of 16', 'send', 16, 16, perftest=SEND, **AHEAD),
    streaming('send_imm, signal 100', 'send_imm', 100, most=4000000, **AHEAD),
    streaming('send both ways, signal 100', 'send', 100, perftest=(*SEND, '-b'), bare='both',
              mode='null=ahead', extra=('--direction', 'both')),
    Group('write lat', 'write', 'lat', signal=32, size=8, bare='lat', mode='null=marker',
          perftest=('ib_write_lat', '-s', '8'), rdmeter=('-Q', '32'), halved=True, pilot=2000,
          most=20000),
    Group('send lat', 'send', 'lat', signal=32, size=8, bare='lat',
          perftest=('ib_send_lat', '-s', '8'), rdmeter=('-Q', '32'), halved=True, pilot=2000,
          most=20000),
    Group('read lat', 'read', 'lat', size=8, bare='lat', perftest=('ib_read_lat', '-s', '8')),
    Group('cas lat', 'cas', 'lat', size=8, bare='lat',
          perftest=('ib_atomic_lat', '-A', 'CMP_AND_SWAP')),
]
