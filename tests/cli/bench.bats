#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# That `make bench` works, at durations too short to mean anything: every row there, none failed.

load lib.bash

# Without perftest: it takes a while to start, and what it prints is its own affair.
bench() {
	code=0
	BENCH_LONG=2000 timeout 120 python3 "$SRCDIR/tests/bench/bench" --rdmeter "$RDMETER" \
		--bare "$BENCH_BARE" --device "$FAKEVERBS_SO" --times "$BENCH_TIMES" --repeats 1 \
		--seconds 0.001 --no-perftest "$@" >out 2>err 3>&- || code=$?
}

# A table's rows, by its first column's name: from the line of its columns to the empty one.
rows() {
	awk -v first="$1" '$1 == first { on = 1; next } on && !NF { exit } on' out
}

# The record that was just made, with the count of one row changed by that factor.
tamper() {
	python3 - "$1" <<-'EOF'
		import json, sys
		record = json.load(open('record.json'))
		record['rows']['read, signal 100'] *= float(sys.argv[1])
		json.dump(record, open('record.json', 'w'))
	EOF
}

@test "the bench prints every row of both tables, and none has failed" {
	bench --full --publish results.md
	[ "$code" -eq 0 ] || { cat err; false; }
	! grep -E 'failed|Traceback' out err
	rows instance >long
	[ "$(wc -l <long)" -eq 36 ]
	# Three senders' variants, a receiver, both latencies: rates of rdmeter and bare, no perftest.
	for name in 'write, signal 1, stamp all' 'write, lists of 16, stamp off' \
		'cas, signal 100' 'send, signal 100, receiver' 'send both ways, signal 100' \
		'write lat' 'cas lat'; do
		grep -E "^$name +[0-9,.]+( M)? +[0-9,.]+( M)? +- " long || { echo "no $name"; false; }
	done
	rows what >short
	# So short a run may take less CPU time than one that only sets up: no figure.
	for way in 'signal 1' 'signal 100' 'lists of 16'; do
		for row in "write, $way" "read, $way" "cas, $way" "fadd, $way" "send, $way, sender" \
			"send, $way, receiver"; do
			grep -E "^$row: of bare +[0-9.]+ ns +[0-9.]+ ns .*(yes|NO|no figure)$" short ||
				{ echo "no $row: of bare"; false; }
			grep -E "^$row: of perftest .* no perftest$" short
		done
	done
	[ "$(grep -c 'stamp all: of bare' short)" -eq 5 ]
	for name in 'read latency, p50' 'cas latency, a whole sample' 'a clock read' \
		'fadd latency, a whole sample' 'write latency, p50' 'send latency, p50' \
		'16 queue pairs' '256 queue pairs' '4,096 queue pairs' 'set-up of 1,024 .* less verbs' \
		'set-up of 1,024 .* of perftest' 'set-up of 4,096' 'start: exec' 'memory of 2e\+03' \
		'read of a device 100 us late, virtual clock' 'read of a device .*, real clock'; do
		grep -E "^$name" short || { echo "no $name"; false; }
	done
	grep -E '^(cpu|kernel|compiler|commit|perftest|runs|load) ' out | [ "$(wc -l)" -eq 7 ]
	# What is published has the same rows.
	[ "$(grep -c '^| [a-z0-9]' results.md)" -eq $((2 + $(wc -l <short) + $(wc -l <long))) ]
}

@test "a delay that is known is what is told, on a clock that stands still" {
	bench --only 'accuracy virtual'
	[ "$code" -eq 0 ]
	rows what | grep -E ' 100,000.0 ns +100,000.0 ns +100.00 % .* yes$'
}

@test "what is not held is said, and an error only if it is to be" {
	# A thing that does nothing at once is late for 10 ms.
	printf '#!/bin/sh\nsleep 0.05\nexec "%s" "$@"\n' "$RDMETER" >late
	chmod +x late
	bench --only '^start$' --rdmeter ./late
	[ "$code" -eq 0 ]
	rows what | grep -E '^start: .* NO$'
	grep -F '0 of 1 held; not held: start: exec to first post.' out
	BENCH_STRICT=1 bench --only '^start$' --rdmeter ./late
	[ "$code" -eq 1 ]
}

@test "a program that fails makes its row fail, and the bench" {
	printf '#!/bin/sh\necho no >&2\nexit 3\n' >broken
	chmod +x broken
	bench --full --only '^cas lat$' --rdmeter ./broken
	[ "$code" -eq 1 ]
	rows instance | grep -E '^cas lat +failed'
	grep -F 'broken' err
}

@test "instructions beyond the record are an error, those of another compiler are not compared" {
	command -v valgrind || skip 'no valgrind'
	compiler='cc 1, -g -O2' same='cc 1, -O2 -g'
	bench --only '^read, signal 100$' --record record.json --compiler "$compiler" --renew
	[ "$code" -eq 0 ] || { cat out err; false; }
	grep -E '"read, signal 100": [0-9.]+' record.json || skip 'built without debugging information'
	tamper 0.9
	bench --only '^read, signal 100$' --record record.json --compiler "$same" --check
	[ "$code" -eq 1 ]
	grep -E 'read, signal 100: [0-9.]+ instructions, \+1[01]\.[0-9] % .* EXCEEDS THE RECORD' out
	tamper 1.1
	bench --only '^read, signal 100$' --record record.json --compiler "$same" --check
	[ "$code" -eq 0 ]
	grep -F '1 instances counted, 0 exceed' out
	tamper 0.5
	bench --only '^read, signal 100$' --record record.json --compiler 'cc 2, -O2 -g' --check
	[ "$code" -eq 0 ]
	grep -F "not compared with the record: compiler 'cc 2'" out
}

@test "the README's figures are those of the results" {
	readme=$SRCDIR/README.md results=$SRCDIR/results/bench.md
	published=$SRCDIR/tests/bench/published.py
	python3 "$published" "$results" "$readme" 3>&-
	sed 's/^\(| write, signal 100: of bare | [0-9]*\)\./\17./' "$results" >changed
	code=0
	python3 "$published" changed "$readme" >out 3>&- || code=$?
	[ "$code" -eq 1 ]
	grep -F 'make bench-results' out
}

@test "what is not held in the results has its reason" {
	cp "$SRCDIR/results/bench.md" results.md
	echo '* read, signal 1: of bare: not explained' >>results.md
	code=0
	python3 "$SRCDIR/tests/bench/published.py" results.md "$SRCDIR/README.md" >out 3>&- || code=$?
	[ "$code" -eq 1 ]
	grep -F 'read, signal 1: of bare: not explained' out
}
