# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From rows to figures: what stands on which axis, in which unit. Nothing of gnuplot."""
import math
from dataclasses import dataclass, field

from plotting.results import USAGE, Trouble, harmless, varied


@dataclass
class Curve:
    name: str
    points: list
    marks: list = None  # points that have a symbol; None: all


@dataclass
class Axis:
    label: str
    log: int = 0                               # base, 0 for linear
    tics: list = field(default_factory=list)   # (text, where), empty: as they come
    data: str = ""                             # what the numbers are, where the label says other


@dataclass
class Panel:
    x: Axis
    y: Axis
    curves: list
    steps: str = ""     # "before" or "after" the point; "" for lines
    zero: bool = False  # the y axis begins at 0
    cells: Axis = None  # of a heat map: what the third number is


@dataclass
class Figure:
    title: str
    panels: list


# Settings and columns by name: what an axis says. Others are said by their name.
SETTINGS = {
    "size_bytes": "Message size", "qp": "Queue pairs", "tx_depth": "Send queue depth",
    "rx_depth": "Receives posted", "batch": "Work requests a list", "signal": "Signal interval",
    "outs": "Outstanding reads and atomics", "inline_bytes": "Inline limit", "mtu_bytes": "Path MTU",
    "align_bytes": "Buffer alignment", "offset_bytes": "Buffer offset", "stamp": "Stamp interval",
    "iters": "Messages a queue pair", "rate_msg_per_s": "Messages a second, as asked for",
}
COLUMNS = {
    "bw_bit_per_s": "Bandwidth", "bw_bytes_per_s": "Bandwidth", "msg_per_s": "Message rate",
    "rate_achieved_per_s": "Rate achieved", "backlog": "Largest backlog (messages)",
    "lat_samples": "Latency samples", "stamped": "Stamped requests", "window_s": "Window",
}
STATISTICS = {"p50": "Median", "min": "Least", "max": "Largest", "mean": "Mean",
              "stdev": "Standard deviation of"}

# Suffixes of keys: the units that an axis may have, the largest fitting one is taken.
UNITS = (
    ("_bit_per_s", ((1e9, "Gb/s"), (1e6, "Mb/s"))),
    ("_bytes_per_s", ((1 << 20, "MiB/s"),)),
    ("_per_s", ((1e6, "million/s"), (1e3, "thousand/s"), (1, "1/s"))),
    ("_ns", ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))),
    ("_s", ((1, "s"),)),
)
# A larger unit only when the numbers are well beyond it: 2,000 us is easier than 2 ms beside 900 us.
UNIT_FLOOR = {"ms": 20, "s": 20}


def unit_of(key, largest):
    for suffix, units in UNITS:
        if key.endswith(suffix):
            for factor, name in units:
                if largest >= factor * UNIT_FLOOR.get(name, 1):
                    return factor, name
            return units[-1]
    return 1, ""


def size_text(n):
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n >= 1 << power and n % (1 << power) == 0:
            return f"{n >> power} {unit}"
    return f"{n} B"


def setting_text(key, value):
    if value is None:
        return "-"
    return size_text(value) if key.endswith("_bytes") and isinstance(value, int) else str(value)


def column_name(key, rows):
    if key in COLUMNS:
        return COLUMNS[key]
    for prefix, what in (("lat_", latency_name(rows)), ("stamped_", latency_name(rows)),
                         ("response_", "response time"), ("late_", "lateness"),
                         ("interval_", "bandwidth of an interval")):
        if key.startswith(prefix):
            statistic = key[len(prefix):].split("_")[0]
            if statistic.startswith("p") and statistic != "p50":
                return f"{what[0].upper()}{what[1:]}, {statistic}"
            return f"{STATISTICS.get(statistic, statistic)} {what}"
    return key


def divisors_of(rows):
    return {flow.histogram.divisor for row in rows for flow in row.flows if flow.histogram}


def latency_name(rows):
    """Says what was timed, as the header of rdmeter's text does."""
    if rows[0].test == "bw":
        return "completion latency"
    divisors = divisors_of(rows)
    if divisors == {2}:
        return "latency, half the round trip"
    return "latency, the whole round trip" if divisors == {1} else "latency"


