# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server and a client of rdmeter on the fake device, and TAP, for the suites of this folder."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

RDMETER = os.environ["RDMETER"]
FAKEVERBS_SO = os.environ["FAKEVERBS_SO"]


class Ended:
    """What a process was: exit status, stdout, stderr."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"exit {self.status}\n{self.out}{self.err}"


class Place:
    """A directory of its own for the device and for what it writes."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="fakeverbs.")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def start(self, arguments, fake=""):
        """LD_PRELOAD is for rdmeter alone: what a sanitizer instruments loads into nothing else."""
        env = dict(os.environ, FAKEVERBS_DIR=self.path, FAKEVERBS=fake)
        return subprocess.Popen(
            ["env", f"LD_PRELOAD={FAKEVERBS_SO}", RDMETER, *arguments],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)

    def serve(self, fake="", arguments=("--once",)):
        """Returns the server and its port, once it listens."""
        server = self.start([*arguments, "-p", "0"], fake)
        for line in server.stderr:
            found = re.search(r"listening on .*:(\d+)$", line.rstrip())
            if found:
                return server, found.group(1)
        raise RuntimeError("the server does not listen")

    def run(self, arguments, fake="", server_fake="", timeout=60):
        """One client against one server: both as they ended."""
        server, port = self.serve(server_fake)
        client = self.start(["-p", port, *arguments, "127.0.0.1"], fake)
        return end(client, timeout), end(server, timeout)


def end(process, timeout):
    """Waits; one that does not end is ended, with status None."""
    try:
        out, err = process.communicate(timeout=timeout)
        return Ended(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Ended(None, out, err)


def number(text):
    """A printed number, or None for "-"."""
    return None if text == "-" else float(text.replace(",", ""))


def columns(text, table):
    """The first row of the table whose header begins with that word, by name of column."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        names = line.split()
        if names[:1] == [table] and i + 2 < len(lines):
            values = lines[i + 2].split()
            # "64 B" is two words: columns are found from the right.
            return {n: number(v) for n, v in zip(reversed(names), reversed(values)) if n != "size"}
    raise KeyError(f"no table '{table}' in:\n{text}")


class Tap:
    """Counts and prints; `check` takes the sentence that is to hold, and what was seen."""

    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, name, seen=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good:
            for line in str(seen).splitlines():
                print(f"# {line}", flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(self.failed > 0)
