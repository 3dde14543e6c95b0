#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# That `make bench` works, at durations too short to mean anything: every row there, none failed.

load lib.bash

# Without perftest: it takes a while to start, and what it prints is its own affair.
bench() {
	timeout 120 python3 "$SRCDIR/tests/bench/bench" \
		--rdmeter "$RDMETER" --bare "$BENCH_BARE" --device "$FAKEVERBS_SO" --repeats 1 \
		--seconds 0.001 "$@" 3>&-
}

# A table's rows: from the line of its columns to the empty one.
rows() {
	awk '/^instance/ { on = 1; next } on && !NF { exit } on' "$1"
}

@test "the bench prints every row, and none has failed" {
	bench --no-perftest --markdown table.md >out 2>err || { cat err; false; }
	rows out >rows
	! grep -E 'failed|Traceback' out rows err
	[ "$(wc -l <rows)" -eq 28 ]
	# Three senders' variants, a receiver, both latencies: rates of rdmeter and bare, no perftest.
	for name in 'write, signal 1, stamp all' 'write, lists of 16, stamp off' \
		'cas, signal 100' 'send, signal 100, receiver' 'send both ways, signal 100' \
		'write lat' 'cas lat'; do
		grep -E "^$name +[0-9,.]+( M)? +[0-9,.]+( M)? +- " rows || { echo "no $name"; false; }
	done
	grep -E '^(cpu|kernel|compiler|commit|perftest|load) ' out | [ "$(wc -l)" -eq 6 ]
	[ "$(grep -c '^| ' table.md)" -eq 29 ]
}

@test "a program that fails makes its row fail, and the bench" {
	printf '#!/bin/sh\necho no >&2\nexit 3\n' >broken
	chmod +x broken
	code=0
	bench --no-perftest --only '^cas lat$' --rdmeter ./broken >out 2>err || code=$?
	[ "$code" -eq 1 ]
	rows out | grep -E '^cas lat +failed'
	grep -F 'broken' err
}