def axis(name, unit, **more):
    return Axis(f"{name} ({unit})" if unit else name, **more)


def title_of(rows):
    """What all rows have in common."""
    parts = []
    for key in ("op", "test", "size_bytes"):
        values = {row.config[key] for row in rows}
        if len(values) == 1:
            value = values.pop()
            parts.append({"lat": "latency", "bw": "bandwidth"}.get(value, value)
                         if key != "size_bytes" else f"of {size_text(row_size(rows))}")
    return "rdmeter: " + " ".join(parts) if parts else "rdmeter"


def row_size(rows):
    return rows[0].size


def each_flow(rows, keys):
    """(curve's name, row, flow): the name says in what the curve differs from the others."""
    labels = {row.label for row in rows}
    ways = {flow.name for row in rows for flow in row.flows}
    mixed = rows[0].test == "lat" and len(divisors_of(rows)) > 1
    for row in rows:
        for flow in row.flows:
            name = [row.label] if len(labels) > 1 else []
            for key in keys:
                text = setting_text(key, row.config.get(key))
                name.append(text if key in ("op", "direction", "size_bytes") else
                            f"{key.removesuffix('_bytes').replace('_', '-')} {text}")
            if len(ways) > 1 and len(row.flows) > 1:
                name.append(flow.name)
            if mixed and flow.histogram and flow.histogram.divisor == 2:
                name.append("RTT/2")  # beside others that are whole ones
            yield harmless(", ".join(name) or row.label), row, flow


def distribution_curves(rows, keys, what):
    """Histograms of the same curve are not joined: a second row of it says which it is."""
    used, found = {}, []
    for name, row, flow in each_flow(rows, keys):
        if not flow.histogram:
            continue
        used[name] = used.get(name, 0) + 1
        found.append((name if used[name] == 1 else f"{name} ({used[name]})", what(flow)))
    if not found:
        raise Trouble(USAGE, "no row has latencies: measure with --test lat, or let --stamp be")
    return found


def percentiles(rows, options):
    found = distribution_curves(rows, varied(rows), lambda flow: flow.histogram)
    factor, unit = unit_of("_ns", max(v for _, h in found for _, v in h.percentiles()))
    scaled = lambda points: [(x, value / factor) for x, value in points]
    curves = [Curve(name, scaled(h.percentiles()), scaled(h.marks())) for name, h in found]
    last = max(curve.points[-1][0] for curve in curves)
    tics, nines = [("0", 1), ("50", 2)], 10
    while nines <= max(last, 10):
        digits = len(str(nines)) - 1
        tics.append((("9" * digits if digits <= 2 else f"99.{'9' * (digits - 2)}")
                     if digits > 1 else "90", nines))
        nines *= 10
    values = [y for curve in curves for _, y in curve.points]
    name = latency_name(rows)
    return Figure(title_of(rows), [Panel(
        Axis("Percentile of the samples (%)", 10, tics, "1/(1-p)"),
        axis(name[0].upper() + name[1:], unit, log=log_of(values, options, 30)),
        curves, steps="before", zero=True)])


def log_of(values, options, ratio=0):
    """10 when asked for, or when they spread more than that; 0, a linear axis, else."""
    least = min(values)
    if options.log_y or (ratio and least > 0 and max(values) > ratio * least):
        if least <= 0:
            raise Trouble(USAGE, "--log-y: there are values of 0; drop it")
        return 10
    return 0


def histogram(rows, options):
    found = distribution_curves(rows, varied(rows), lambda flow: flow.histogram)
    least = min(h.buckets[0][0] for _, h in found)
    octaves = 1 + math.log2(max(h.buckets[-1][0] for _, h in found) / max(least, 1) or 1)
    parts = 128
    while parts > 4 and parts * octaves > 96:
        parts //= 2
    factor, unit = unit_of("_ns", max(end for _, h in found for _, end, _ in h.bins(parts)))
    curves = []
    for name, h in found:
        bins = h.bins(parts)
        points = [(begin / factor, 100 * share) for begin, _, share in bins]
        curves.append(Curve(name, [(points[0][0], 0), *points, (bins[-1][1] / factor, 0)], []))
    ends = [x for curve in curves for x, _ in curve.points]
    name = latency_name(rows)
    return Figure(title_of(rows), [Panel(
        axis(name[0].upper() + name[1:], unit,
             log=10 if min(ends) > 0 and max(ends) > 10 * min(ends) else 0),
        Axis("Share of the samples (%)", log=0), curves, steps="after", zero=True)])


