# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The server sends, both send; many queue pairs; reads in flight; shared counters.

load lib.bash

# accounted OPERATION: nothing is lost in either direction: all posts completed, all sent arrived.
accounted() {
	local side other
	for side in client server; do
		other=server
		[ $side = server ] && other=client
		[ "$(count $side posted)" = "$(count $side completed)" ]
		case $1 in
		send* | write_imm)
			[ -z "$(count $side posted)" ] ||
				[ "$(count $side posted)" = "$(count $other received)" ]
			;;
		esac
	done
}

@test "the server sends: every operation, by count and by time" {
	measured --op all --test bw --direction in -s 8 -n 500
	rows server 7 550
	[ "$(grep -c ', RC, server to client' <<<"$output")" -eq 7 ]
	measured --op all --test bw --direction in -s 8 -D 0.2 --warmup 0.1
	[ "$(grep -cE '^server: posted ([0-9,]+), completed \1, ' <<<"$output")" -eq 7 ]
}

@test "the server begins: latencies of every operation" {
	measured --op all --test lat --direction in -s 8 -n 200
	rows server 7 220
	[ "$(column samples)" -eq 200 ]
}

@test "both send: every operation, by count and by time" {
	measured --op all --test bw -b -s 8 -n 500
	rows server 7 550
	rows client 7 550
	measured --op all --test bw --direction both -s 8 -D 0.3 --warmup 0.1
	[ "$(grep -cE '^client: posted ([0-9,]+), completed \1, ' <<<"$output")" -eq 7 ]
	[ "$(grep -cE '^server: posted ([0-9,]+), completed \1, ' <<<"$output")" -eq 7 ]
	[ "$(grep -c '^both directions together' <<<"$output")" -eq 7 ]
}

@test "both send, tx 83 and rx 41, no deadlock" {
	measured --op send -b -s 64 -t 83 -r 41 -n 3000
	accounted send
	measured --op send -b -s 64 -t 83 -r 41 -Q 83 -l 7 -D 0.3 --warmup 0.1
	accounted send
}

@test "5 and 16 queue pairs: every operation" {
	for q in 5 16; do
		measured --op all --test bw -s 8 -q $q -n 200
		rows client 7 $((q * 220))
		[ "$(grep -c "^of $q queue pairs the slowest had " <<<"$output")" -eq 7 ]
	done
}

@test "256 queue pairs over several completion queues" {
	measured --op write,send,read,fadd --test bw -s 8 -q 256 -n 40
	rows client 4 $((256 * 44))
	measured --op send --test bw -b -s 64 -q 64 -n 40
	accounted send
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
	[[ $output == *" 1 of 19"*"left: send latency, 8 B"* ]]
	[[ $output == *"19 of 19"*"left: fadd bandwidth, 8 B"* ]]
	run script -qec "TERM=dumb '$RDMETER' -p $PORT -n 20 $SERVER_IP" /dev/null
	[[ $output != *"1 of 19"* ]]
}
