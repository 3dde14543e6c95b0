# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is said when something is wrong, word for word: one line, what failed, why, what to try; on
# stderr, with nothing on stdout. Those that need no device are in tests/cli.

load lib.bash

bats_require_minimum_version 1.5.0

teardown() {
	end_own_server
	ip link set v0 up
}

# says STATUS LINE ARGUMENT...: exactly this line, and soon.
says() {
	local want=$1 line=$2 began=$SECONDS
	shift 2
	run --separate-stderr timeout -k 2 20 "$RDMETER" -p "$PORT" --connect-timeout 2 "$@"
	echo "exit $status in $((SECONDS - began)) s"
	echo "expected: $line"
	echo "got:      $stderr"
	[ "$status" -eq "$want" ]
	[ "$stderr" = "$line" ]
	[ -z "$output" ]
	[ $((SECONDS - began)) -le 4 ]
}

@test "nobody listens" {
	PORT=1 says 3 "rdmeter: connecting to 10.77.1.1 (10.77.1.1:1): Connection refused, for 2 s; start rdmeter there, check --port and firewalls, or raise --connect-timeout" 10.77.1.1
}

@test "a host that is not there" {
	says 3 "rdmeter: connecting to 10.77.0.77 (10.77.0.77:$PORT): No route to host, for 2 s; start rdmeter there, check --port and firewalls, or raise --connect-timeout" 10.77.0.77 ||
		says 3 "rdmeter: connecting to 10.77.0.77 (10.77.0.77:$PORT): Connection timed out, for 2 s; start rdmeter there, check --port and firewalls, or raise --connect-timeout" 10.77.0.77
}

@test "a device that is not there, on either side" {
	says 3 "rdmeter: --ib-dev 'mlx5_9': no such device or port; there are: rxe0 port 1 ACTIVE ::ffff:10.77.0.1, rxe1 port 1 ACTIVE ::ffff:10.77.1.1" -d mlx5_9 10.77.1.1
	says 3 "rdmeter: the server 10.77.1.1:$PORT gave up: --peer-dev 'mlx5_9': no such device or port; there are: rxe0 port 1 ACTIVE ::ffff:10.77.0.1, rxe1 port 1 ACTIVE ::ffff:10.77.1.1" --peer-dev mlx5_9 10.77.1.1
}

@test "a device that the server does not allow" {
	own_server -d rxe1
	PORT=$OWN_PORT says 3 "rdmeter: the server 10.77.1.1:$OWN_PORT gave up: --peer-dev 'rxe0' (not allowed by the server's --ib-dev): no such device or port; there are: rxe0 port 1 ACTIVE ::ffff:10.77.0.1, rxe1 port 1 ACTIVE ::ffff:10.77.1.1" --peer-dev rxe0 10.77.1.1
}

@test "a port that is down" {
	ip link set v0 down
	says 3 "rdmeter: port 1 of rxe0 is DOWN: bring its link up, or choose another; there are: rxe0 port 1 DOWN ::ffff:10.77.0.1, rxe1 port 1 DOWN ::ffff:10.77.1.1" -d rxe0 127.0.0.1
	"$RXE_SCRIPTS/rxe-setup" down
	"$RXE_SCRIPTS/rxe-setup" up
}

@test "a GID that is not there, and two that cannot talk" {
	says 3 "rdmeter: --gid-index 200: port 1 of rxe0 has no such entry (3 are in use); see ibv_devinfo -v" -d rxe0 -x 200 10.77.1.1
	says 3 "rdmeter: the server 10.77.1.1:$PORT gave up: the client's rxe0 has GID 2 (fd77::1, RoCE v2) and the server's rxe1 GID 1 (::ffff:10.77.1.1, RoCE v2), which cannot talk; choose with --gid-index and --peer-gid-index" -d rxe0 -x 2 --peer-gid-index 1 10.77.1.1
}

