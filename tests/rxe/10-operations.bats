# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Both operations, both tests: counts, data, and combinations that hang other tools.

load lib.bash

# Whatever was asked, all of it has completed, and what was sent has arrived.
balanced() {
	local posted completed received
	posted=$(count client posted) completed=$(count client completed)
	[ "$posted" -gt 0 ]
	[ "$posted" -eq "$completed" ]
	received=$(count server received)
	[ -z "$received" ] || [ "$received" -eq "$posted" ]
}

# The rate times the window is the number of messages, to the digits that are printed.
consistent() {
	near "$(awk -v r="$(column messages/s)" -v w="$(column window)" 'BEGIN { print r * w }')" \
		"$(column messages)" 1
}

PAYLOADS=send,send_imm,write,write_imm,read

# every_operation SIZE ITERATIONS WARMUP: lat and bw of each operation that has a payload. That
# nothing is corrupt is in the exit code.
every_operation() {
	measured --op $PAYLOADS --test lat,bw -s "$1" -n "$2" --warmup "$3"
	rows client 10 $(($2 + $3))
	[ "$(grep -c '^server: posted .*, received '$(($2 + $3))';' <<<"$output")" -ge 3 ]
}

@test "every operation at 1, 7 and 64 bytes" {
	for size in 1 7 64; do every_operation $size 24 4; done
}

@test "every operation around the MTU" {
	for size in 4095 4096 4097; do every_operation $size 24 4; done
}

@test "every operation at 64 KiB and 1 MiB" {
	every_operation 64K 24 4
	every_operation 1M 8 2
}

@test "every operation at 8 MiB" { every_operation 8M 3 1; }

@test "cas and fadd, lat and bw: the counters are what they have to be" {
	measured --op cas,fadd --test lat,bw -n 300 --warmup 20
	rows client 4 320
}

timed() {
	measured --op "$1" --test "$2" -s 64 -D 0.5 --warmup 0.1
	balanced
}

@test "write lat by time: percentiles rise, the count is the histogram's" {
	timed write lat
	at_least "$(column p50)" "$(column min)"
	at_least "$(column p90)" "$(column p50)"
	at_least "$(column max)" "$(column p99)"
	rows=$(sed -n 's/^ *[0-9.]\+ \+[0-9.]\+ \+\([0-9,]\+\) \+[0-9.]\+%.*/\1/p' <<<"$output" | tr -d , | paste -sd+ | bc)
	[ "$rows" -eq "$(column samples)" ]
}

@test "send lat by time" { timed send lat; }

@test "write bw by time: rate x window == messages" {
	timed write bw
	consistent
}

@test "send bw by time: counted where it arrives" {
	timed send bw
	consistent
	[[ $output == *"counted at the server, by arrival"* ]]
	[[ $output == *"the client's own window"* ]]
}

@test "three messages at different slots arrive whole" {
	for op in write send; do
		measured --op $op --test bw -s 64 -n 3 --warmup 0
		[ "$(count client posted)" -eq 3 ]
	done
}

# A byte is changed after the buffers were filled: at the beginning, in the middle and at the end.
@test "a planted wrong byte is found, wherever it is" {
	for op in write send write_imm; do
		for at in 0 101 191; do
			LD_PRELOAD=$CORRUPT CORRUPT_AT=$at measure --op $op --test bw -s 64 -n 3 --warmup 0
			echo "$output"
			[ "$status" -eq 4 ]
			[[ $output == *"corrupt data: 1 of 64 slots at rxe1"*"slot $((at / 64)): byte $((at % 64)) "* ]]
		done
	done
}

@test "a planted wrong byte is found in a latency test and in a large message" {
	LD_PRELOAD=$CORRUPT CORRUPT_AT=3 measure --op send --test lat -s 64 -n 3 --warmup 0
	[ "$status" -eq 4 ]
	LD_PRELOAD=$CORRUPT CORRUPT_AT=3 measure --op write --test lat -s 64 -n 3 --warmup 0
	[ "$status" -eq 4 ]
	LD_PRELOAD=$CORRUPT CORRUPT_AT=1048575 measure --op write --test bw -s 1M -n 3 --warmup 0
	[ "$status" -eq 4 ]
	[[ $output == *"slot 0: byte 1048575 "* ]]
}

@test "depth 64 with signal 100 is refused by both names" {
	refused 2 "--signal 100 with --tx-depth 64" --op write -t 64 -Q 100
	refused 2 "--signal 100 with --tx-depth 64" -t 64 -Q 100
}

@test "depth 128, signal 100, lists of 64: no deadlock" {
	for op in write send; do
		measured --op $op --test bw -s 64 -t 128 -Q 100 -l 64 -n 5000
		balanced
		measured --op $op --test bw -s 64 -t 128 -Q 100 -l 64 -D 0.3 --warmup 0.1
		balanced
	done
}

@test "depth 128, signal 64, lists of 48" {
	for op in write send; do
		measured --op $op --test bw -s 64 -t 128 -Q 64 -l 48 -n 5000
		balanced
	done
}

@test "1, 5 and 1001 iterations with signal 7" {
	for n in 1 5 1001; do
		measured --op write,send --test lat,bw -s 64 -Q 7 -n $n --warmup 0
		rows client 4 $n
		[ "$(column samples)" -eq $n ]
	done
}

@test "every remainder of iterations by signal 7 and lists of 5" {
	for n in 14 15 16 17 18 19 20; do
		measured --op write --test bw -s 64 -t 16 -Q 7 -l 5 -n $n --warmup 0
		[ "$(count client completed)" -eq $n ]
	done
}

@test "depth 1" {
	measured --op write,send --test lat,bw -s 64 -t 1 -n 500
	rows client 4 550
}

@test "a latency test with few samples makes no percentile up" {
	measured --test lat -n 15 --warmup 0
	[ "$(column p50)" = - ]
	[ "$(column p99)" = - ]
	[ "$(column max)" != - ]
}

@test "alignment, offset, inline, MTU, stamps and depths as asked" {
	measured --test bw -s 100 --align 64 --offset 63 -n 200
	measured --test bw -s 4097 --align 2M --offset 1 -n 200
	measured --test bw -s 64 -I 64 -n 200
	measured --test lat -s 65 -I 64 -n 200
	measured --test bw -s 4097 -m 1024 -n 200
	[[ $output =~ mtu\ +1024\ \(given\) ]]
	measured --test bw -s 64 --stamp off -n 200
	[[ $output != *"from post to completion"* ]]
	measured --test bw -s 64 --stamp all -Q 1 -n 200 --warmup 0
	[ "$(column stamped)" -eq 200 ]
	measured --op send --test bw -s 64 -r 4 -t 32 -n 500
}

@test "defaults passed explicitly change nothing" {
	measured --plan --op write -s 64
	id=$(sed -n 's/^config id *//p' <<<"$output")
	measured --plan -s 64 --op write --test bw --direction out -t 128 -r 256 -l 1 -Q 32 -I 0 \
		--stamp 1 --align 4K --offset 0 -D 2 --warmup 0.5 -m 4096
	[ "$(sed -n 's/^config id *//p' <<<"$output")" = "$id" ]
	[[ $output != *messages/s* ]]
}
