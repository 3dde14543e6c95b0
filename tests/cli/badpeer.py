# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A peer that misbehaves at one step of a session, made of a good one.

A real rdmeter talks through a proxy, which passes frames on, both ways, until the one that is the
step is due from the side that is to be bad. From there on the proxy speaks for that side: it does
the deed, and nothing more of that side gets through. So every step has a real session and real
data behind it. The other side is the victim.
"""
import json
import os
import select
import signal
import socket
import struct
import time

MAGIC = b"RDMETER\n"
DRIBBLE = 0.03  # seconds between two bytes, or beats, of a peer that seems to be alive


def frame(message):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(text)) + text


class Stream:
    """One side's bytes, cut into the magic word and frames."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b""
        self.greeted = False
        self.ended = False

    def fill(self):
        try:
            part = self.sock.recv(1 << 16)
        except ConnectionError:
            part = b""
        self.data += part
        self.ended = not part

    def next(self):
        """(type, bytes, message), or None when nothing is whole yet."""
        if not self.greeted:
            if len(self.data) < len(MAGIC):
                return None
            assert self.data.startswith(MAGIC)
            self.data = self.data[len(MAGIC):]
            self.greeted = True
            return "magic", MAGIC, None
        if len(self.data) < 4:
            return None
        end = 4 + struct.unpack(">I", self.data[:4])[0]
        if len(self.data) < end:
            return None
        whole, self.data = self.data[:end], self.data[end:]
        message = json.loads(whole[4:])
        return message["type"], whole, message


# What a bad peer does when it is to say `message`, as `data`. Each returns what becomes of the
# connection: None, it stays open; bytes, they are sent again and again; "close"; "with it", it
# ends with the process; "go on", it is served on.

def silent(proxy, data, message):
    return None


def close(proxy, data, message):
    return "close"


def cut(proxy, data, message):
    proxy.say(data[:len(data) // 2])
    return "close"


def cut_header(proxy, data, message):
    proxy.say(data[:2])
    return "close"


def garbage(proxy, data, message):
    proxy.say(frame(b"\x80" * 24) if message else b"\x16\x03\x01\x02\r\n\x01\x02\x03")
    return None


def no_object(proxy, data, message):
    proxy.say(frame(b"[1, 2]"))
    return None


def long(proxy, data, message):
    proxy.say(struct.pack(">I", 1 << 21))
    return None


def nonsense(proxy, data, message):
    proxy.say(frame({"type": "NONSENSE"}))
    return None


def hollow(proxy, data, message):
    proxy.say(frame({"type": message["type"]}))
    return None


def version(proxy, data, message):
    proxy.say(frame({**message, "major": 7, "version": "7.\x1b[2J"}))
    return None


def twice(proxy, data, message):
    proxy.say(data + data)
    return None


def abort(proxy, data, message):
    proxy.say(frame({"type": "ABORT", "class": 3, "text": "it is tired\x1b[31m"}))
    return "close"


def dribble(proxy, data, message):
    proxy.say(struct.pack(">I", 1 << 16) + b"{")
    return b" "


def beats(proxy, data, message):
    return frame({"type": "BEAT", "phase": "RUN", "posted": 0, "completed": 0, "received": 0})


def stop(proxy, data, message):
    os.kill(proxy.bad_pid, signal.SIGSTOP)
    return None


def kill(proxy, data, message):
    os.kill(proxy.bad_pid, signal.SIGKILL)
    return "with it"


def renames(proxy, data, message):
    """Everything in it that a peer calls itself is to steer the terminal that shows it."""
    evil = "evil\x1b[2J\r\n\x7f\x9b3J"
    proxy.say(frame({**message, "host": {**message["host"], "hostname": evil, "kernel": evil,
                                         "cpu": evil},
                     "device": {**message["device"], "name": evil, "why": evil,
                                "gid_why": evil}}))
    return "go on"


def says(kind):
    """An otherwise good message that is not due."""
    def deed(proxy, data, message):
        proxy.say(frame({"type": kind}))
        return None
    return deed


def changes(**values):
    """The message with other values; the session goes on."""
    def deed(proxy, data, message):
        proxy.say(frame({**message, **values}))
        return "go on"
    return deed


class Proxy:
    """Sessions between a client, which connects to `port`, and the server behind; one is spoilt."""

    def __init__(self, server_port, bad, step, deed):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server_port = server_port
        self.bad, self.step, self.deed = bad, step, deed
        self.bad_pid = None  # of the process that the bad side is made of
        self.client_port = 0 # of the client as the server sees it
        self.done = False    # the deed
        self.served = False  # the server is not busy with another client
        self.heard = []      # the victim's messages after that
        self.then = None     # what the deed returned

    def say(self, data):
        self.pass_on(self.victim, data)

    def run(self, step_within, end_within):
        """Until the victim has closed the connection. Whether it did: the step has to come within
        so many seconds, and the end within so many after the deed."""
        self.deadline = time.monotonic() + step_within
        self.end_within = end_within
        with self.listener:
            while self.is_time() and not self.session():
                pass
        return self.is_time()

    def is_time(self):
        return time.monotonic() < self.deadline

    def session(self):
        """Whether there was one: a server that is busy still makes the client come again."""
        self.listener.settimeout(max(self.deadline - time.monotonic(), 0.01))
        try:
            client = self.listener.accept()[0]
        except TimeoutError:
            return True
        server = socket.create_connection(("127.0.0.1", self.server_port), 5)
        self.client_port = server.getsockname()[1]
        with client, server:
            for s in client, server:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                s.settimeout(5)
            sides = {"client": Stream(client), "server": Stream(server)}
            self.sender = sides.pop(self.bad)
            self.victim = sides.popitem()[1]
            return self.relay()

    def relay(self):
        sides = [self.sender, self.victim]
        while self.victim in sides and self.is_time():
            # A server that is busy does not listen, so a bad client waits until it is not.
            from_whom = sides if self.bad == "server" or self.served else [self.victim]
            for sock in select.select([s.sock for s in from_whom], [], [], DRIBBLE)[0]:
                side = self.sender if sock is self.sender.sock else self.victim
                side.fill()
                outcome = self.take_all(side)
                if outcome:
                    return outcome == "close"
                if side.ended:
                    sides.remove(side)
            if self.sender.ended and (not self.done or self.then in ("with it", "go on")):
                return True
            if isinstance(self.then, bytes):
                self.say(self.then)
        return True

    def take_all(self, side):
        while item := side.next():
            kind, data, message = item
            if kind == "GREETING" and message["busy"]:
                self.pass_on(self.sender if side is self.victim else self.victim, data)
                return "busy"
            self.served = self.served or kind == "GREETING"
            if side is self.victim:
                if self.done:
                    self.heard.append(message)
                self.pass_on(self.sender, data)
            elif not self.done and kind == self.step:
                self.done = True
                self.deadline = time.monotonic() + self.end_within
                self.then = self.deed(self, data, message)
                if self.then == "close":
                    return "close"
            elif not self.done or self.then == "go on":
                self.pass_on(self.victim, data)
        return None

    @staticmethod
    def pass_on(to, data):
        try:
            to.sock.sendall(data)
        except OSError:
            pass  # whoever has gone is seen to have when its end is read
