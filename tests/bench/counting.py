# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Instructions a message, by callgrind: a long run less a short one."""
import os
import re

FEW, MANY = 20000, 120000
MANY_PERFTEST = 1020000 # it spins for a set time when it starts, which is no fixed count


def read_objects(path):
    """Instructions of each object file itself, from what callgrind wrote."""
    names, cost, current, skip = {}, {}, '', False
    with open(path) as f:
        for line in f:
            entry = re.match(r'ob=\((\d+)\)(?: (.*))?', line)
            if entry:
                if entry.group(2):
                    names[entry.group(1)] = entry.group(2).strip()
                current = names[entry.group(1)]
            elif line.startswith('cob='):
                entry = re.match(r'cob=\((\d+)\)(?: (.*))?', line)
                if entry.group(2):
                    names[entry.group(1)] = entry.group(2).strip()
            elif line.startswith('calls='):
                skip = True # the next line is what the called function took
            elif re.match(r'[+*\d-]', line):
                if not skip:
                    cost[current] = cost.get(current, 0) + int(line.split()[1])
                skip = False
    return cost


def count_once(bench, group, side, tool, messages):
    path = os.path.join(bench.dir, 'callgrind')
    tool.run(bench, group, tool.options, messages, side,
             ['valgrind', '--tool=callgrind', f'--callgrind-out-file={path}'])
    cost = read_objects(path)
    device = sum(n for name, n in cost.items() if name == bench.args.device)
    own = sum(n for name, n in cost.items()
              if os.path.basename(name) in ('rdmeter', 'bare') or
              os.path.basename(name).startswith('ib_'))
    return own, device


def count_group(bench, group, side, tools_of):
    """Libraries' instructions are not counted: none of the loops calls one but the device."""
    tools = tools_of(bench, group)
    for tool in tools:
        tool.count = None
        if tool.name == 'bare' and side == 'server':
            continue # it is started by the other side, and not under callgrind
        if group.halved:
            continue # a ping-pong: mostly polls
        few = count_once(bench, group, side, tool, FEW)
        most = MANY_PERFTEST if tool.name == 'perftest' else MANY
        many = count_once(bench, group, side, tool, most)
        tool.count = tuple((b - a) / (most - FEW) for a, b in zip(few, many))
    return tools
