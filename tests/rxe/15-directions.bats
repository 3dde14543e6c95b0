# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The server sends, both send; many queue pairs; reads in flight; shared counters.

load lib.bash

OPERATIONS='send send_imm write write_imm read cas fadd'
TWO_SIDED=' send send_imm write_imm '

# Nothing is lost in either direction: all posts completed, all that was sent arrived.
all_accounted() {
	local side other
	for side in client server; do
		other=server
		[ $side = server ] && other=client
		[ "$(count $side posted)" = "$(count $side completed)" ]
		if [[ $TWO_SIDED == *" $1 "* && -n $(count $side posted) ]]; then
			[ "$(count $side posted)" = "$(count $other received)" ]
		fi
	done
}

@test "the server sends: every operation, by count and by time" {
	for op in $OPERATIONS; do
		measured --op $op --test bw --direction in -s 8 -n 500
		[ "$(count server posted)" -eq 550 ]
		all_accounted $op
		measured --op $op --test bw --direction in -s 8 -D 0.2 --warmup 0.1
		all_accounted $op
		[[ $output == *"server to client"* ]]
	done
}

@test "the server begins: latencies of every operation" {
	for op in $OPERATIONS; do
		measured --op $op --test lat --direction in -s 8 -n 200
		[ "$(column samples)" -eq 200 ]
		[ "$(count server posted)" -eq 220 ]
	done
}

@test "both send: every operation, by count and by time" {
	for op in $OPERATIONS; do
		measured --op $op --test bw -b -s 8 -n 500
		[ "$(count server posted)" -eq 550 ]
		[ "$(count client posted)" -eq 550 ]
		all_accounted $op
		measured --op $op --test bw --direction both -s 8 -D 0.3 --warmup 0.1
		all_accounted $op
		[[ $output == *"both directions together"* ]]
	done
}

@test "both send, tx 83 and rx 41, no deadlock" {
	measured --op send -b -s 64 -t 83 -r 41 -n 3000
	all_accounted send
	measured --op send -b -s 64 -t 83 -r 41 -Q 83 -l 7 -D 0.3 --warmup 0.1
	all_accounted send
}

@test "5 and 16 queue pairs: every operation" {
	for op in $OPERATIONS; do
		for q in 5 16; do
			measured --op $op --test bw -s 8 -q $q -n 200
			[ "$(count client completed)" -eq $((q * 220)) ]
			all_accounted $op
			[[ $output == *"of $q queue pairs the slowest had "* ]]
		done
	done
}

@test "256 queue pairs over several completion queues" {
	for op in write send read fadd; do
		measured --op $op --test bw -s 8 -q 256 -n 40
		[ "$(count client completed)" -eq $((256 * 44)) ]
		all_accounted $op
	done
	measured --op send --test bw -b -s 64 -q 64 -n 40
	all_accounted send
}

@test "1,024 queue pairs" {
	measured --op write --test bw -s 8 -q 1024 -t 16 -n 10
	[ "$(count client completed)" -eq $((1024 * 11)) ]
}

@test "reads with 5 queue pairs, depth 12, 10,000 iterations" {
	measured --op read --test bw -s 64 -q 5 -t 12 -n 10000
	[ "$(count client completed)" -eq 55000 ]
}

@test "outstanding reads: as asked, and what the devices leave of it" {
	measured --op read -s 4K -o 1 -n 300
	[[ $output =~ outs\ +1\ \(given\) ]]
	measured --op read -s 4K -o 200 -n 300
	[[ $output =~ outs\ +128\ \(200\ -\>\ 128, ]]
}

@test "one counter for all: fadd adds up, cas misses are counted" {
	measured --op fadd -q 8 -n 100 --atomic-target shared
	[[ $output != *"than they expected"* ]]
	measured --op cas -q 8 -n 100 --atomic-target shared
	[[ $output =~ ([0-9]+)\ operations\ found\ another\ value ]]
	[ "${BASH_REMATCH[1]}" -ge 1 ]
	[ "${BASH_REMATCH[1]}" -lt 880 ]
	measured --op cas -q 8 -n 100
	[[ $output != *"than they expected"* ]]
}

@test "lists of operations and tests run in one session, in order" {
	measured --op send,read --test lat,bw -n 100
	titles=$(sed -n 's/^rdmeter [0-9.]*: \(.*\), RC.*/\1/p' <<<"$output" | paste -sd,)
	[ "$titles" = "send latency,send bandwidth,read latency,read bandwidth" ]
	refused 2 "--op 'sned': no such operation" --op send,sned
}

@test "the overview: a line an operation, with every number" {
	measured
	[ "$(grep -cE '^(send|send_imm|write|write_imm|read) +[0-9.,]+ +[0-9.,]+ +[0-9.,]+ +[0-9.,]+$' <<<"$output")" -eq 5 ]
	[ "$(grep -cE '^(cas|fadd) +[0-9.,]+ +[0-9.,]+ +- +-$' <<<"$output")" -eq 2 ]
	[ "$(wc -L <<<"$output")" -le 100 ]
	[[ $output != *$'\033'* ]]
}

@test "the overview shows its progress on a terminal, and only there" {
	run script -qec "stty cols 80; TERM=xterm '$RDMETER' -p $PORT -n 20 $SERVER_IP" /dev/null
	[[ $output == *"1 of 19: send latency, 8 B"* ]]
	[[ $output == *"19 of 19: fadd bandwidth, 8 B"* ]]
	run script -qec "TERM=dumb '$RDMETER' -p $PORT -n 20 $SERVER_IP" /dev/null
	[[ $output != *"1 of 19"* ]]
}