@test "more than the device can: message, queues, inline, MTU, queue pairs" {
	most=$(max_msg_sz)
	says 3 "rdmeter: --size $((most + 1)): this side's device allows $most bytes in a message; lower --size" --op write -s $((most + 1)) 10.77.1.1
	says 3 "rdmeter: --tx-depth 2000000: this side's device allows 1048576 work requests in a send queue; lower --tx-depth" --op write -t 2000000 10.77.1.1
	says 3 "rdmeter: --tx-depth 40000: this side's device allows 32767 entries in a completion queue; lower --tx-depth" --op write -t 40000 10.77.1.1
	says 3 "rdmeter: --rx-depth 40000: this side's device allows 32767 entries in a completion queue; lower --rx-depth" --op send -r 40000 10.77.1.1
	says 3 "rdmeter: --inline 2000: rxe0 grants up to 512; lower --inline" --op write -s 64 -I 2000 10.77.1.1
}

@test "an MTU that one side does not have" {
	ip link set v0 mtu 1500
	says 3 "rdmeter: --mtu 4096: the active MTU is 1024 here and 4096 at the server; lower --mtu or raise the netdevs' MTU" --op write -m 4096 10.77.1.1
	measured --op write -s 5000 -n 200
	[[ $output =~ mtu\ +1024\ \(smaller\ active\ MTU\) ]]
	"$RXE_SCRIPTS/rxe-setup" down
	"$RXE_SCRIPTS/rxe-setup" up
}

@test "too little locked memory" {
	run --separate-stderr su -s /bin/bash nobody -c "ulimit -l 64; exec timeout 20 '$RDMETER' -p $PORT --op write -s 1M -n 10 $SERVER_IP"
	echo "$stderr"
	[ "$status" -eq 3 ]
	[ "$stderr" = "rdmeter: registering a buffer of 1 MiB: Cannot allocate memory; the limit of locked memory is 64 KiB: raise it with ulimit -l, or lower --size" ]
}

@test "a server that is busy" {
	own_server
	begin --op write -s 64 -D 6 --warmup 0
	running
	PORT=$OWN_PORT says 3 "rdmeter: the server 10.77.1.1:$OWN_PORT is busy with another client; try later, or raise --connect-timeout" --op write -n 10 10.77.1.1
	ended 10
}

@test "a path that is cut: the cause, both devices, what to try" {
	own_server
	begin --op send --test lat -s 64 -D 30 --warmup 0.1 --stall-timeout 3
	running
	tc qdisc add dev v0 root netem loss 100%
	ended 10
	tc qdisc del dev v0 root
	[ "$status" -eq 4 ]
	line=$(grep '^rdmeter: [^0-9]' <<<"$output")
	# rxe of Linux 6.12 has only the flush to show for it.
	[[ $line == *"retry counter exceeded"*"check the route, UDP port 4791, both MTUs and --gid-index" || \
		$line == *"rxe0"*"rxe1"*"the peer does not answer: check the path" || \
		$line == *"no progress at either end (stall timeout 3 s): here "* ]]
}

@test "the suite's server survives a port scan, garbage, and clients that die at every step" {
	for i in $(seq 20); do
		(exec 9<>/dev/tcp/10.77.1.1/"$PORT") 2>/dev/null
	done
	head -c 3000 /dev/urandom | timeout 2 nc -q0 10.77.1.1 "$PORT" >/dev/null || true
	printf 'GET / HTTP/1.0\r\n\r\n' | timeout 2 nc -q0 10.77.1.1 "$PORT" >/dev/null || true
	for after in 0.005 0.01 0.02 0.03 0.05 0.08 0.12 0.2 0.4; do
		timeout -s KILL $after "$RDMETER" -p "$PORT" --op send --test lat -D 5 $SERVER_IP >/dev/null 2>&1 || true
		measured --op send --test lat -n 50
	done
}

@test "SIGINT at every phase ends the client with 130 or its result" {
	for after in 0.02 0.05 0.1 0.2 0.3 0.5 0.8; do
		run timeout -s INT -k 5 $after "$RDMETER" -p "$PORT" --op write --test bw -D 5 --warmup 0.2 $SERVER_IP
		echo "after $after s: $status"
		[ "$status" -eq 124 ] || [ "$status" -eq 130 ]
		run timeout --preserve-status -s TERM -k 5 $after "$RDMETER" -p "$PORT" --op send --test lat -D 5 --warmup 0.2 $SERVER_IP
		echo "after $after s: $status"
		[ "$status" -eq 143 ]
	done
	measured --op write -n 100
}
