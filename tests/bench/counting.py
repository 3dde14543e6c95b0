# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Instructions a message, by callgrind: a long run less a short one."""
import os
import re
from concurrent.futures import ThreadPoolExecutor

FEW, MANY = 20000, 220000
MANY_PERFTEST = 1020000 # it spins for a set time when it starts, which is no fixed count
# Not the clock's own file: calibration takes a set time. What loops read of it is in a header.
LOOPS = re.compile(r'src/(engine|stats)/(?!clock\.c)')
PROGRAM = re.compile(r'(rdmeter|bare|ib_\w+)$')


class Profile:
    """What callgrind wrote: own instructions by object file, and of rdmeter's by function."""

    def __init__(self, path):
        self.objects, self.functions = {}, {}
        names = {'ob': {}, 'fl': {}, 'fn': {}}
        at = {'ob': '', 'fl': '', 'fn': ''}
        skip = False
        with open(path) as f:
            for line in f:
                entry = re.match(r'(c?)(ob|fl|fi|fe|fn)=\((\d+)\)(?: (.*))?', line)
                if entry:
                    called, kind, number, name = entry.groups()
                    table = names['fl' if kind in ('fi', 'fe') else kind]
                    if name:
                        table[number] = name.strip()
                    if not called and kind in at:
                        at[kind] = table[number]
                elif line.startswith('calls='):
                    skip = True # the next line is what the called function took
                elif re.match(r'[+*\d-]', line):
                    if not skip:
                        self.add(at, int(line.split()[1]))
                    skip = False

    def add(self, at, n):
        self.objects[at['ob']] = self.objects.get(at['ob'], 0) + n
        if PROGRAM.match(os.path.basename(at['ob'])):
            key = at['fl'], at['fn']
            self.functions[key] = self.functions.get(key, 0) + n

    def of_program(self):
        return sum(n for name, n in self.objects.items()
                   if PROGRAM.match(os.path.basename(name)))

    def of_loops(self):
        """Of the functions of the loops and what they call; None without debugging information."""
        found = [n for (path, _), n in self.functions.items() if LOOPS.search(path)]
        return sum(found) if found else None


def profile(bench, group, side, tool, messages):
    path = bench.file()
    tool.run(bench, group, tool.options, messages, {side: [
        'valgrind', '--tool=callgrind', f'--callgrind-out-file={path}']})
    return Profile(path)


def count(bench, group, side, tool):
    """(own, the device's) instructions a message."""
    most = MANY_PERFTEST if tool.name == 'perftest' else MANY
    few, many = (profile(bench, group, side, tool, n) for n in (FEW, most))
    messages = most - FEW
    own = many.of_program() - few.of_program()
    device = sum(p.objects.get(bench.args.device, 0) * sign for p, sign in ((many, 1), (few, -1)))
    return own / messages, device / messages


def countable(group, side, tool):
    """A ping-pong mostly polls; bare's server is started by its client, and not by callgrind."""
    return not group.halved and not (tool.name == 'bare' and side == 'server')


def count_group(bench, group, side, tools):
    """Libraries' instructions are not counted: none of the loops calls one but the device."""
    for tool in tools:
        tool.count = count(bench, group, side, tool) if countable(group, side, tool) else None
    return tools


def loops(bench, wanted):
    """{label: instructions a message in the loops}, of (label, group, side, tool); all CPUs work."""
    def one(run):
        (_, group, side, tool), messages = run
        return profile(bench, group, side, tool, messages).of_loops()

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        got = list(pool.map(one, [(entry, n) for entry in wanted for n in (FEW, MANY)]))
    return {entry[0]: None if few is None or many is None else (many - few) / (MANY - FEW)
            for entry, few, many in zip(wanted, got[::2], got[1::2])}
