# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the command-line tests share. Sourced by each .bats file.

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	peer=$SRCDIR/tests/cli/peer.py
	started=()
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# rdm ARGUMENT...: runs rdmeter; $code, and the files out and err
rdm() {
	code=0
	timeout 15 "$RDMETER" "$@" >out 2>err 3>&- || code=$?
}

# The first line that matches $2 in file $1, waited for.
wait_line() {
	local i found
	for ((i = 0; i < 100; i++)); do
		found=$(grep -m 1 -E -- "$2" "$1" 2>/dev/null) && echo "$found" && return
		sleep 0.05
	done
	echo "no '$2' in $1:"
	cat "$1"
	return 1
}

# server ARGUMENT...: on a free port; $server is its pid, $port its port, server.err what it says.
# Background jobs of a script have SIGINT ignored; env gives it back.
server() {
	: >server.err
	env --default-signal=INT "$RDMETER" -p 0 "$@" >server.out 2>server.err 3>&- &
	server=$!
	started+=("$server")
	wait_line server.err 'listening on' >listening || return 1
	port=$(sed 's/.*://' listening)
}

# listener WHAT...: a scripted peer; $port is its port
listener() {
	: >peer.out # what the last one said is not what this one will
	python3 "$peer" listen "$@" >peer.out 2>peer.err 3>&- &
	started+=($!)
	port=$(wait_line peer.out '^[0-9]+$')
}
