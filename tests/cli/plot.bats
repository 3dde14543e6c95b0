#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/plot on documents of the fake device, whose delays are known (tests/cli/plot/make has
# them): the numbers that are drawn, what gnuplot is told, the pictures, and how it fails.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cp "$SRCDIR"/tests/cli/plot/*.json .
}

# plot ARGUMENT...: $code, and the files out and err
plot() {
	code=0
	timeout 60 "$SRCDIR/scripts/plot" "$@" >out 2>err 3>&- || code=$?
}

# drawn ARGUMENT...: it went well, and nothing was told
drawn() {
	plot "$@"
	if [ "$code" -ne 0 ] || [ -s err ]; then
		echo "exit $code"
		cat err
		return 1
	fi
}

# One line on stderr that has $2, nothing on stdout, exit code $1.
expect_error() {
	if [ "$code" -ne "$1" ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] ||
		[[ $(<err) != 'plot: '*"$2"* ]]; then
		echo "wanted exit $1 and one line with '$2'; got exit $code"
		cat out err
		return 1
	fi
}

# expect_table: what is on stdin is what was printed, where | stands for a tab.
expect_table() {
	tr '|' '\t' | diff - out
}

need_gnuplot() {
	command -v gnuplot >/dev/null || skip 'there is no gnuplot (Debian: gnuplot-nox)'
}

# edit FILE CODE: edited.json, the document of FILE after CODE was done to it (d) and its rows.
edit() {
	python3 - "$@" <<-'END'
		import json, sys
		document = json.load(open(sys.argv[1]))
		exec(sys.argv[2], {"d": document, "rows": document["rows"]})
		json.dump(document, open("edited.json", "w"))
	END
}

@test "the documents are valid" {
	python3 -c 'import jsonschema' || skip 'there is no python3-jsonschema'
	for f in *.json; do
		python3 "$SRCDIR/tests/validate" "$f"
	done
}

@test "the kind follows from the document" {
	while IFS='|' read -r file header; do
		drawn --data-only "$file.json"
		[ "$(head -n 1 out | tr '\t' '|')" = "$header" ] || { echo "$file"; head -n 1 out; false; }
	done <<-'END'
		fast|curve|1/(1-p)|Latency, the whole round trip (µs)
		bw|curve|Time since the window opened (s)|Bandwidth (Gb/s)
		sizes|curve|Message size (B)|Bandwidth (Gb/s)
		grid|Message size (B)|Queue pairs|Bandwidth (Gb/s)
	END
}

# At 10,000 to 40,000 a second each operation of 20 us begins when it is due. At 80,000 number 999 is
# due at 12,487.5 us and ends at 20,000: the median waits for 7.5 ms.
@test "rates: response times against them" {
	drawn --data-only rates.json
	[ "$(head -n 1 out | tr '\t' '|')" = 'curve|Messages a second, as asked for|Median response time (µs)' ]
	grep -P '^[^\t]*\t10000\t20(\.\d+)?$' out
	grep -P '^[^\t]*\t80000\t7\d{3}(\.\d+)?$' out
	drawn --data-only --x rate --y rate_achieved_per_s,backlog rates.json
	grep -P '^[^\t]*\t80000\t50$' out
}

# Of 1,000 samples 949 or 950 take 2 us, 40 take 4 us, 10 take 8 us. A bucket from 2,000 ns on is 8
# ns wide and stands for its last nanosecond, one from 4,000 ns on 16.
@test "percentiles: the values of the samples, as far as ten are beyond" {
	drawn --data-only fast.json slow.json
	[ "$(grep -cP '^fast\t1\t2\.007$' out)" -eq 1 ]
	grep -P '^fast\t(20|19\.60784314)\t2\.007$' out # 1,000 / 50, or / 51
	grep -P '^fast\t[0-9.]+\t4\.015$' out
	grep -P '^slow\t1\t20\.095$' out
	[ "$(awk -F '\t' '$1 == "fast" && $2 > m { m = $2 } END { print m }' out)" = 100 ]
	! grep -F 8.0 out
}

