# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# By schedule: --rate for every operation and both tests, and --gap.

load lib.bash

# rate_kept RATE: of the first table that says so, within 0.5 %; and nothing is marked.
rate_kept() {
	near "$(column achieved)" "$1" 0.5
	[[ $output != *"warning: backlog"* ]]
}

# A response begins no later than its service.
response_covers_service() {
	at_least "$(column mean "$(sed -n '/^response:/,$p' <<<"$output")")" "$(column mean)"
}

@test "every operation by schedule, lat and bw: all of it is sent, and arrives" {
	measured --op all --test lat,bw --rate 500 -n 100 --warmup 10
	rows client 14 110
	[ "$(grep -c '^schedule; ' <<<"$output")" -eq 14 ]
	[ "$(grep -c '^response: ' <<<"$output")" -eq 14 ]
}

@test "a rate that the device can follow is achieved within 0.5 %" {
	for op in write send read; do
		measured --op $op --test bw -s 64 --rate 500 -n 500 --warmup 20
		rate_kept 500
		response_covers_service
	done
}

@test "a rate in bits a second, several queue pairs, bursts, both directions" {
	measured --op write --test bw -s 1000 --rate 4Mb/s -n 50 -q 4 --burst 4 --warmup 5
	rate_kept 500
	measured --op send --test bw -s 64 --rate 300 -n 200 -b
	[ "$(grep -c '^schedule; ' <<<"$output")" -eq 2 ]
}

@test "0.5, 1 and 999 messages a second of 1 MiB" {
	measured --op write --test bw -s 1M --rate 0.5 -n 3 --warmup 1
	rate_kept 0.5
	measured --op write --test bw -s 1M --rate 1 -n 4 --warmup 1
	rate_kept 1
	measured --op write --test bw -s 1M --rate 999 -n 20 --warmup 1
}

@test "a rate beyond the device is marked, and responses grow beyond the service" {
	measured --op write --test bw -s 64K --rate 1M -D 0.5 --warmup 0.1
	[[ $output == *"warning: backlog"* ]]
	at_least 500000 "$(column achieved)"
	at_least "$(column backlog)" 1000
	at_least "$(column max "$(sed -n '/^response:/,$p' <<<"$output")")" 100000
}

@test "random arrivals show their seed, and the other side can be the one that sends" {
	measured --op read --test lat --rate 300 -n 200 --arrival poisson --seed 5 --direction in
	[[ $output == *"arrival "*"poisson"* && $output == *"seed "*"5 (given)"* ]]
	response_covers_service
}

# Of 100 pauses of 5 ms none is in a sample. The run is as long as they are, which is all of its
# length that is known.
@test "gaps lie outside of the samples, and pass" {
	local before=$EPOCHREALTIME
	measured --op send --test lat --gap 5ms -n 100 --warmup 0
	at_least "$(awk -v a="$EPOCHREALTIME" -v b="$before" 'BEGIN { print a - b }')" 0.5
	at_least 5000 "$(column p50)"
}

@test "what cannot go by schedule is refused" {
	refused 2 "--batch 4 with --rate" --test bw --op write --rate 1k -l 4
	refused 2 "--gap with --test bw" --test bw --op write --gap 1ms
	refused 2 "--stall-timeout with --rate" --test bw --op write --rate 0.1
	refused 2 "overview" --rate 1k
}