def intervals(rows, options):
    key = (options.y or ["bw_bit_per_s" if rows[0].test == "bw" else "msg_per_s"])[0]
    if key not in ("bw_bit_per_s", "bw_bytes_per_s", "msg_per_s"):
        raise Trouble(USAGE, f"--y {key} with --kind intervals: an interval has bw_bit_per_s, "
                             "bw_bytes_per_s and msg_per_s only")
    curves = []
    for name, row, flow in each_flow(rows, varied(rows)):
        weight = {"bw_bit_per_s": 8 * row.size, "bw_bytes_per_s": row.size}.get(key, 1)
        times = flow.intervals
        points = [(b[0], b[1] * weight / (b[0] - a[0])) for a, b in zip(times, times[1:])
                  if b[0] > a[0]]
        if points:
            curves.append(Curve(name, [(times[0][0], points[0][1]), *points],
                                points if len(points) <= 40 else []))
    if not curves:
        raise Trouble(USAGE, "no row has intervals: its window was too short; measure for longer")
    factor, unit = unit_of(key, max(y for curve in curves for _, y in curve.points))
    scale(curves, factor)
    values = [y for curve in curves for _, y in curve.points]
    return Figure(title_of(rows), [Panel(
        Axis("Time since the window opened (s)"),
        axis(COLUMNS[key], unit, log=log_of(values, options)), curves, steps="before", zero=True)])


def scale(curves, factor):
    for curve in curves:
        curve.points = [(x, y / factor) for x, y in curve.points]
        curve.marks = curve.marks and [(x, y / factor) for x, y in curve.marks]


def numeric(rows, key):
    return all(isinstance(row.config.get(key), int) for row in rows)


def values_of(rows, key):
    return sorted({row.config[key] for row in rows})


def choose_x(rows, options, keys):
    if options.x:
        key = options.x.replace("-", "_")
        key = next((k for k in rows[0].config
                    if k in (key, key + "_bytes", key + "_ns", key + "_msg_per_s")), None)
        if not key or not numeric(rows, key):
            raise Trouble(USAGE, f"--x {options.x}: no setting that is a number in every row; "
                                 f"there are {', '.join(k for k in rows[0].config if numeric(rows, k))}")
        return key
    numbers = [key for key in keys if numeric(rows, key)]
    if not numbers:
        raise Trouble(USAGE, "no option with numbers varies between the rows: sweep one, or take "
                             "--kind percentiles, histogram or intervals")
    return "size_bytes" if "size_bytes" in numbers else max(
        numbers, key=lambda k: len(values_of(rows, k)))


def setting_axis(rows, key):
    """Powers of two where it spreads, else linear. Returns the axis, and from value to place: a 0
    among values that spread has none, so they stand one beside the other."""
    values = values_of(rows, key)
    name = SETTINGS.get(key, key)
    unit = "B" if key.endswith("_bytes") else ""
    spread = values[-1] >= 8 * max(values[0], 1)
    text = lambda v: setting_text(key, v)
    if values[0] <= 0 and spread:
        tics = [(text(v), i) for i, v in enumerate(values)]
        return axis(name, unit, tics=thin(tics), data=""), {v: i for i, v in enumerate(values)}
    return (axis(name, unit, log=2 if spread else 0, tics=thin([(text(v), v) for v in values])),
            {v: v for v in values})


def thin(tics, most=9):
    """Every tic stays, but not every one is named."""
    step = math.ceil(len(tics) / most)
    return [(text if i % step == 0 else "", where) for i, (text, where) in enumerate(tics)]


def default_columns(rows):
    if rows[0].config.get("rate_msg_per_s"):
        return ["response_p50_ns", "response_p99_ns"]
    return ["bw_bit_per_s", "msg_per_s"] if rows[0].test == "bw" else ["lat_p50_ns", "lat_p99_ns"]