@test "percentiles: symbols at 50, 90 and 99 %, of their ranks" {
	drawn --script-only fast.json
	sed -n '/^\$p0m0/,/^END/p' out >marks
	grep -xF '2 2.007' marks
	grep -xF '10 2.007' marks
	grep -xE '100 (4.015|6.143)' marks
	[ "$(wc -l <marks)" -eq 5 ]
	grep -F "set logscale x 10" out
	grep -F "set xtics ('0' 1, '50' 2, '90' 10, '99' 100)" out
}

# 2,000 to 200,000 ns is less than 8 octaves, so that each has 8 parts: 128 ns at 2,000 ns.
@test "histogram: shares of the samples, in whole buckets" {
	drawn --data-only --kind histogram fast.json slow.json
	grep -P '^fast\t1\.92\t(94\.9|95)$' out
	grep -P '^fast\t3\.84\t4$' out
	grep -P '^fast\t7\.68\t1$' out
	for curve in fast slow; do
		awk -F '\t' -v c=$curve '$1 == c { n += $3 } END { print n }' out | grep -xF 100
	done
}

# 10 us a message, whatever its size: size x 8 x 100,000 bit/s.
@test "sweep: bandwidth and message rate against size, on an axis of powers of two" {
	drawn --data-only sizes.json
	expect_table <<-'END'
		curve|Message size (B)|Bandwidth (Gb/s)
		sizes|64|0.0512
		sizes|1024|0.8192
		sizes|16384|13.1072
		sizes|262144|209.7152

		curve|Message size (B)|Message rate (thousand/s)
		sizes|64|100
		sizes|1024|100
		sizes|16384|100
		sizes|262144|100
	END
	drawn --script-only sizes.json
	[ "$(grep -cxF 'set logscale x 2' out)" -eq 2 ]
	[ "$(grep -cF "set xtics ('64 B' 64, '1 KiB' 1024, '16 KiB' 16384, '256 KiB' 262144)" out)" -eq 2 ]
}

# n queue pairs take n x 10 us a message.
@test "sweep: of two options the other one makes the curves" {
	drawn --data-only --kind sweep --x qp --y msg_per_s grid.json
	for size in '64 B' '1 KiB' '4 KiB'; do
		printf '%s\t%d\t%d\n' "$size" 1 100 "$size" 2 50 "$size" 4 25
	done >want
	tail -n +2 out | diff want -
	[ "$(head -n 1 out | tr '\t' '|')" = 'curve|Queue pairs|Message rate (thousand/s)' ]
}

@test "sweep: columns by the names that --print has" {
	drawn --data-only --y bw_gbit_per_s sizes.json
	cp out first
	drawn --data-only --y bw_bit_per_s sizes.json
	cmp first out
	drawn --data-only --y bw_mib_per_s --row 1 --row 2 sizes.json
	expect_table <<-'END'
		curve|Message size (B)|Bandwidth (MiB/s)
		sizes|1024|97.65625
		sizes|16384|1562.5
	END
}

@test "sweep: what only follows from the size makes no curves" {
	edit sizes.json 'rows[3]["config"]["tx_depth"]["value"] = 32'
	drawn --data-only --y msg_per_s edited.json
	[ "$(cut -f 1 out | sort -u | tr '\n' ' ')" = 'curve edited ' ]
	edit sizes.json 'rows[3]["config"]["tx_depth"].update(value=32, reason="given")'
	drawn --data-only --y msg_per_s edited.json
	grep -P '^tx-depth 32\t262144\t100$' out
}

@test "sweep: a 0 among values that spread stands beside them" {
	edit sizes.json 'for i, row in enumerate(rows):
	 row["config"]["inline_bytes"].update(value=[0, 64, 128, 256][i], reason="given")
	 row["config"]["size_bytes"]["value"] = 64'
	drawn --script-only --y msg_per_s edited.json
	grep -F "set xlabel 'Inline limit (B)'" out
	grep -F "set xtics ('0 B' 0, '64 B' 1, '128 B' 2, '256 B' 3)" out
	grep -xF 'unset logscale x' out
}

@test "files of one row each join to a result" {
	for i in 0 1 2 3; do
		edit sizes.json "rows[:] = [rows[$i]]"
		mv edited.json "$i.json"
	done
	drawn --data-only --join --label sizes [0-3].json
	cp out joined
	drawn --data-only sizes.json
	cmp joined out
}

