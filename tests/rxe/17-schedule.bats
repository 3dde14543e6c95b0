# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# By schedule: --rate for every operation and both tests, and --gap.

load lib.bash

# rate_kept RATE ARGUMENT...: achieved within 0.5 %, and nothing is marked. An emulated CPU may be
# taken away for longer than that, so the best of five tries.
rate_kept() {
	local rate=$1 try
	shift
	for try in 1 2 3 4 5; do
		measured "$@"
		near "$(column achieved)" "$rate" 0.5 && [[ $output != *"warning: backlog"* ]] && return 0
		echo "try $try: $(column achieved) instead of $rate"
	done
	return 1
}

# A response begins no later than its service.
response_covers_service() {
	at_least "$(column mean "$(sed -n '/^response:/,$p' <<<"$output")")" "$(column mean)"
}

@test "every operation by schedule, lat and bw: all of it is sent, and arrives" {
	measured --op all --test lat,bw --rate 1k -n 60 --warmup 5
	rows client 14 65
	[ "$(grep -c '^schedule; ' <<<"$output")" -eq 14 ]
	[ "$(grep -c '^response: ' <<<"$output")" -eq 14 ]
}

@test "a rate that the device can follow is achieved within 0.5 %" {
	rate_kept 2000 --op write --test bw -s 64 --rate 2k -n 1600 --warmup 100
	response_covers_service
	rate_kept 1000 --op read --test bw -s 64 --rate 1k -n 800 --warmup 50
	response_covers_service
	rate_kept 500 --op fadd --test lat --rate 500 -n 400 --warmup 25
	response_covers_service
}

@test "a rate in bits a second, several queue pairs, bursts, both directions" {
	rate_kept 500 --op write --test bw -s 1000 --rate 4Mb/s -n 100 -q 4 --burst 4 --warmup 4
	measured --op send --test bw -s 64 --rate 300 -n 200 -b
	[ "$(grep -c '^schedule; ' <<<"$output")" -eq 2 ]
}

@test "2 messages a second, and 999 of 1 MiB" {
	rate_kept 2 --op write --test bw -s 4K --rate 2 -n 4 --warmup 1
	measured --op write --test bw -s 1M --rate 999 -n 20 --warmup 1
}

@test "a rate beyond the device is marked, and responses grow beyond the service" {
	measured --op write --test bw -s 64K --rate 1M -D 0.5 --warmup 0.1
	[[ $output == *"warning: backlog"* ]]
	at_least 500000 "$(column achieved)"
	at_least "$(column backlog)" 1000
	at_least "$(column max "$(sed -n '/^response:/,$p' <<<"$output")")" 100000
}

@test "several rates make a sweep, whose rows are marked where there is a backlog" {
	measured --op write --test bw -s 64K --rate 500,1M -n 300 --warmup 10
	[[ $output == *" rate  "*" achieved "*" resp p50 "* ]]
	grep -Eq '^ +1000000/s .* backlog$' <<<"$output"
}

@test "random arrivals show their seed, and the other side can be the one that sends" {
	measured --op read --test lat --rate 300 -n 200 --arrival poisson --seed 5 --direction in
	[[ $output == *"arrival "*"poisson"* && $output == *"seed "*"5 (given)"* ]]
	response_covers_service
}

# Of 40 pauses of 20 ms none is in a sample. The run is as long as they are, which is all of its
# length that is known. Reads, since a ping-pong of two that poll for one CPU may take as long.
@test "gaps lie outside of the samples, and pass" {
	local before=$EPOCHREALTIME
	measured --op read --test lat --gap 20ms -n 40 --warmup 0
	at_least "$(awk -v a="$EPOCHREALTIME" -v b="$before" 'BEGIN { print a - b }')" 0.78
	at_least 20000 "$(column p50)"
}

@test "what cannot go by schedule is refused" {
	refused 2 "--batch 4 with --rate" --test bw --op write --rate 1k -l 4
	refused 2 "--gap with --test bw" --test bw --op write --gap 1ms
	refused 2 "--stall-timeout with --rate" --test bw --op write --rate 0.1
	refused 2 "overview" --rate 1k
}
