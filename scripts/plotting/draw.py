# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A figure as text for gnuplot, and as a table; and gnuplot run."""
import math
import os
import subprocess
import tempfile

from plotting.results import SETUP, Trouble

FONT = "sans-serif,15"
# Curves differ in colour, dash and symbol, so that any one of them suffices. The colours are those
# of Okabe and Ito, told apart by the colour-blind; 7 of them, 5 dashes and 8 symbols make 280.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", "(14,5)", "(4,4)", "(14,4,3,4)", "(8,3,3,3,3,3)")
SYMBOLS = (7, 5, 9, 13, 6, 4, 8, 12)
MARGIN = 1.08  # above the largest value


def quoted(text):
    """In single quotes gnuplot neither runs commands nor reads escapes."""
    return "'" + text.replace("'", "''") + "'"


def number(value):
    return "NaN" if math.isnan(value) else f"{value:.10g}"


def table(figure):
    """Panels apart by an empty line; each with its header, a line a point."""
    out = []
    for panel in figure.panels:
        names = ["curve", panel.x.data or panel.x.label, panel.y.label]
        if panel.cells:
            names = [panel.x.label, panel.y.label, panel.cells.label]
        lines = ["\t".join(names)]
        for curve in panel.curves:
            for point in curve.points:
                if panel.cells:
                    texts = [panel.x.tics[point[0]][0], panel.y.tics[point[1]][0]]
                    lines.append("\t".join([*texts, number(point[2])]))
                else:
                    lines.append("\t".join([curve.name, *map(number, point)]))
        out.append("\n".join(lines) + "\n")
    return "\n".join(out)


def blocks(figure):
    """The numbers, as gnuplot's data blocks: $pXcY and, of those with a symbol, $pXmY."""
    out = []
    for p, panel in enumerate(figure.panels):
        for c, curve in enumerate(panel.curves):
            for letter, points in (("c", curve.points), ("m", curve.marks)):
                if points:
                    out += [f"$p{p}{letter}{c} << END", *(" ".join(map(number, point))
                                                          for point in points), "END"]
    return out


def axis_lines(name, a):
    lines = [f"set {name}label {quoted(a.label)}",
             f"set logscale {name} {a.log}" if a.log else f"unset logscale {name}",
             f"set {name}tics autofreq"]
    if a.tics:
        named = [f"{quoted(text)} {number(where)}" for text, where in a.tics]
        lines.append(f"set {name}tics ({', '.join(named)})")
    return lines


def step(largest):
    """1, 2 or 5 times a power of ten, of which up to five make the axis."""
    power = 10.0 ** math.floor(math.log10(largest / 5))
    return next(power * n for n in (1, 2, 5, 10) if power * n * 5 >= largest)


def ranges(panel):
    """A little room on every side; both axes whole where gnuplot would cut at the last point."""
    xs = [point[0] for curve in panel.curves for point in curve.points]
    if panel.cells:
        return [f"set xrange [-0.5:{max(xs) + 0.5:g}]",
                f"set yrange [-0.5:{max(p[1] for c in panel.curves for p in c.points) + 0.5:g}]"]
    ys = [point[1] for curve in panel.curves for point in curve.points]
    lines = []
    if panel.x.log and min(xs) < max(xs) and not panel.steps:
        lines.append(f"set xrange [{min(xs) / 1.2:.10g}:{max(xs) * 1.2:.10g}]")
    elif min(xs) < max(xs):
        room = 0 if panel.steps else 0.03 * (max(xs) - min(xs))
        lines.append(f"set xrange [{min(xs) - room:.10g}:{max(xs) + room:.10g}]")
    else:
        lines.append("set xrange [*:*]")
    if panel.zero and not panel.y.log and max(ys) > 0:
        lines += [f"set yrange [0:{max(ys) * MARGIN:.10g}]", f"set ytics 0,{step(max(ys)):.10g}"]
    else:
        lines.append("set yrange [*:*]")
    return lines


def curve_plots(p, panel, legend):
    """Steps cannot have symbols: the line, its symbols, and the two together for the legend."""
    plots = []
    for c, curve in enumerate(panel.curves):
        title = f"title {quoted(curve.name)}" if legend else "notitle"
        style = {"before": "fsteps", "after": "steps", "": "lines"}[panel.steps]
        marks = f"$p{p}c{c}" if curve.marks is None else f"$p{p}m{c}" if curve.marks else ""
        plots.append(f"$p{p}c{c} using 1:2 with {style} linestyle {c + 1} notitle")
        if marks:
            plots.append(f"{marks} using 1:2 with points linestyle {c + 1} notitle")
        plots.append(f"NaN with {'linespoints' if marks else 'lines'} linestyle {c + 1} {title}")
    return plots


