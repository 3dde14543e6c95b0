#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The other end of a control connection, for usage.bats: rdmeter's or a stranger's.

peer.py listen WHAT     waits on a free port of 127.0.0.1, prints it, does WHAT to each client
peer.py connect PORT WHAT

WHAT is words, done in this order:
  send:TEXT      TEXT, with \\r, \\n and \\xHH as in Python
  magic          the first bytes of rdmeter
  json:OBJECT    a frame
  read           prints what has arrived within 0.3 s or until the end, one line
  frame          prints the first frame's JSON, once it is there
  until-end      reads until the other side closes
  hold:SECONDS   stays
  close          ends
"""
import socket
import struct
import sys
import time


def take(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            break
        data += part
    return data


def drain(s, timeout):
    data = b""
    s.settimeout(timeout)
    try:
        while part := s.recv(65536):
            data += part
    except (TimeoutError, ConnectionError):
        pass
    s.settimeout(10)
    return data


def do(s, word):
    verb, _, text = word.partition(":")
    if verb == "send":
        s.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
    elif verb == "magic":
        s.sendall(b"RDMETER\n")
    elif verb == "json":
        s.sendall(struct.pack(">I", len(text)) + text.encode())
    elif verb == "read":
        print(drain(s, 0.3), flush=True)
    elif verb == "frame":
        if take(s, 8) != b"RDMETER\n":
            sys.exit("no magic")
        print(take(s, struct.unpack(">I", take(s, 4))[0]).decode(), flush=True)
    elif verb == "until-end":
        drain(s, 10)
    elif verb == "hold":
        time.sleep(float(text))
    elif verb != "close":
        sys.exit(f"what is {word}?")


def talk(s, words):
    s.settimeout(10)
    with s:
        for word in words:
            try:
                do(s, word)
            except ConnectionError:
                return


def main():
    if sys.argv[1] == "connect":
        talk(socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5), sys.argv[3:])
        return
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        talk(listener.accept()[0], sys.argv[2:])


main()
