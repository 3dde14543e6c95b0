# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Pairs of rdmeter on fakeverbs, for the suites beside: starting them, ending them by a deadline,
and what holds for every end that is in order. RDMETER and FAKEVERBS_SO say what is run.
"""

import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE = 20
CLOSED_WITH = re.compile(r"^violation closed with (.*)$", re.M)

# What says something that stops nothing; everything else that rdmeter says is an error.
NOTES = re.compile(
    r"^rdmeter: (listening on "
    r"|[0-9.]+:\d+: [a-z_]+ (lat|bw), [^:]*: \d+ messages in "
    r"|destroying |deregistering |freeing |closing |reading back "
    r"|(?:the|a) data thread does not leave |interrupted"
    r"|[^:;]+ -> )"
)
ERROR = re.compile(r"^rdmeter: [^;]+; .+")


class End:
    """How one side ended: code, what it said, what its device saw."""

    def __init__(self, code, out, err, report, took):
        self.code, self.out, self.err, self.took = code, out, err, took
        self.report = report
        said = err.splitlines()
        self.notes = [s for s in said if NOTES.match(s) and "listening" not in s]
        self.errors = [s for s in said if not NOTES.match(s)]

    def calls(self, name):
        found = re.findall(rf"^calls {name} (\d+)$", self.report, re.M)
        return int(found[-1]) if found else 0

    def fault(self):
        """The call that was made to fail, or None."""
        found = re.search(r"^fault (\w+)", self.report, re.M)
        return found.group(1) if found else None

    def leaks(self):
        """What the device still had when it was closed."""
        return CLOSED_WITH.findall(self.report)

    def violations(self):
        return [s for s in re.findall(r"^violation (.*)$", self.report, re.M)
                if not s.startswith("closed with")]

    def __str__(self):
        return (f"exit {self.code} after {self.took:.1f} s\n{self.err}"
                + "".join(f"report: {s}\n" for s in self.report.splitlines()
                          if s.startswith(("violation", "fault"))))


class Side:
    """A running rdmeter."""

    def __init__(self, bed, words, fake, env=None, memlock=None):
        self.began = time.monotonic()
        self.report = bed.new_file("report")
        self.out, self.err = bed.new_file("out"), bed.new_file("err")
        environ = dict(os.environ, FAKEVERBS_DIR=bed.dir, LD_PRELOAD=os.environ["FAKEVERBS_SO"],
                       FAKEVERBS=f"{fake} report={self.report}", LC_ALL="C", **(env or {}))
        # The symbolizer would inherit the preloaded library, which does not load into it.
        environ.setdefault("ASAN_OPTIONS", "detect_leaks=1:symbolize=0")
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.process = subprocess.Popen([os.environ["RDMETER"], *words], env=environ,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        if memlock:
            resource.prlimit(self.process.pid, resource.RLIMIT_MEMLOCK, (memlock, memlock))

    def said(self):
        with open(self.err) as f:
            return f.read()

    def wait_for(self, pattern, seconds=DEADLINE):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = re.search(pattern, self.said(), re.M)
            if found:
                return found
            if self.process.poll() is not None:
                time.sleep(0.01)
                return re.search(pattern, self.said(), re.M)
            time.sleep(0.002)
        return None

    def end(self, seconds=DEADLINE):
        """Waits for it; past the deadline it is killed, and its code is None."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        texts = []
        for path in (self.out, self.err, self.report):
            try:
                with open(path, errors="replace") as f:
                    texts.append(f.read())
                os.unlink(path)
            except FileNotFoundError:
                texts.append("")
        return End(code, texts[0], texts[1], texts[2], time.monotonic() - self.began)


class Bed:
    """A directory in which the two sides of one pair at a time meet."""

    def __init__(self):
        where = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.dir = tempfile.mkdtemp(prefix="rdmeter-", dir=where)
        self.files = 0

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def new_file(self, what):
        self.files += 1
        return f"{self.dir}/{what}-{self.files}"

    def server(self, fake="", words=("--once",), env=None):
        side = Side(self, ["-p", "0", *words], fake, env)
        found = side.wait_for(r"listening on .*:(\d+)$")
        side.port = found.group(1) if found else "1"
        return side

    def client(self, port, words, fake="", env=None, memlock=None):
        return Side(self, ["-p", port, "--connect-timeout", "3", *words, "127.0.0.1"], fake, env,
                    memlock)

    def pair(self, words, client="", server="", env=None, deadline=DEADLINE, memlock=None):
        """One session: both ends; memlock limits the client's locked memory."""
        s = self.server(server, env=env)
        c = self.client(s.port, words, client, env, memlock).end(deadline)
        return c, s.end(deadline)


def judge(end, code, words=(), notes=None):
    """What is wrong with an end: exactly one error line, or none with code 0."""
    wrong = []
    if end.code != code:
        wrong.append(f"exit {end.code}, not {code}" if end.code is not None else
                     "did not end by its deadline")
    if len(end.errors) != (1 if code else 0):
        wrong.append(f"{len(end.errors)} lines of errors, not {1 if code else 0}")
    for line in end.errors:
        if not ERROR.match(line):
            wrong.append("does not say what to try")
        wrong += [f"does not say '{w}'" for w in words if w not in line]
    if not code:
        wrong += [f"does not say '{w}'" for w in words if w not in end.err + end.out]
    if notes is not None and len(end.notes) != notes:
        wrong.append(f"{len(end.notes)} notes, not {notes}")
    return wrong + [f"broken rule: {v}" for v in end.violations()]


class Tap:
    """Tests that run some at a time; what fails is explained behind it."""

    def __init__(self, jobs, only=""):
        self.jobs, self.only, self.lock = jobs, only, threading.Lock()
        self.todo, self.done, self.failed = queue.Queue(), 0, 0

    def add(self, name, function, *arguments):
        if re.search(self.only, name):
            self.todo.put((name, function, arguments))

    def tell(self, name, wrong):
        with self.lock:
            self.done += 1
            self.failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {self.done} - {name}")
            for text in wrong:
                print("".join(f"# {line}\n" for line in text.splitlines()), end="")
            sys.stdout.flush()

    def work(self):
        bed = Bed()
        while True:
            try:
                name, function, arguments = self.todo.get_nowait()
            except queue.Empty:
                break
            try:
                wrong = function(bed, *arguments)
            except Exception as e:  # a test that breaks is one that fails
                wrong = [f"{type(e).__name__}: {e}"]
            self.tell(name, wrong)
        bed.close()

    def run(self):
        print(f"1..{self.todo.qsize()}")
        threads = [threading.Thread(target=self.work) for _ in range(self.jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return 1 if self.failed else 0