def cell_plots(p, panel):
    """Colour and number: the darker the more, and the number readable on either."""
    values = [v for _, _, v in panel.curves[0].points if not math.isnan(v)]
    middle = min(values) + 0.6 * (max(values) - min(values))
    data = f"$p{p}c0"
    text = "sprintf('%.3g', $3)"
    return [
        f"{data} using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 "
        "with boxxyerror linecolor palette fillstyle solid border linecolor rgb 'white' notitle",
        f"{data} using 1:2:($3 <= {middle:.10g} ? {text} : '') "
        "with labels textcolor rgb 'black' notitle",
        f"{data} using 1:2:($3 > {middle:.10g} ? {text} : '') "
        "with labels textcolor rgb 'white' notitle",
        f"{data} using 1:2:($3 != $3 ? '-' : '') with labels textcolor rgb 'black' notitle",
    ]


def panel_lines(figure, p):
    panel, last = figure.panels[p], p == len(figure.panels) - 1
    lines = axis_lines("x", panel.x) + axis_lines("y", panel.y) + ranges(panel)
    if not last:
        lines.append("unset xlabel")
    lines.append(f"set title {quoted(figure.title)}" if figure.title and p == 0 else "unset title")
    if panel.cells:
        values = [v for _, _, v in panel.curves[0].points if not math.isnan(v)]
        lines += ["unset key", "unset grid", "set tics scale 0",
                  "set palette defined (0 '#eef4fa', 0.6 '#6baed6', 1 '#08306b')",
                  f"set cblabel {quoted(panel.cells.label)} offset 1.5"]
        if min(values) == max(values):
            lines.append(f"set cbrange [{min(0, values[0]):.10g}:{max(values[0], 1):.10g}]")
        plots = cell_plots(p, panel)
    else:
        legend = p == 0 and len(panel.curves) > 1
        lines.append("set key above left Left reverse noenhanced" if legend else "unset key")
        plots = curve_plots(p, panel, legend)
    return [*lines, "plot \\", ", \\\n".join("  " + one for one in plots)]


def script(figure, terminal):
    """All of it, the numbers included: what gnuplot draws from this alone."""
    lines = ["# made by rdmeter's scripts/plot", "set encoding utf8", terminal,
             "set border 3 linewidth 1.2", "set tics nomirror out",
             "set grid linecolor rgb '#d0d0d0' linewidth 0.8 dashtype solid"]
    most = max(len(panel.curves) for panel in figure.panels)
    for i in range(most):
        lines.append(f"set style line {i + 1} linewidth 2.2 pointsize 0.9 "
                     f"linecolor rgb '{COLOURS[i % len(COLOURS)]}' "
                     f"dashtype {DASHES[i % len(DASHES)]} pointtype {SYMBOLS[i % len(SYMBOLS)]}")
    lines += blocks(figure)
    if len(figure.panels) > 1:
        lines += [f"set multiplot layout {len(figure.panels)},1", "set lmargin 9"]
    for p in range(len(figure.panels)):
        lines += panel_lines(figure, p)
    if len(figure.panels) > 1:
        lines.append("unset multiplot")
    return "\n".join(lines) + "\n"


def terminal_for(path, size):
    """The same picture in either form; PNG with twice the pixels, for paper."""
    width, height = size
    if path.endswith(".png"):
        return (f"set terminal pngcairo size {2 * width},{2 * height} font '{FONT}' fontscale 2 "
                "linewidth 2 pointscale 2 noenhanced background '#ffffff'")
    return (f"set terminal svg size {width},{height} dynamic font '{FONT}' noenhanced "
            "background '#ffffff'")


def draw(figure, path, size):
    """By way of a file beside it, so that a half picture never has the name."""
    try:
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".plot-")
        os.close(handle)
    except OSError as e:
        raise Trouble(SETUP, f"writing '{path}': {e.strerror}; name another place with -o") from e
    try:
        text = script(figure, terminal_for(path, size) + f"\nset output {quoted(name)}")
        ended = subprocess.run(["gnuplot", "-d", "-"], input=text, text=True, encoding="utf-8",
                               capture_output=True, check=False)
        told = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
        if ended.returncode or os.path.getsize(name) == 0:
            raise Trouble(SETUP, f"gnuplot could not draw '{path}': "
                                 f"{told[-1] if told else f'exit {ended.returncode}'}")
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except FileNotFoundError as e:
        raise Trouble(SETUP, "there is no gnuplot; install it (Debian: gnuplot-nox)") from e
    except OSError as e:
        raise Trouble(SETUP, f"writing '{path}': {e.strerror}; name another place with -o") from e
    finally:
        if os.path.exists(name):
            os.unlink(name)
