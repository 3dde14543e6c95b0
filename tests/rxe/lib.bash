# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the rxe tests share. Sourced by each .bats file.

SERVER_IP=10.77.1.1
CLIENT_NET=v0

# measure ARGUMENT...: a client against the suite's one server; stdout and stderr in $output.
measure() {
	run timeout -k 2 60 "$RDMETER" -p "$PORT" "$@" "$SERVER_IP"
}

# A run that has to succeed, with what it printed when it does not.
measured() {
	measure "$@"
	[ "$status" -eq 0 ] || { echo "exit $status: $*"; echo "$output" | grep -v "^ *because"; return 1; }
}

# refused STATUS WORDS ARGUMENT...: fails with that exit code and a line that has the words.
refused() {
	local want=$1 words=$2
	shift 2
	measure "$@"
	echo "exit $status: $*"
	echo "$output"
	[ "$status" -eq "$want" ]
	[[ $output == *"$words"* ]]
}

# column NAME [TEXT]: a number of the first table that has that column. Columns are found from the
# right, since "64 KiB" is two words.
column() {
	awk -v name="$1" '
		!found { for (i = 1; i <= NF; i++) if ($i == name) { from_end = NF - i; found = NR } next }
		NR == found + 2 { v = $(NF - from_end); gsub(",", "", v); print v; exit }
	' <<<"${2:-$output}"
}

# count SIDE WHAT: from "client: posted 1, completed 2, received 3; 4 before the window".
count() {
	sed -n "s/^$1: .*$2 \([0-9,]*\).*/\1/p" <<<"$output" | tr -d ,
}

# rows SIDE COUNT MESSAGES: the output has that many rows, and in each that side posted so many, all
# of which completed.
rows() {
	local plain
	plain=$(sed -E ':a; s/([0-9]),([0-9]{3})/\1\2/; ta' <<<"$output")
	[ "$(grep -c "^$1: posted $3, completed $3, " <<<"$plain")" -eq "$2" ]
	[ "$(grep -c "^$1: posted [1-9]" <<<"$plain")" -eq "$2" ]
}

# at_least A B, near A B PERCENT: for decimal numbers.
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }
near() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= b * p / 100) }'; }

# The longest message of the client's device: 8 MiB before Linux 6.12, 2 GiB from there on.
max_msg_sz() { printf '%d' "$(ibv_devinfo -v -d rxe0 | sed -n 's/.*max_msg_sz:\s*//p')"; }

counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

# own_server [ARGUMENT...]: a further server; OWN_PID, OWN_PORT and $BATS_TEST_TMPDIR/own.err.
own_server() {
	: >"$BATS_TEST_TMPDIR/own.err" # what the last one said is not what this one will
	"$RDMETER" -p "${OWN_PORT:-0}" "$@" 2>"$BATS_TEST_TMPDIR/own.err" 3>&- &
	OWN_PID=$!
	OWN_PORT=
	local i
	for i in $(seq 100); do
		OWN_PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$BATS_TEST_TMPDIR/own.err")
		[ -n "$OWN_PORT" ] && return 0
		sleep 0.05
	done
	cat "$BATS_TEST_TMPDIR/own.err"
	return 1
}

end_own_server() {
	[ -n "${OWN_PID:-}" ] || return 0
	kill -CONT "$OWN_PID" 2>/dev/null || true
	kill "$OWN_PID" 2>/dev/null || true
	wait "$OWN_PID" 2>/dev/null || true
	OWN_PID=
}

# begin ARGUMENT...: a client in the background against $OWN_PORT; CLIENT_PID, client.out.
begin() {
	: >"$BATS_TEST_TMPDIR/client.out"
	timeout -k 2 60 "$RDMETER" -p "$OWN_PORT" "$@" "$SERVER_IP" \
		>"$BATS_TEST_TMPDIR/client.out" 2>&1 3>&- &
	CLIENT_PID=$!
}

# running: waits until the background client has begun to measure, and a moment more.
running() {
	local i
	for i in $(seq 100); do
		grep -q '^config id' "$BATS_TEST_TMPDIR/client.out" && break
		sleep 0.05
	done
	sleep 0.6
}

# ended SECONDS: the background client's exit status, which has to come within that time.
ended() {
	local began=$SECONDS
	status=0
	wait "$CLIENT_PID" || status=$?
	output=$(cat "$BATS_TEST_TMPDIR/client.out")
	echo "$output"
	[ $((SECONDS - began)) -le "$1" ]
}
