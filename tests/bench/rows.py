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
    counted_only: bool = False        # instructions of it are counted, and no time is taken
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
EVERY_32 = (('stamp 32, default', ()), ('stamp all', ALL), ('stamp off', OFF))
EVERY_ONE = (('stamp all, default', ()), ('stamp off', OFF))
SINGLY = (('', ()), ('stamp all', ALL))


def kinds(name, op, perftest, first=SINGLY, hundred=(('', ()),), lists=(('', ()),), **more):
    """The three ways of posting that every operation is measured in."""
    return [
        streaming(f'{name}, signal 1', op, 1, perftest=perftest, variants=first, **more),
        streaming(f'{name}, signal 100', op, 100, perftest=perftest, variants=hundred, **more),
        streaming(f'{name}, lists of 16', op, 16, 16, perftest=perftest, variants=lists, **more),
    ]


GROUPS = [
    *kinds('write', 'write', WRITE, EVERY_32, EVERY_ONE, EVERY_32),
    *kinds('read', 'read', READ),
    *kinds('cas', 'cas', CAS, size=8),
    *kinds('fadd', 'fadd', FADD, size=8),
    *kinds('send', 'send', SEND, **AHEAD),
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
    Group('fadd lat', 'fadd', 'lat', size=8, bare='lat',
          perftest=('ib_atomic_lat', '-A', 'FETCH_AND_ADD')),
    streaming('write, sampled', 'write', 1, counted_only=True,
              variants=(('', ('--samples', '/dev/null')),)),
    streaming('write, posted by calls', 'write', 1, counted_only=True,
              variants=(('', ('--post-api', 'wr')),)),
    streaming('write, far behind its schedule', 'write', 1, counted_only=True,
              variants=(('', ('--rate', '1G')),)),
]
