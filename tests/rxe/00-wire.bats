# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The wire's own test: without it nothing that follows means anything.

load lib.bash

teardown() { tc qdisc del dev "$CLIENT_NET" root 2>/dev/null || true; }

@test "the two ends are different devices" {
	measured --test lat -n 100
	[[ $output =~ device\ +rxe0\ port\ 1.*rxe1\ port\ 1 ]]
	[[ $output != *loopback* ]]
}

@test "5 ms of delay on one side raises the p50 of a write by at least 2.4 ms" {
	measured --op write --test lat -D 1
	before=$(column p50)
	at_least 1000 "$(column min)"
	tc qdisc add dev "$CLIENT_NET" root netem delay 5ms
	measured --op write --test lat -D 1
	after=$(column p50)
	echo "p50 $before us, with delay $after us"
	at_least "$after" "$(awk -v b="$before" 'BEGIN { print b + 2400 }')"
	# Half of a round trip shows half of the delay, not all of it.
	at_least 4000 "$(column min)"
}

@test "1 % of loss moves rcvd_seq_err" {
	tc qdisc add dev "$CLIENT_NET" root netem loss 1%
	before=$(($(counter rxe0 rcvd_seq_err) + $(counter rxe1 rcvd_seq_err)))
	measured --op write --test bw -s 64K -n 500
	sleep 0.05
	after=$(($(counter rxe0 rcvd_seq_err) + $(counter rxe1 rcvd_seq_err)))
	echo "rcvd_seq_err $before -> $after"
	[ "$after" -gt "$before" ]
}
