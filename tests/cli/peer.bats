#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/peer-table on runs whose medians, intervals and verdicts are worked out by hand.

load lib.bash

# runs ROW...: a document with these rows, each "WHAT RDMETER PERFTEST" with figures by commas;
# its table in the file out, the verdicts' lines alone in the file rows
runs() {
	python3 - "$@" >runs.json <<-'EOF'
		import json, sys
		rows = []
		for text in sys.argv[1:]:
		    what, *both = text.split()
		    mine, theirs = ([float(n) for n in figures.split(",")] for figures in both)
		    rows.append({"op": "write", "test": "lat" if what == "p50" else "bw", "size": 64,
		                 "depth": 1, "signal": 1, "iters": 10, "what": what,
		                 "rdmeter": mine, "perftest": theirs})
		guest = dict.fromkeys(("cpu", "kernel", "rdma-core", "perftest", "rdmeter"), "x")
		json.dump({"guest": guest, "repeats": len(mine), "rows": rows}, sys.stdout)
	EOF
	python3 "$SRCDIR/scripts/peer-table" --publish table.md runs.json >out 3>&-
	grep -E '^write (lat|bw) 64 B' out | sed 's/.*)  *//; s/  */ /g' >rows
}

# verdict ROW WANTED: ratio, interval, pairs, dropped runs and verdict
verdict() {
	runs "$1"
	echo "$2" | diff - rows
}

tens=10,10,10,10,10,10,10,10,10,10

@test "the interval of ten pairs is from the second to the ninth ratio" {
	verdict "p50 10.4,10.1,10.9,10.3,10.2,10.5,10.8,10.6,10.7,11 $tens" '1.055 1.020-1.090 10 0 WORSE'
	verdict "p50 9.4,9.1,9.9,9.3,9.2,9.5,9.8,9.6,9.7,10 $tens" '0.955 0.920-0.990 10 0 better'
	verdict "p50 9.6,10.5,9.7,9.8,9.9,10.1,10.2,10.3,10.4,10 $tens" '1.005 0.970-1.040 10 0 no worse'
}

@test "for a rate it is the other way round" {
	verdict "messages/s 10.4,10.1,10.9,10.3,10.2,10.5,10.8,10.6,10.7,11 $tens" '1.055 1.020-1.090 10 0 better'
	verdict "messages/s 9.4,9.1,9.9,9.3,9.2,9.5,9.8,9.6,9.7,10 $tens" '0.955 0.920-0.990 10 0 WORSE'
	verdict "MiB/s 9.4,9.1,9.9,9.3,9.2,9.5,9.8,9.6,9.7,10 $tens" '0.955 0.920-0.990 10 0 WORSE'
}

@test "the ratios are those of the pairs, not of the medians" {
	verdict 'p50 10,20,30,40,50,44 10,20,30,40,50,40' '1.000 1.000-1.100 6 0 no worse'
}

@test "the interval has 95 % at every number of pairs, and fewer than six have none" {
	verdict 'p50 10,11,12,13,14 10,10,10,10,10' '1.200 - 5 0 too few'
	verdict 'p50 10,11,12,13,14,15 10,10,10,10,10,10' '1.250 1.000-1.500 6 0 no worse, wide'
	verdict 'p50 10,11,12,13,14,15,16,17 10,10,10,10,10,10,10,10' '1.350 1.000-1.700 8 0 no worse, wide'
	verdict 'p50 10,11,12,13,14,15,16,17,18 10,10,10,10,10,10,10,10,10' '1.400 1.100-1.700 9 0 WORSE'
	verdict "p50 10,11,12,13,14,15,16,17,18,19,20,21 $tens,10,10" '1.550 1.200-1.900 12 0 WORSE'
}

@test "one that could as well be ten percent worse is said to be wide" {
	verdict "p50 9,9,9,9,10,10,10,11.1,11.1,11.1 $tens" '1.000 0.900-1.110 10 0 no worse, wide'
	verdict "p50 9,9,9,9,10,10,10,10.9,10.9,10.9 $tens" '1.000 0.900-1.090 10 0 no worse'
	verdict "messages/s 11,11,11,11,10,10,10,9,9,9 $tens" '1.000 0.900-1.100 10 0 no worse, wide'
}

@test "a run beyond five times either median is dropped with its pair, and counted" {
	verdict "p50 10,10,10,10,50,10,10,10,10,10 $tens" '1.000 1.000-1.000 10 0 no worse'
	verdict "p50 10,10,10,10,50.1,10,10,10,10,10 $tens" '1.000 1.000-1.000 9 1 no worse'
	verdict "p50 $tens 10,10,10,10,50.1,10,10,10,10,10" '1.000 1.000-1.000 9 1 no worse'
	verdict "p50 10,60,10,10,10,10,10,10,10,10 60,60,10,10,10,10,10,10,10,10" \
		'1.000 1.000-1.000 8 3 no worse'
	# Three times its own median, six times the other one's.
	verdict "p50 20,20,20,20,60,20,20,20,20,20 $tens" '2.000 2.000-2.000 9 1 WORSE'
	# A rate is late when it is low.
	verdict "messages/s 10,10,10,10,1.9,10,10,10,10,10 $tens" '1.000 1.000-1.000 9 1 no worse'
	verdict "messages/s 10,10,10,10,90,10,10,10,10,10 $tens" '1.000 1.000-1.000 10 0 no worse'
}

@test "the last line counts what is held, and what is published has the same rows" {
	runs "p50 9.4,9.1,9.9,9.3,9.2,9.5,9.8,9.6,9.7,10 $tens" \
		"messages/s 9.4,9.1,9.9,9.3,9.2,9.5,9.8,9.6,9.7,10 $tens" "MiB/s $tens $tens"
	[ "$(tail -n 1 out)" = '2 of 3 no worse; not held: write bw 64 B (WORSE).' ]
	grep -F '| write bw 64 B | messages/s | 10 (9-10) | 10 (10-10) | 0.955 | 0.920-0.990 | 10 | 0 | WORSE |' table.md
	[ "$(grep -c '^| write' table.md)" -eq 3 ]
	grep -F '2 of 3 no worse' table.md
	grep -E "^\* write bw 64 B \(WORSE\): not explained yet" table.md
	runs 'p50 10,11,12,13,14,15 10,10,10,10,10,10' "p50 $tens $tens"
	[ "$(tail -n 1 out)" = '2 of 2 no worse, 1 of them with a wide interval.' ]
}

@test "a reason is given for no more than it explains" {
	runs "messages/s 9.95,9.95,9.95,9.95,9.95,9.95,9.95,9.95,9.95,9.95 $tens"
	grep -F '* write bw 64 B (WORSE): each post is a write(2)' table.md
	runs "messages/s 9.8,9.8,9.8,9.8,9.8,9.8,9.8,9.8,9.8,9.8 $tens"
	grep -F '* write bw 64 B (WORSE): not explained yet.' table.md
	runs 'p50 10,11 10,10'
	grep -F '* write lat 64 B (too few): not explained yet.' table.md
}

@test "a run that printed a rate of nothing is dropped" {
	verdict "messages/s $tens 10,10,10,10,10,10,10,10,10,0" '1.000 1.000-1.000 9 1 no worse'
}