def need_column(rows, key):
    """A column may also be asked for by the name that --print has for it."""
    names = {k for row in rows for flow in row.flows for k in flow.columns}
    for asked, stored in (("_us", "_ns"), ("_mib_per_s", "_bytes_per_s"),
                          ("_gbit_per_s", "_bit_per_s")):
        if key not in names and key.endswith(asked):
            key = key.removesuffix(asked) + stored
    if key not in names:
        raise Trouble(USAGE, f"--y {key}: no such column; there are {', '.join(sorted(names))}")
    return key


def sweep_panel(rows, key, x, options):
    x_axis, place = setting_axis(rows, x)
    curves = {}
    for name, row, flow in each_flow(rows, [k for k in varied(rows) if k != x]):
        value = flow.columns.get(key)
        if value is not None:
            curves.setdefault(name, Curve(name, [])).points.append((place[row.config[x]], value))
    curves = list(curves.values())
    if not curves:
        raise Trouble(USAGE, f"{key} was not measured in any row: too few samples; measure for "
                             "longer, or take another column with --y")
    for curve in curves:
        curve.points.sort()
    factor, unit = unit_of(key, max(y for curve in curves for _, y in curve.points))
    scale(curves, factor)
    values = [y for curve in curves for _, y in curve.points]
    ratio = 0 if key.endswith("_per_s") else 30
    return Panel(x_axis, axis(column_name(key, rows), unit, log=log_of(values, options, ratio)),
                 curves, zero=True)


def sweep(rows, options):
    x = choose_x(rows, options, varied(rows))
    keys = [need_column(rows, key) for key in options.y or default_columns(rows)]
    if not options.y and all(flow.columns.get(keys[-1]) is None
                             for row in rows for flow in row.flows):
        keys.pop()  # too few samples for a tail
    return Figure(title_of(rows), [sweep_panel(rows, key, x, options) for key in keys])


def heatmap(rows, options):
    keys = varied(rows)
    x = choose_x(rows, options, keys)
    rest = [key for key in keys if key != x]
    if len(rest) != 1 or len({row.label for row in rows}) > 1:
        raise Trouble(USAGE, "a heat map takes one result in which exactly two options vary, not "
                             f"{', '.join(keys)}; take --kind sweep")
    y = rest[0]
    key = need_column(rows, (options.y or default_columns(rows))[0])
    columns = values_of(rows, x)
    lines = sorted({row.config[y] for row in rows}, key=lambda v: (isinstance(v, str), v))
    cells = {}
    for row in rows:
        both = [flow.columns.get(key) for flow in row.flows]
        if len(both) > 1:
            raise Trouble(USAGE, "a heat map has one number a row, and these have two directions; "
                                 "take --kind sweep")
        cells[columns.index(row.config[x]), lines.index(row.config[y])] = both[0]
    measured = [v for v in cells.values() if v is not None]
    if not measured:
        raise Trouble(USAGE, f"{key} was not measured in any row; take another column with --y")
    factor, unit = unit_of(key, max(measured))
    points = [(i, j, cells[i, j] / factor if cells.get((i, j)) is not None else math.nan)
              for j in range(len(lines)) for i in range(len(columns))]
    named = lambda name, values: axis(
        SETTINGS.get(name, name), "B" if name.endswith("_bytes") else "",
        tics=[(setting_text(name, v), i) for i, v in enumerate(values)])
    return Figure(title_of(rows), [Panel(
        named(x, columns), named(y, lines), [Curve("cells", points)],
        cells=axis(column_name(key, rows), unit))])


KINDS = {"percentiles": percentiles, "histogram": histogram, "sweep": sweep,
         "intervals": intervals, "heatmap": heatmap}


def default_kind(rows):
    """What the rows are for: a sweep is one along its option, a single one is its distribution, or
    how steady it was."""
    keys = varied(rows)
    numbers = [key for key in keys if numeric(rows, key)]
    if len(numbers) == 2 == len(keys) and len({row.label for row in rows}) == 1 and \
            all(len(values_of(rows, key)) > 2 for key in numbers):
        return "heatmap"
    if numbers:
        return "sweep"
    return "percentiles" if rows[0].test == "lat" else "intervals"
