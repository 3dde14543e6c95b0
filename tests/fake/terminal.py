# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A terminal of a given width, and what a person sees on it."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

from pair import FAKEVERBS_SO, RDMETER

SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


class Screen:
    """Lines as they stand; `longest` is the longest there ever was, `seen` what was ever shown."""

    def __init__(self):
        self.lines, self.column = [""], 0
        self.longest, self.seen, self.colours = 0, [], 0

    def put(self, char):
        line = self.lines[-1].ljust(self.column)
        self.lines[-1] = line[: self.column] + char + line[self.column + 1 :]
        self.column += 1
        self.longest = max(self.longest, len(self.lines[-1]))

    def control(self, arguments, what):
        if what == "K":
            self.lines[-1] = self.lines[-1][: self.column]
        elif what == "m":
            self.colours += 1
        else:
            raise ValueError(f"an unknown sequence: {arguments}{what}")

    def feed(self, text):
        at = 0
        while at < len(text):
            sequence = SEQUENCE.match(text, at)
            if sequence:
                self.control(*sequence.groups())
                at = sequence.end()
                continue
            if text[at] in "\r\n":
                self.seen.append(self.lines[-1])
                self.column = 0
                if text[at] == "\n":
                    self.lines.append("")
            else:
                self.put(text[at])
            at += 1
        return self

    def text(self):
        return "\n".join(self.lines)


class Terminal:
    """A pseudo-terminal; what is written to it is kept, each piece with the time when it came."""

    def __init__(self, columns):
        self.master, self.slave = pty.openpty()
        attributes = termios.tcgetattr(self.slave)
        attributes[1] &= ~termios.OPOST  # a new line stays one character
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.pieces = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # nobody has it open any more
                break
            if not piece:
                break
            self.pieces.append((time.monotonic(), piece.decode()))

    def close(self):
        """To be called once the program has it: the end of that is the end of the reader."""
        os.close(self.slave)

    def end(self):
        self.reader.join(timeout=30)
        os.close(self.master)
        return "".join(text for _, text in self.pieces)


class Run:
    """One client whose stderr is a terminal, and with `both` its stdout too."""

    def __init__(self, place, arguments, columns=80, fake="", both=False, **variables):
        server, port = place.serve(fake)
        env = dict(os.environ, FAKEVERBS_DIR=place.path, FAKEVERBS=fake, TERM="xterm")
        env.pop("NO_COLOR", None)
        env.update({k: v for k, v in variables.items() if v is not None})
        for name in [k for k, v in variables.items() if v is None]:
            env.pop(name, None)
        terminal = Terminal(columns)
        client = subprocess.Popen(
            ["env", f"LD_PRELOAD={FAKEVERBS_SO}", RDMETER, "-p", port, *arguments, "127.0.0.1"],
            env=env, stdin=subprocess.DEVNULL, stderr=terminal.slave,
            stdout=terminal.slave if both else subprocess.PIPE, text=True)
        terminal.close()
        try:
            self.out = client.communicate(timeout=120)[0]
        finally:
            client.kill()
            server.communicate(timeout=60)
        self.status = client.returncode
        self.raw = terminal.end()
        self.pieces = terminal.pieces
        self.screen = Screen().feed(self.raw)

    def __str__(self):
        return f"exit {self.status}\n{self.out}\n{self.raw!r}"