# 4 KiB x 8 x 100,000 a second, and four intervals of 100 ms.
@test "intervals: the rate of each, from the opening of the window on" {
	drawn --data-only bw.json
	expect_table <<-'END'
		curve|Time since the window opened (s)|Bandwidth (Gb/s)
		bw|0|3.2768
		bw|0.1|3.2768
		bw|0.2|3.2768
		bw|0.3|3.2768
		bw|0.4|3.2768
	END
	drawn --data-only --y msg_per_s bw.json
	[ "$(tail -n 1 out | cut -f 3)" = 100 ]
}

@test "heatmap: a cell for each two values, a dash where nothing was measured" {
	drawn --data-only --y msg_per_s grid.json
	expect_table <<-'END'
		Message size (B)|Queue pairs|Message rate (thousand/s)
		64 B|1|100
		1 KiB|1|100
		4 KiB|1|100
		64 B|2|50
		1 KiB|2|50
		4 KiB|2|50
		64 B|4|25
		1 KiB|4|25
		4 KiB|4|25
	END
	edit grid.json 'del rows[4]'
	drawn --data-only edited.json
	grep -P '^1 KiB\t2\tNaN$' out
}

@test "curves differ by more than their colour" {
	drawn --script-only fast.json slow.json
	grep '^set style line' out >styles
	[ "$(wc -l <styles)" -eq 2 ]
	for what in linecolor dashtype pointtype; do
		[ "$(grep -oE "$what [^ ]+( '[^']*')?" styles | sort -u | wc -l)" -eq 2 ] || { cat styles; false; }
	done
}

@test "half round trips beside whole ones are told" {
	edit failed.json 'rows.pop(); rows[0]["client"]["lat_ns"]["divisor"] = 2'
	drawn --data-only edited.json fast.json
	[ "$(cut -f 1 out | uniq | tr '\n' ' ')" = 'curve edited, RTT/2 fast ' ]
	head -n 1 out | grep -F 'Latency (µs)'
}

@test "labels are in the legend, in the order of the files" {
	drawn --script-only --label 'NIC A' fast.json slow.json
	[ "$(grep -oE "title '(NIC A|slow)'" out | tr '\n' ' ')" = "title 'NIC A' title 'slow' " ]
	mkdir other
	cp fast.json other
	drawn --script-only fast.json other/fast.json
	grep -F "title 'fast (2)'" out
}

@test "every kind is drawn, as SVG and PNG, with its axes' labels" {
	need_gnuplot
	while IFS='|' read -r kind files labels; do
		# shellcheck disable=SC2086 # files are words
		drawn --kind "$kind" -o "$kind" $files
		python3 - "$kind.svg" "$labels" <<-'END'
			import sys, xml.dom.minidom
			texts = [t.firstChild.data for t in
			         xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("text") if t.firstChild]
			missing = [label for label in sys.argv[2].split(";") if label not in texts]
			sys.exit(f"{sys.argv[1]} has {texts}, not {missing}" if missing else 0)
		END
		[ "$(head -c 4 "$kind.png" | od -An -c | tr -d ' ')" = '211PNG' ]
	done <<-'END'
		percentiles|fast.json slow.json|Percentile of the samples (%);Latency, the whole round trip (µs);fast;slow;99
		histogram|fast.json|Latency, the whole round trip (µs);Share of the samples (%)
		sweep|sizes.json|Message size (B);Bandwidth (Gb/s);Message rate (thousand/s);16 KiB
		intervals|bw.json|Time since the window opened (s);Bandwidth (Gb/s)
		heatmap|grid.json|Message size (B);Queue pairs;Bandwidth (Gb/s);4 KiB;3.28
	END
	[ -z "$(find . -name '.plot-*')" ]
}

@test "a picture has the name that is asked for, or the document's and the kind" {
	need_gnuplot
	drawn -o one.svg bw.json
	[ -s one.svg ]
	[ ! -e one.png ]
	drawn bw.json
	[ -s bw-intervals.svg ]
	[ -s bw-intervals.png ]
	drawn - <fast.json
	[ -s rdmeter-percentiles.svg ]
}

@test "a label is text, whatever is in it" {
	need_gnuplot
	label=$'it\'s `touch ran` "<&_{x}\t\e[2J'
	drawn --label "$label" --title "$label" -o odd.svg fast.json slow.json
	[ ! -e ran ]
	python3 - <<-'END'
		import xml.dom.minidom
		texts = [t.firstChild.data for t in
		         xml.dom.minidom.parse("odd.svg").getElementsByTagName("text") if t.firstChild]
		assert texts.count("it's `touch ran` \"<&_{x}??[2J") == 2, texts
	END
}

@test "usage errors: exit 2 and one line" {
	while IFS='|' read -r words told; do
		# shellcheck disable=SC2086 # words are words
		plot $words
		expect_error 2 "$told"
	done <<-'END'
		|FILE
		--zap fast.json|--zap
		--kind pie fast.json|invalid choice: 'pie'
		--size 8 fast.json|'8' is not a size
		--kind sweep fast.json|no option with numbers varies
		--kind heatmap sizes.json|exactly two options vary, not size_bytes; take --kind sweep
		--kind histogram bw.json|no row has latencies
		--kind sweep --y nosuch sizes.json|--y nosuch: no such column; there are backlog, bw_bit_per_s,
		--kind sweep --x nosuch sizes.json|--x nosuch: no setting that is a number
		--y lat_p50_ns bw.json|--y lat_p50_ns with --kind intervals
		--test lat bw.json|no row is left
		--row 9 sizes.json|no row is left
		--label a --label b fast.json|2 times --label for 1 files
		- -|'-' twice
	END
}

@test "what cannot be read: exit 3 and one line" {
	plot nosuch.json
	expect_error 3 "opening 'nosuch.json': No such file or directory"
	echo '{"rows": [' >half.json
	plot half.json
	expect_error 3 "'half.json' is no JSON document"
	printf '\377\376' >binary.json
	plot binary.json
	expect_error 3 "'binary.json' is no JSON document"
	echo '[1, 2]' >other.json
	plot other.json
	expect_error 3 'its schema is null, not "rdmeter-results/1"'
	sed 's,rdmeter-results/1,rdmeter-results/2,' fast.json >later.json
	plot later.json
	expect_error 3 'its schema is "rdmeter-results/2"'
	plot empty.json
	expect_error 3 "'empty.json' has no row with results: creating a queue pair"
	edit fast.json 'del rows[0]["config"]'
	plot edited.json
	expect_error 3 "a row is not as rdmeter-results(5) has it"
	edit fast.json 'rows[0]["client"]["lat_ns"]["count"].append(1)'
	plot edited.json
	expect_error 3 "a row is not as rdmeter-results(5) has it"
}

@test "a row that failed is left out aloud, the others are drawn" {
	plot --data-only failed.json
	[ "$code" -eq 0 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -F 'row 1 is left out, it was failed: cas failed after' err
	[ "$(tail -n 1 out | cut -f 1,3)" = $'failed\t20' ]
}

@test "what cannot be written: exit 3, one line, and no half picture" {
	code=0
	"$SRCDIR/scripts/plot" --data-only fast.json >/dev/full 2>err || code=$?
	: >out
	expect_error 3 'writing to standard output: No space left on device'
	"$SRCDIR/scripts/plot" --script-only sizes.json 2>err | head -n 1 >out
	[ ! -s err ]
	need_gnuplot
	plot -o nosuch/x.svg fast.json
	expect_error 3 "writing 'nosuch/x.svg': No such file or directory"
	mkdir taken.svg
	plot -o taken.svg fast.json
	expect_error 3 "writing 'taken.svg': Is a directory"
	[ -z "$(find . -name '.plot-*')" ]
}

@test "without gnuplot, or when it fails: exit 3, one line" {
	mkdir bin
	python=$(python3 -c 'import sys; print(sys.executable)')
	code=0
	PATH=$PWD/bin "$python" "$SRCDIR/scripts/plot" -o x.svg fast.json >out 2>err || code=$?
	expect_error 3 'there is no gnuplot; install it (Debian: gnuplot-nox)'
	printf '#!/bin/sh\ncat >/dev/null\necho "line 3: no such terminal" >&2\nexit 1\n' >bin/gnuplot
	chmod +x bin/gnuplot
	code=0
	PATH=$PWD/bin:$PATH "$SRCDIR/scripts/plot" -o x.svg fast.json >out 2>err || code=$?
	expect_error 3 "gnuplot could not draw 'x.svg': line 3: no such terminal"
	[ ! -e x.svg ]
	[ -z "$(find . -name '.plot-*')" ]
}
