# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What rdmeter printed and what the fake device saw, taken apart."""

import re

TITLE = re.compile(r'^rdmeter \S+: (\S+) (bandwidth|latency), (RC|UC|UD), ', re.M)
SETTING = re.compile(r'(?:^|(?<= ))(iters|warmup|qp|tx-depth|rx-depth|batch|signal|outs|stamp|align'
                     r'|offset|size|sge|verify|inline|mtu|atomic-target|sl|tclass|flow-label|hop-limit|pkey-index'
                     r'|burst|arrival|seed|qp-timeout|retry|rnr-retry|min-rnr|slots|threads|memory|relaxed-ordering|odp|mr|rdma-cm|tos'
                     r'|events|post-api|srq|recv-batch)'
                     r' +(\S+)( KiB| MiB| B)?', re.M)
COUNTS = re.compile(r'^(client|server): posted (\S+), completed (\S+), received (\S+); '
                    r'(\S+) before the window$', re.M)
OWN = re.compile(r"^the (client|server)'s own window: (\d+) messages in (\S+) s, (\S+) MiB/s$", re.M)
HEADS = {('size', 'samples'), ('size', 'messages'), ('stamped', 'min'), ('response', 'min'),
         ('asked', 'achieved')}
LOSS = re.compile(r'^(client|server) to (?:client|server): sent ([\d,]+), (?:delivered: (unknown)|'
                  r'(?:received|answered) ([\d,]+), lost ([\d,]+) \()', re.M)
FACTOR = {'': 1, ' B': 1, ' KiB': 1 << 10, ' MiB': 1 << 20}


class Number(float):
    """A number as it was printed: `half` is half of its last digit."""

    def __new__(cls, text):
        plain = text.replace(',', '')
        number = super().__new__(cls, plain)
        mantissa, _, exponent = plain.partition('e')
        digits = len(mantissa.partition('.')[2])
        number.half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
        return number


class Row:
    def __init__(self, op, test, transport, text):
        self.op, self.test, self.transport, self.text = op, test, transport, text
        head, _, self.results = text.partition('config id')
        self.settings = {}
        for name, value, unit in SETTING.findall(head):
            number = re.fullmatch(r'[\d.]+', value)
            value = round(float(value) * FACTOR[unit]) if number else value
            self.settings.setdefault(name, value)
        self.counts = {side: dict(zip(('posted', 'completed', 'received', 'before'),
                                      (int(v.replace(',', '')) for v in values)))
                       for side, *values in COUNTS.findall(self.results)}
        self.own = {side: (int(n), Number(s), Number(rate))
                    for side, n, s, rate in OWN.findall(self.results)}

        self.loss = {side: tuple(n and n.replace(',', '') for n in numbers)
                     for side, *numbers in LOSS.findall(self.results)}

    def tables(self):
        """Each table of one line, as {header: Number or None}; a header seen twice counts on."""
        lines = self.results.split('\n')
        for i, line in enumerate(lines[:-2]):
            words = line.split()
            if len(words) < 7 or tuple(words[:2]) not in HEADS:
                continue
            values = lines[i + 2].split()
            if words[0] == 'size':
                del values[1]  # its unit
            yield {w: None if v == '-' else Number(v) for w, v in zip(words, values)}

    def bars(self):
        """The sum of the histogram's samples, and the last share."""
        found = re.findall(r'^ *[\d.]+ +[\d.]+ +([\d,]+) +([\d.]+)%', self.results, re.M)
        return sum(int(n.replace(',', '')) for n, _ in found), found[-1][1] if found else ''


def rows(text):
    found = list(TITLE.finditer(text))
    ends = [m.start() for m in found[1:]] + [len(text)]
    return [Row(m[1], 'bw' if m[2] == 'bandwidth' else 'lat', m[3].lower(), text[m.start():end])
            for m, end in zip(found, ends)]


class Report:
    """The lines that a device wrote: for each row its queue pairs and completion queues."""

    def __init__(self, text):
        self.violations = re.findall(r'^violation (.*)', text, re.M)
        self.regions = [int(v) for v in re.findall(r'^mr .*relaxed=(\d)', text, re.M)]
        self.paged = [int(v) for v in re.findall(r'^mr .*odp=(\d)', text, re.M)]
        self.srqs = [dict((k, int(v)) for k, v in re.findall(r'(\w+)=(\d+)', line))
                     for line in re.findall(r'^srq (.*)', text, re.M)]
        self.events = [int(v) for v in re.findall(r'^events .*taken=(\d+)', text, re.M)]
        self.calls = {name: int(n) for name, n in re.findall(r'^calls (\S+) (\d+)$', text, re.M)}
        self.rows = []
        after_cq = True
        for line in text.splitlines():
            kind, *words = line.split()
            values = {k: int(v) for k, _, v in (w.partition('=') for w in words) if v.isdigit()}
            if kind == 'qp' and values['state']:  # not one of those that try for inline
                if after_cq:
                    self.rows.append(([], []))
                self.rows[-1][0].append(values)
                after_cq = False
            elif kind == 'cq' and self.rows:
                self.rows[-1][1].append(values)
                after_cq = True
