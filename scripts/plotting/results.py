# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a document of `rdmeter --json` holds, see rdmeter-results(5), as pictures need it."""
import json
import sys

SCHEMA = "rdmeter-results/1"
USAGE, SETUP = 2, 3  # exit codes, as rdmeter's


class Trouble(Exception):
    """What is wrong, for the person who asked: one line, and the exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def harmless(text):
    """Names may come from anywhere: nothing in them is to be more than a character."""
    shown = str(text).encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in shown)


def note(text):
    print(f"plot: {harmless(text)}", file=sys.stderr)


def count(value):
    """Beyond 2^53 a document has hexadecimal text."""
    return int(value, 16) if isinstance(value, str) else int(value)


class Histogram:
    """Counts by bucket; values are divided as rdmeter shows them, in nanoseconds."""

    def __init__(self, stored):
        self.divisor = stored["divisor"]
        self.n, self.max = count(stored["n"]), count(stored["max"])
        low, counts = stored["low"], stored["count"]
        if len(low) != len(counts) or not low or sum(map(count, counts)) != self.n:
            raise ValueError("a histogram that does not add up")
        self.buckets = sorted(zip(map(count, low), map(count, counts)))

    def top(self, low):
        """What stands for a bucket: its highest value, but never more than was seen."""
        return min(self.max, low + bucket_width(low) - 1) / self.divisor

    def percentiles(self):
        """(1 / (1 - p), value) for each p up to which that is the value, from p = 0 on and as far
        as ten samples are beyond: rdmeter shows no further one either."""
        points, below = [(1.0, self.top(self.buckets[0][0]))], 0
        for low, n in self.buckets:
            below += n
            left = max(self.n - below, 10)
            if self.n / left > points[-1][0]:
                points.append((self.n / left, self.top(low)))
        return points

    def marks(self):
        """The same at the percentiles that people name: 50, 90, 99, 99.9 ..."""
        points, nines = [], 2
        while self.n // nines >= 10:
            rank, below = self.n - self.n // nines, 0
            for low, n in self.buckets:
                below += n
                if below >= rank:
                    points.append((nines, self.top(low)))
                    break
            nines = 10 if nines == 2 else nines * 10
        return points

    def bins(self, parts):
        """(begin, end, share of the samples) of equal parts of each octave, those without samples
        between others included. Buckets are never cut."""
        found = {}
        for low, n in self.buckets:
            octave = 1 << (max(low, 1).bit_length() - 1)
            width = max(octave // parts, 1)
            begin = low - (low - octave) % width if low else 0
            found[begin] = (begin + (width if low else 1), found.get(begin, (0, 0))[1] + n)
        out = []
        for begin in sorted(found):
            end, n = found[begin]
            if out and out[-1][1] < begin / self.divisor:
                out.append((out[-1][1], begin / self.divisor, 0))
            out.append((begin / self.divisor, end / self.divisor, n / self.n))
        return out


def bucket_width(low):
    """1 ns below 256 ns; from there on 128 of the same width in an octave."""
    return 1 if low < 256 else 1 << (low.bit_length() - 8)


class Flow:
    """One side that sends, or takes the latency, within a row."""

    def __init__(self, row, flow):
        self.name = f"{flow['from']} to {flow['to']}"
        self.columns = {key: value for key, value in flow.items()
                        if value is None or isinstance(value, (int, float))}
        side = row[flow["from"]]
        taken = side and side["lat_ns"]
        self.histogram = Histogram(taken) if taken else None
        counting = row[flow["counted_at"]] if flow["counted_at"] else None
        self.intervals = self.times(counting) if counting and counting["intervals"] else []

    @staticmethod
    def times(side):
        """(seconds since the window opened, messages since the interval before) of each one's end,
        after the begin of the first."""
        times = [count(t) for t in side["intervals"]["t_ns"]]
        counts = [count(n) for n in side["intervals"]["count"]]
        if len(times) != len(counts) or times != sorted(times):
            raise ValueError("intervals that do not go on")
        return [((t - times[0]) / 1e9, n - before)
                for t, n, before in zip(times, counts, counts[:1] + counts)]


class Row:
    def __init__(self, label, row):
        self.label = label  # of the result that it is of
        self.index, self.status, self.error = row["index"], row["status"], row["error"]
        self.config = {key: one["value"] for key, one in row["config"].items()}
        self.given = {key for key, one in row["config"].items()
                      if one["reason"].startswith("given")}
        self.size, self.test = count(self.config["size_bytes"]), self.config["test"]
        self.flows = []
        if self.status in ("measured", "interrupted"):
            self.flows = [Flow(row, flow) for flow in row["flows"]]


def read_document(path):
    try:
        if path == "-":
            document = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as f:
                document = json.load(f)
    except OSError as e:
        raise Trouble(SETUP, f"opening '{path}': {e.strerror}; "
                             "give the FILE that rdmeter --json=FILE wrote") from e
    except (ValueError, RecursionError) as e:
        raise Trouble(SETUP, f"'{path}' is no JSON document: {e}; "
                             "give the FILE that rdmeter --json=FILE wrote") from e
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise Trouble(SETUP, f"'{path}' is no document of rdmeter --json: its schema is "
                             f"{json.dumps(schema)}, not \"{SCHEMA}\"")
    return document


def read_rows(path, label):
    """The rows of a document that have numbers; of the others it is told why they are left out."""
    document = read_document(path)
    try:
        rows = [Row(label, row) for row in document["rows"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise Trouble(SETUP, f"'{path}': a row is not as rdmeter-results(5) has it: "
                             f"{type(e).__name__} {e}; was it edited?") from e
    for row in rows:
        if not row.flows:
            note(f"{path}: row {row.index} is left out, it was {row.status}"
                 f"{': ' + row.error if row.error else ''}")
    rows = [row for row in rows if row.flows]
    if not rows:
        error = document.get("error")
        why = f": {error['message']}" if isinstance(error, dict) and "message" in error else ""
        raise Trouble(SETUP, f"'{path}' has no row with results{why}")
    return rows


def varied(rows):
    """The settings in which rows of one result differ, in the order of the document: those that
    were asked for, since the others only follow from them."""
    found = []
    for key in rows[0].config:
        for label in dict.fromkeys(row.label for row in rows):
            own = [row for row in rows if row.label == label]
            if len({json.dumps(row.config.get(key)) for row in own}) > 1:
                found.append((key, any(key in row.given for row in own)))
                break
    asked = [key for key, given in found if given]
    return [key for key in asked or [key for key, _ in found] if key != "test"]
