# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Queue pairs connected by rdma_cm (-R): as many as without, with the same attributes, and what is
# said when it cannot be.

load lib.bash

setup() {
	# rdma_ucm is a module of its own; a host may not have loaded it.
	[ -e /dev/infiniband/rdma_cm ] || modprobe rdma_ucm
}

teardown() {
	end_own_server
	rdma link del rxe_lo 2>/dev/null || true
	tc qdisc del dev "$CLIENT_NET" root 2>/dev/null || true
}

connected() {
	measured -R "$@"
	[[ $output =~ rdma-cm\ +on\ \(given\) ]]
	[ "$(count client posted)" = "$(count client completed)" ]
}

@test "one queue pair: every operation, both tests" {
	connected --op all --test lat,bw -s 8 -n 50
	[ "$(grep -c '^rdmeter .*, RC, client to server' <<<"$output")" -eq 14 ]
}

@test "16 queue pairs, each direction" {
	for direction in out in both; do
		connected --op send --test bw -s 64 -q 16 -n 100 --direction $direction
	done
	connected --op read --test bw -s 64 -q 16 -n 100 -o 4
}

@test "1,024 queue pairs" {
	connected --op write --test bw -s 64 -q 1024 -t 2 -n 4 --warmup 0 --stall-timeout 30
	[ "$(count client posted)" -eq 4096 ]
}

@test "1,024 queue pairs that read" {
	case $(uname -r) in 6.1.*) ;; *) skip "reads of so many hang on this kernel's rxe, perftest's too" ;; esac
	connected --op read --test bw -s 64 -q 1024 -t 2 -o 1 -n 4 --warmup 0 --stall-timeout 30
	[ "$(count client posted)" -eq 4096 ]
}

@test "rows one after another, each with queue pairs of its own" {
	connected --op write,send,read --test lat,bw -s 64 -n 50
	connected --op write --test bw -s 64 -q 200 -t 4 -n 20
	connected --op write --test bw -s 64 -q 200 -t 4 -n 20
}

@test "IPv6" {
	SERVER_IP=fd77:1::1 connected --op write --test lat -n 100
}

@test "the device that was asked for" {
	connected -d rxe0 --peer-dev rxe1 --test lat -n 50
	[[ $output =~ device\ +rxe0\ port\ 1.*rxe1 ]]
}

ATTRIBUTES_SO=${CORRUPT%/*}/attributes.so

# attributes_of FILE WORDS...: what the client's queue pairs were connected with.
attributes_of() {
	local file=$1
	shift
	rm -f "$file"
	LD_PRELOAD=$ATTRIBUTES_SO ATTRIBUTES=$file measure "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	sort "$file" | uniq -c
}

@test "the attributes are those that there are without it, as the device tells them" {
	for words in "--op write -s 64 -n 20 -q 3" "--op read -s 64 -n 20 -q 2 -o 3" \
		"--op send --test lat -n 20 -m 1024"; do
		# shellcheck disable=SC2086 # words are what is meant
		attributes_of "$BATS_TEST_TMPDIR/tcp" $words
		# shellcheck disable=SC2086
		attributes_of "$BATS_TEST_TMPDIR/cm" $words -R
		[ -s "$BATS_TEST_TMPDIR/tcp" ]
		diff <(sort "$BATS_TEST_TMPDIR/tcp") <(sort "$BATS_TEST_TMPDIR/cm")
		grep -q 'timeout 14 retry 6 rnr_retry 7 min_rnr 12' "$BATS_TEST_TMPDIR/cm"
	done
}

@test "a type of service is the traffic class" {
	attributes_of "$BATS_TEST_TMPDIR/cm" --op write -s 64 -n 20 -q 2 -R -T 104
	[ "$(grep -c ' class 104 ' "$BATS_TEST_TMPDIR/cm")" -eq 2 ]
	refused 2 "--tos 104: rdma_cm alone sets a type of service" --op write -T 104
}

# 127.0.0.1 is what a wire between two hosts never has: the kernel takes the first device, or none.
@test "refused: an address whose device, for rdma_cm, is another one" {
	rdma link add rxe_lo type rxe netdev lo
	own_server -d rxe_lo
	run timeout -k 2 60 "$RDMETER" -p "$OWN_PORT" -R --op write -n 10 -d rxe_lo 127.0.0.1
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"rdma_cm: finding the device from 127.0.0.1 of rxe_lo"*"the path goes by rxe"*", not by rxe_lo port 1; "* ||
		$output == *"rdma_cm: "*"No such device; "*"127.0.0.1 never is one"* ]]
}

@test "unreachable: the wire loses everything, the control connection goes another way" {
	SERVER_IP=127.0.0.1
	words=(-d rxe0 --peer-dev rxe1 --bind 127.0.0.1 --op write -n 10 -q 3)
	connected "${words[@]}"
	tc qdisc add dev "$CLIENT_NET" root netem loss 100%
	measure -R "${words[@]}" --stall-timeout 3
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"connecting by rdma_cm: 0 of 3 queue pairs, and nothing more for 3 s"* ||
		$output == *"unreachable: no answer to the request"* ]]
	tc qdisc del dev "$CLIENT_NET" root
	connected "${words[@]}"
}

@test "SIGKILL of the server under queue pairs of rdma_cm: the client ends with 4" {
	own_server
	begin -R --op write --test bw -s 64 -q 4 -D 30 --warmup 0.1
	running
	kill -KILL "$OWN_PID"
	ended 6
	[ "$status" -eq 4 ]
	[[ $output == *"the server 10.77.1.1:$OWN_PORT"* ]]
}

@test "nothing is left of identifiers and queue pairs" {
	before=$(rdma resource show | tr -s ' \n' ' ')
	connected --op write --test bw -s 64 -q 64 -t 4 -n 20
	for i in $(seq 50); do
		[ "$(rdma resource show | tr -s ' \n' ' ')" = "$before" ] && return 0
		sleep 0.1
	done
	echo "before: $before"
	rdma resource show
	return 1
}
