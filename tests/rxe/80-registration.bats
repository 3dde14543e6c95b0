# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Registering memory, and memory windows: what this host measures alone.

load lib.bash

# alone ARGUMENT...: a run without a host, which has to succeed.
alone() {
	run timeout -k 2 60 "$RDMETER" -d rxe0 "$@"
	[ "$status" -eq 0 ] || { echo "exit $status: $*"; echo "$output"; return 1; }
}

# not_alone STATUS WORDS ARGUMENT...: one that is refused.
not_alone() {
	local want=$1 words=$2
	shift 2
	run timeout -k 2 60 "$RDMETER" -d rxe0 "$@"
	echo "exit $status: $*"
	echo "$output"
	[ "$status" -eq "$want" ]
	[[ $output == *"$words"* ]]
}

printed() { sed -n '/^[0-9]/p' <<<"$output"; }

@test "reg: both halves have every sample, and all is undone" {
	alone --op reg -s 64K -n 300 --warmup 10
	[ "$(column samples)" -eq 300 ]
	[ "$(column pages)" -eq 16 ]
	[ "$(grep -c '^ *samples ' <<<"$output")" -eq 1 ]
	[ "$(count "this host" posted)" -eq 310 ]
	[ "$(count "this host" completed)" -eq 310 ]
	[ -z "$(grep -E 'server|loopback' <<<"$output")" ]
}

@test "reg: by size, a large one costs more than a page" {
	alone --op reg -s 4K,4M -n 100 --warmup 5 --quiet --print lat_p50_us
	at_least "$(printed | tail -n 1)" "$(printed | head -n 1)"
}

@test "reg: by kind of memory, at an offset, without relaxed ordering" {
	alone --op reg --memory malloc,shm -s 8K --align 64 --offset 60 -n 50
	alone --op reg --relaxed-ordering off -D 0.2 --warmup 0.05
	not_alone 3 "--memory udmabuf: " --op reg --memory udmabuf -n 10
}

@test "bind: both types of window" {
	alone --op bind --window 1,2 -s 4K,64K -n 200 --warmup 10
	! grep -q failed <<<"$output"
	alone --op bind -n 200
	grep -Eq 'window +2 \(auto' <<<"$output"
	[ "$(column samples)" -eq 200 ]
	[ "$(count "this host" posted)" -eq "$(count "this host" completed)" ]
}

@test "an interrupt ends either with what there is" {
	local op
	for op in reg bind; do
		"$RDMETER" -d rxe0 --op $op -D 0 --warmup 0.05 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		CLIENT_PID=$!
		for _ in $(seq 100); do
			grep -q '^config id' "$BATS_TEST_TMPDIR/out" && break
			sleep 0.05
		done
		sleep 0.6
		kill -INT $CLIENT_PID
		status=0
		wait $CLIENT_PID || status=$?
		cat "$BATS_TEST_TMPDIR/out"
		[ "$status" -eq 130 ]
		grep -q '^interrupted: ' "$BATS_TEST_TMPDIR/out"
	done
}
