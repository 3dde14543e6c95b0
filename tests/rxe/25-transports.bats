# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UC and UD on a real wire, with and without loss: each operation and test that they have. The control
# connection shares that wire, so that a wire which loses everything is in tests/fake/lossy.

load lib.bash

teardown() { tc qdisc del dev "$CLIENT_NET" root 2>/dev/null || true; }

lossy_wire() { tc qdisc add dev "$CLIENT_NET" root netem loss "${1:-1}%"; }

# loss_of WHAT: sent, received, answered or lost, of the first direction that says so.
loss_of() {
	sed -n "s/^[a-z]* to [a-z]*: sent .*\b$1 \([0-9,]*\).*/\1/p; s/^[a-z]* to [a-z]*: $1 \([0-9,]*\),.*/\1/p" \
		<<<"$output" | head -n 1 | tr -d ,
}

# told SENT: in each row that knows, sent is what was asked for, and the rest adds up.
told() {
	local plain
	plain=$(sed -E ':a; s/([0-9]),([0-9]{3})/\1\2/; ta' <<<"$output")
	awk -v want="$1" '
		/^(client|server) to (client|server): sent / {
			n++
			gsub(",", "")
			if ($5 != want) bad = bad "\n" $0
			if ($0 !~ /unknown/ && $5 != $7 + $9) bad = bad "\n" $0
		}
		END { if (!n || bad) { print "not of " want ":" bad; exit 1 } }' <<<"$plain"
}

# Nothing is lost where one message is in flight, or where there is a receive for each.
@test "uc: every operation and test, nothing lost" {
	measured -c uc --op all --test lat -s 64 -n 200 --warmup 20 --loss-timeout 2
	told 220
	[ "$(grep -c 'answered 220, lost 0 ' <<<"$output")" -eq 4 ]
	measured -c uc --op all --test bw -s 64 -t 8 -r 512 -n 200 --warmup 20
	told 220
	[ "$(grep -c 'received 220, lost 0 ' <<<"$output")" -eq 3 ]
	[ "$(grep -c 'delivered: unknown' <<<"$output")" -eq 1 ]
}

@test "ud: every operation and test, nothing lost" {
	measured -c ud --op all --test lat -s 64 -n 200 --warmup 20 --loss-timeout 2
	told 220
	[ "$(grep -c 'answered 220, lost 0 ' <<<"$output")" -eq 2 ]
	measured -c ud --op all --test bw -s 64 -t 8 -r 512 -n 200 --warmup 20
	told 220
	[ "$(grep -c 'received 220, lost 0 ' <<<"$output")" -eq 2 ]
}

@test "uc and ud with 1 % of loss: each operation and test comes to its end, and tells" {
	lossy_wire
	for connection in uc ud; do
		measured -c $connection --op all --test lat -s 64 -n 100 --warmup 20 --loss-timeout 20ms
		told 120
		measured -c $connection --op all --test bw -s 64 -n 500 --warmup 50
		told 550
	done
}

@test "rc with 1 % of loss loses nothing, and does not speak of it" {
	lossy_wire
	measured -c rc --op send,write --test lat,bw -s 64 -n 200 --warmup 20
	[[ $output != *" lost "* ]]
}

@test "a tenth of 500 questions lost is about a tenth" {
	lossy_wire 10
	measured -c ud --op send --test lat -s 64 -n 500 --warmup 0 --loss-timeout 20ms
	told 500
	lost=$(loss_of lost)
	echo "lost $lost"
	[ "$lost" -ge 20 ] && [ "$lost" -le 100 ]
	[ "$(column samples)" -eq $((500 - lost)) ]
}

# rxe does not take the beginning of a write after one whose end was lost: all that follow are lost
# as well. That is told, and a bandwidth test comes to its end; a ping-pong would stall.
@test "uc: messages of several packets, with loss" {
	measured -c uc --op send,write,write_imm --test lat,bw -s 9000 -n 50 --warmup 5 --loss-timeout 1
	lossy_wire
	measured -c uc --op send --test lat -s 9000 -n 100 --warmup 20 --loss-timeout 50ms
	told 120
	measured -c uc --op send,write,write_imm --test bw -s 9000 -n 200 --warmup 20
	told 220
}

@test "uc and ud: each message is looked at, of several pieces and regions, with loss" {
	lossy_wire
	measured -c uc --op send,write,write_imm --test bw -s 1000 -n 200 --verify --sge 2
	measured -c uc --op send --test bw -s 9000 -n 50 --verify --memory shm
	measured -c ud --op send,send_imm --test lat,bw -s 1000 -n 100 --verify --loss-timeout 20ms
	measured -c ud --op send -s 1000 -n 200 -q 3 --verify --mr qp --tclass 12 --sl 3
}

@test "ud: --all measures sizes up to the MTU, and tells what it leaves out" {
	measured -c ud -a --op send -n 100
	[ "$(grep -cE '^ *[0-9]+ (B|KiB) .*[0-9]' <<<"$output")" -eq 12 ]
	[[ $output == *"11 of 23 rows are left out, since a datagram has at most 4 KiB"* ]]
}

@test "uc and ud: both directions, from the server, several queue pairs, lists" {
	lossy_wire
	for connection in uc ud; do
		measured -c $connection --op send_imm -s 100 -b -q 4 -l 5 -t 16 -n 100 --warmup 10
		told 440
		measured -c $connection --op send -s 100 --direction in -q 3 -Q 7 -t 16 -n 100 --warmup 10
		told 330
		measured -c $connection --op send --test lat --direction in -n 50 --warmup 5
		told 55
	done
}

@test "uc and ud by time: the tail that did not ask for a completion is retired" {
	for connection in uc ud; do
		measured -c $connection --op send -s 64 -t 64 -Q 48 -l 5 -D 0.5 --warmup 0.1
		[ "$(count client posted)" -eq "$(count client completed)" ]
		measured -c $connection --op send --test lat -s 64 -t 64 -Q 48 -D 0.5 --warmup 0.1
		[ "$(count client posted)" -eq "$(count client completed)" ]
	done
}

@test "ud: a datagram of the MTU arrives, one byte more is refused by name" {
	measured -c ud --op send -s 4096 -t 4 -n 50 --warmup 0
	measured -c ud --op send --test lat -s 4096 -n 50 --warmup 0
	refused 3 "--size 4097 with --connection UD" -c ud --op send -s 4097
	measured -c ud --op send -m 1024 -n 50 --warmup 0
	[[ $output == *"size          1 KiB (the MTU"* ]]
	refused 2 "--op write with --connection UD" -c ud --op write
	refused 2 "--op read with --connection UC" -c uc --op read
}

@test "a planted wrong byte is found on uc and ud" {
	LD_PRELOAD=$CORRUPT CORRUPT_AT=3 measure -c uc --op send --test bw -s 64 -t 4 -n 3 --warmup 0
	echo "$output"
	[ "$status" -eq 4 ]
	LD_PRELOAD=$CORRUPT CORRUPT_AT=3 measure -c uc --op write --test bw -s 64 -t 4 -n 3 --warmup 0
	[ "$status" -eq 4 ]
	LD_PRELOAD=$CORRUPT CORRUPT_AT=3 measure -c ud --op send --test lat -s 64 -n 3 --warmup 0
	[ "$status" -eq 4 ]
}

@test "the overview of ud" {
	measured -c ud
	[[ $output == *"overview, UD, "* ]]
	grep -q '^send  .*[0-9]' <<<"$output"
}
