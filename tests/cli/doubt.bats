#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Requirements, warnings and counters of whole runs, on the device of tests/fakeverbs. Besides what
# lib.bash wants, FAKEVERBS_SO and FAKE_SYSFS_SO are what is preloaded.

bats_require_minimum_version 1.5.0

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
	mkdir fabric sysfs
	export FAKEVERBS_DIR=$PWD/fabric FAKE_SYSFS=$PWD/sysfs
	# The program alone gets the device: not what the tests call.
	cat >rdmeter <<-EOF
		#!/bin/bash
		LD_PRELOAD=$FAKE_SYSFS_SO:$FAKEVERBS_SO exec "$RDMETER" "\$@"
	EOF
	chmod +x rdmeter
	RDMETER=$PWD/rdmeter
}

# wants CODE ARGUMENT...: a run against the server ends so
wants() {
	local wanted=$1
	shift
	rdm -p "$port" "$@" 127.0.0.1
	[ "$code" -eq "$wanted" ] && return
	echo "exit $code, not $wanted"
	cat out err
	return 1
}

# Line $1 is in what was printed, or with a second word in that file.
says() {
	grep -qE -- "$1" "${2:-out}" && return
	echo "no '$1' in:"
	cat "${2:-out}"
	return 1
}

says_no() {
	! says "$1" >/dev/null && return
	says "$1" && cat out
	return 1
}

quick=(--test bw -s 64 -n 20000)

@test 'a requirement that holds: exit 0, and what was got' {
	server
	wants 0 "${quick[@]}" --require 'bw>1b/s' --require 'messages>=10000'
	says '^require bw>1b/s: holds: [0-9.e+]+ b/s$'
	says '^require messages>=10000: holds: [0-9]+$'
}

@test 'a requirement that fails: exit 1, and the result all the same' {
	server
	wants 1 "${quick[@]}" --require 'bw>1b/s' --require 'msg>1000G/s'
	says '^require bw>1b/s: holds: '
	says '^require msg>1000G/s: fails: [0-9.e-]+ G/s$'
	says '^counted at the client'
	[ ! -s err ]
}

@test 'all rows have to hold it' {
	server
	wants 1 --op write,read --test lat,bw -n 1000 --require 'msg<1/s' --require 'p50<10s'
	[ "$(grep -c '^require msg<1/s: fails' out)" -eq 2 ]
	[ "$(grep -c '^require msg<1/s: does not apply to this test$' out)" -eq 2 ]
	[ "$(grep -c '^require p50<10s: holds' out)" -ge 3 ]
}

@test 'what is not measured is inconclusive: exit 5' {
	server
	wants 5 --test lat --op read -n 500 --require 'p99.9<10s'
	says '^require p99.9<10s: inconclusive: not measured$'
	wants 5 --test lat --op read -n 50 --require 'max<10s'
	says '^require max<10s: inconclusive: [0-9.e-]+ s of too few messages$'
	wants 5 --test lat --op read -n 500 --require 'bw>1b/s'
	wants 1 --test lat --op read -n 500 --require 'p99.9<10s' --require 'p50<0.001ns'
}

@test 'a wrong requirement is refused before anything is run' {
	port=1
	wants 2 --require 'p98<3us'
	says "no column 'p98'; there are size, " err
	wants 2 --require 'p99<3furlongs'
	says "'furlongs' is no unit of p99; there are ns, us, ms, s" err
	wants 2 --require 'p99'
	[ ! -s out ]
}

@test 'a failure of the run is told by its own exit code' {
	server
	FAKEVERBS=status=12:5 wants 4 "${quick[@]}" --require 'msg>1000G/s'
	wants 3 "${quick[@]}" -d nosuch --require 'msg>1000G/s'
}

@test 'the overview tells of the rows that fail on stderr' {
	server
	wants 1 --duration 0.02 --warmup 0.01 --require 'msg<1/s'
	says '^rdmeter: row 2, send bw: require msg<1/s: fails: ' err
	says_no '^require'
}

@test 'plan judges nothing' {
	server
	wants 0 "${quick[@]}" --plan --require 'msg<1/s'
}

@test 'few, short, a burst' {
	server
	wants 0 --test bw -n 60 -t 128
	says '^warning: [0-9]+ messages in the window are too few for a verdict; '
	says '^warning: the window lasted only '
	says '^warning: the queue holds all 60 messages at once'
	wants 0 --test lat --op read -n 500
	says '^warning: 500 samples are too few for p99, p99.9, p99.99; raise '
}

@test 'reads that wait for their turn' {
	export FAKEVERBS=max_rd_atomic=4
	server
	wants 0 --op read --test bw -s 64 -n 20000 -t 16
	says '^warning: the one queue pair may have 4 of its 16 requests outstanding at the'
	wants 0 --op read --test bw -s 64 -n 20000 -t 4
	says_no 'requests outstanding'
	wants 0 --op write --test bw -s 64 -n 20000 -t 16
	says_no 'requests outstanding'
}

# Every second one comes after 90 us instead of 20: in the bins [18,432, 20,480) and
# [81,920, 90,112), whose middles are 19,456 and 86,016. A clock may be coarse beside those of less.
@test 'latencies with two modes' {
	for ((i = 0; i < 700; i++)); do echo 20000 && echo 90000; done >late
	server
	FAKEVERBS="clock=virtual late=@$PWD/late" wants 0 --op read --test lat -n 1000
	says '^warning: the latency has two modes: about 19.5 us \(50 % of the samples\) and 86 us; '
	FAKEVERBS='clock=virtual late=20000' wants 0 --op read --test lat -n 1000
	says_no 'two modes'
}

# counter NAME VALUE: as the kernel shows it, whole at any time
counter() {
	mkdir -p sysfs/fake0/ports/1/hw_counters
	echo "$2" >"sysfs/$1" && mv "sysfs/$1" sysfs/fake0/ports/1/hw_counters/
}

@test 'counters that moved at either end, and what they mean' {
	counter lifespan 12
	counter sent_pkts 100
	counter rcvd_seq_err 7
	counter ack_deferred 1
	counter still 5
	server
	rdm -p "$port" --op write --test bw -s 64 -D 1 --warmup 0.2 127.0.0.1 &
	run=$!
	started+=("$run")
	for ((i = 1; i < 40; i++)); do
		counter sent_pkts $((100 + i)) && counter rcvd_seq_err $((7 + i))
		counter ack_deferred "$i"
		sleep 0.05
	done
	wait "$run"
	for side in client server; do
		says "^counters $side: ack_deferred \+[0-9]+, rcvd_seq_err \+[0-9]+, sent_pkts \+[0-9]+\$"
	done
	says '^warning: client: rcvd_seq_err \+[0-9]+; server: rcvd_seq_err \+[0-9]+; look for loss'
	says_no 'warning.*(ack_deferred|sent_pkts)'
	wants 0 "${quick[@]}"
	says '^counters client: none moved$'
	says '^counters server: none moved$'
}

@test 'a device without counters has no line of them' {
	server
	wants 0 "${quick[@]}"
	says_no '^counters'
}
