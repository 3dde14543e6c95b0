# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sessions one after another, and what becomes of either side when the other goes.

load lib.bash

teardown() {
	end_own_server
	ip link set v1 up
	tc qdisc del dev "$CLIENT_NET" root 2>/dev/null || true
}

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
fds() { ls "/proc/$1/fd" | wc -l; }
resources() { rdma resource show | tr -s ' \n' ' '; }

@test "100 sessions in a row leave descriptors, memory and RDMA resources as they were" {
	own_server
	PORT=$OWN_PORT measured --test bw -s 64K -n 100
	PORT=$OWN_PORT measured --op send --test lat -n 100
	fds=$(fds "$OWN_PID") rss=$(rss_kb "$OWN_PID") resources=$(resources)
	for i in $(seq 50); do
		PORT=$OWN_PORT measured --test bw -s 64K -n 20
		PORT=$OWN_PORT measured --op send --test lat -n 100
	done
	echo "fds $fds -> $(fds "$OWN_PID"), RSS $rss -> $(rss_kb "$OWN_PID") kB"
	[ "$(fds "$OWN_PID")" -eq "$fds" ]
	[ "$(resources)" = "$resources" ]
	[ "$(rss_kb "$OWN_PID")" -le $((rss + 512)) ]
}

@test "SIGKILL of the client: the server says so and serves the next" {
	own_server
	for op in write send; do
		for t in lat bw; do
			begin --op $op --test $t -s 64 -D 30
			running
			pkill -KILL -P "$CLIENT_PID"
			wait "$CLIENT_PID" || true
			PORT=$OWN_PORT measured --op $op --test $t -s 64 -n 100
		done
	done
	grep 'the client 10.77.0.1:[0-9]* is gone' "$BATS_TEST_TMPDIR/own.err"
}

@test "SIGKILL of the server: the client ends with 4 and what it has" {
	for op in write send; do
		for t in lat bw; do
			OWN_PORT=
			own_server
			begin --op $op --test $t -s 64 -D 30 --warmup 0.1
			running
			kill -KILL "$OWN_PID"
			ended 6
			[ "$status" -eq 4 ]
			[[ $output == *"the server 10.77.1.1:$OWN_PORT is gone"* ]]
			[[ $output == *"client: posted"* ]]
			end_own_server
		done
	done
}

@test "SIGSTOP of the server: the client ends with 4 after five seconds without a beat" {
	own_server
	begin --op write --test lat -s 64 -D 30
	running
	kill -STOP "$OWN_PID"
	ended 8
	[ "$status" -eq 4 ]
	[[ $output == *"here "*"posted "*"the server "* ]]
}

@test "a wire that goes dead: a stall or a transport error, in bounded time, both ends" {
	own_server --once
	begin --op write --test bw -s 64 -D 30 --stall-timeout 3
	running
	tc qdisc add dev "$CLIENT_NET" root netem loss 100%
	sleep 6
	tc qdisc del dev "$CLIENT_NET" root
	ended 8
	[ "$status" -eq 4 ]
	wait "$OWN_PID" || server=$?
	cat "$BATS_TEST_TMPDIR/own.err"
	[ "$server" -eq 4 ]
	OWN_PID=
}

@test "SIGINT at the client prints the partial result and exits 130" {
	own_server
	for t in lat bw; do
		begin --op write --test $t -s 64 -D 30 --warmup 0.1
		running
		pkill -INT -P "$CLIENT_PID"
		ended 3
		[ "$status" -eq 130 ]
		[[ $output == *"interrupted: the window was closed early"* ]]
		[[ $output == *"client: posted"* ]]
	done
	PORT=$OWN_PORT measured --test bw -s 64 -n 100
}

@test "SIGTERM at the server ends both: 143 there, 4 and a partial result here" {
	own_server
	begin --op send --test bw -s 64 -D 30 --warmup 0.1
	running
	kill -TERM "$OWN_PID"
	ended 3
	[ "$status" -eq 4 ]
	[[ $output == *"was interrupted"* ]]
	[[ $output == *"client: posted"* ]]
	wait "$OWN_PID" || server=$?
	[ "$server" -eq 143 ]
	OWN_PID=
}

@test "the same port can be served again at once" {
	own_server
	begin --test bw -s 64 -D 30
	running
	kill -KILL "$OWN_PID"
	ended 6
	own_server
	PORT=$OWN_PORT measured --test bw -s 64 -n 100
}

@test "a client that comes first waits for its server; a second one waits its turn" {
	OWN_PORT=23456
	begin --test bw -s 64 -D 1 --warmup 0
	sleep 1
	own_server
	sleep 0.3
	PORT=$OWN_PORT measured --test bw -s 64 -n 100
	ended 3
	[ "$status" -eq 0 ]
}

@test "a busy server is named after --connect-timeout" {
	own_server
	begin --test bw -s 64 -D 4 --warmup 0
	running
	PORT=$OWN_PORT refused 3 "busy with another client" --connect-timeout 1 --op write -n 10
	ended 8
}

@test "--once: the server ends with its session" {
	own_server --once
	PORT=$OWN_PORT measured --test bw -s 64 -n 100
	wait "$OWN_PID"
	OWN_PID=
}

# The signal comes while the server is busy with what its client's end has done to it.
@test "SIGTERM right after the client's death still ends the server" {
	for pause in 0 0.01 0.05 0.2; do
		own_server
		begin --op send --test lat -s 64 -D 30 --warmup 0.1
		running
		tc qdisc add dev "$CLIENT_NET" root netem loss 100%
		pkill -KILL -P "$CLIENT_PID" || true # the wire may have ended it already
		sleep $pause
		kill -TERM "$OWN_PID"
		for _ in $(seq 100); do
			kill -0 "$OWN_PID" 2>/dev/null || break
			sleep 0.1
		done
		tc qdisc del dev "$CLIENT_NET" root
		run kill -0 "$OWN_PID"
		[ "$status" -ne 0 ]
		wait "$CLIENT_PID" || true
		OWN_PID=
	done
}
