#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The command line from outside: exit codes, streams, strangers on the control port. Needs no RDMA
# device; where there is one, what it changes is allowed for. RDMETER is the program, SRCDIR the
# source tree; `make check` sets both.

bats_require_minimum_version 1.5.0

load lib.bash

# One line on stderr that begins as all do, nothing on stdout, exit code $1; the line is $line.
expect_error() {
	line=$(<err)
	if [ "$code" -ne "$1" ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] ||
		[[ $line != 'rdmeter: '* ]]; then
		echo "wanted exit $1 and one line; got exit $code"
		sed 's/^/out: /' out
		sed 's/^/err: /' err
		return 1
	fi
}

expect_text() {
	if [[ $line != *"$1"* ]]; then
		echo "no '$1' in: $line"
		return 1
	fi
}

# The server is alive and greets who comes: not busy.
answers() {
	local i greeting
	for ((i = 0; i < 50; i++)); do
		greeting=$(python3 "$peer" connect "$port" frame) || return 1
		[[ $greeting == *'"type":"GREETING"'* && $greeting == *'"busy":false'* ]] && return
		sleep 0.1
	done
	echo "$greeting"
	return 1
}

# The server has ended within 5 s, with this exit code.
ends_with() {
	local status=0 i
	for ((i = 0; i < 100; i++)); do
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	if [ "$i" -eq 100 ]; then
		echo 'it goes on'
		return 1
	fi
	wait "$server" || status=$?
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1"; cat server.err; return 1; }
}

# What a client ends with that has found its server: without a device only this.
expect_arrival() {
	if grep -E 'refused|busy' err; then
		return 1
	fi
	if ! has_device; then
		expect_error 3 || return 1
		expect_text 'RDMA device' || return 1
	fi
}

has_device() {
	[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]
}

@test "--help, the manual page and README.md have the same matrix of operations and transports" {
	rdm --help
	matrix=$(sed -n '/^Operations, and the tests/,/^$/p' out | sed '1d; /^$/d')
	[ "$(wc -l <<<"$matrix")" -eq 10 ]
	[ "$(grep -c "^  - on U[CD]: " <<<"$matrix")" -eq 2 ]
	grep -q '^  write_imm  *lat bw  *lat bw  *-$' <<<"$matrix"
	grep -q '^  read  *lat bw  *-  *-$' <<<"$matrix"
	[[ $(<"$SRCDIR/man/rdmeter.1") == *"$matrix"* ]]
	[[ $(<"$SRCDIR/README.md") == *"$(sed 's/^/  /' <<<"$matrix")"* ]]
}

@test "--help and --version go to stdout and exit 0" {
	rdm --help
	[ "$code" -eq 0 ]
	[ ! -s err ]
	[[ $(head -n 1 out) == 'usage: rdmeter [serve] [OPTIONS] '* ]]
	cp out long
	rdm -h
	cmp out long
	rdm --version
	[ "$code" -eq 0 ]
	[ ! -s err ]
	[[ $(<out) =~ ^rdmeter\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	rdm -V somehost
	[ "$code" -eq 0 ]
}

@test "usage errors: exit 2, one line on stderr, nothing on stdout" {
	while IFS='|' read -r words told; do
		# shellcheck disable=SC2086 # words are words
		rdm $words
		expect_error 2
		expect_text "$told"
	done <<-'END'
		--zap|--zap: no such option
		-Z h|-Z: no such option; see rdmeter --help
		-s|--size: its value is missing; give SIZE
		--size= h|--size: its value is empty; give SIZE
		-s 64xyz h|--size '64xyz': not a size such as 64, 4K or 1M
		-s 0 h|--size '0': out of range
		-n 1e3 h|--iters '1e3': not a whole number
		-D 5x h|--duration '5x': not a time
		-m 1500 h|--mtu '1500': not one of 256, 512, 1024, 2048, 4096
		-p 65536|--port '65536': out of range; from 0 to 65535
		--test foo h|--test 'foo': not one of lat, bw
		--op foo h|--op 'foo': no such operation; there are send, send_imm, write, write_imm, read, cas, fadd
		--once=1|--once takes no value
		a b|'b': one host only
		-t 64 -Q 100 h|--signal 100 with --tx-depth 64
		-t 64 -l 65 h|--batch 65 with --tx-depth 64
		-n 5 -D 1 h|--iters 5 with --duration 1
		--test lat -l 2 h|--batch 2 with --test lat
		--align 3 h|--align 3: not a power of two
		--offset 4K h|--offset 4096 with --align 4096
		-n 5 --warmup 0.5 h|--warmup '0.5' with --iters 5
	END
}

@test "a wrong server option ends the server before it listens" {
	rdm serve -p x
	expect_error 2
	rdm --bind 256.0.0.1
	expect_error 3
	expect_text "256.0.0.1"
}

@test "stdout that is full is an error, one that nobody reads is not" {
	code=0
	"$RDMETER" --help >/dev/full 2>err || code=$?
	: >out
	expect_error 4
	expect_text 'writing the result: No space left on device'
	(
		sleep 0.2 # let the reader be gone
		status=0
		"$RDMETER" --help 2>err || status=$?
		echo "$status" >code
	) | true
	[ "$(<code)" -eq 141 ]
	[ ! -s err ]
}

@test "stdout that is closed is an error" {
	code=0
	"$RDMETER" --version >&- 2>err || code=$?
	: >out
	expect_error 3
	expect_text 'standard output'
}

@test "nobody listens: exit 3 within the timeout" {
	server
	kill "$server"
	ends_with 143
	SECONDS=0
	rdm -p "$port" --connect-timeout 0.5 127.0.0.1
	[ "$SECONDS" -le 2 ]
	expect_error 3
	expect_text "connecting to 127.0.0.1 (127.0.0.1:$port): Connection refused, for 500 ms"
	rdm -p "$port" --connect-timeout 0 localhost
	expect_error 3
	expect_text 'Connection refused, tried once; start rdmeter there'
	rdm -p "$port" --connect-timeout 0 ::1
	expect_error 3
	rdm -p "$port" --connect-timeout 0 '[::1]'
	expect_error 3
	expect_text "[::1]:$port"
}

@test "a client waits for a server that comes later" {
	server
	kill "$server"
	ends_with 143
	"$RDMETER" --plan -p "$port" --connect-timeout 5 127.0.0.1 >out 2>err 3>&- &
	client=$!
	started+=("$client")
	sleep 0.4
	"$RDMETER" -p "$port" >server.out 2>server.err 3>&- &
	started+=($!)
	code=0
	wait "$client" || code=$?
	expect_arrival
}

@test "a name that does not resolve: exit 3" {
	rdm --connect-timeout 0 "no..such..name"
	expect_error 3
	expect_text "'no..such..name': "
	rdm --connect-timeout 0 "$(printf '%0300d' 0)"
	expect_error 3
}

@test "a port that is taken: exit 3" {
	server
	rdm -p "$port"
	expect_error 3
	expect_text "port $port: Address already in use; another server has it"
	answers
}

@test "-p 0 takes a free port and prints it; stdout stays empty" {
	server
	[ "$port" -gt 0 ]
	grep -qxE 'rdmeter: listening on .*:[0-9]+' listening
	answers
	[ ! -s server.out ]
	first=$port
	server --bind 127.0.0.1
	[ "$port" -ne "$first" ]
	grep -qxF "rdmeter: listening on 127.0.0.1:$port" listening
	answers
}

@test "a server answers on IPv4 and IPv6" {
	server
	answers
	[ -s /proc/net/if_inet6 ] || skip 'this host has no IPv6'
	rdm --plan -p "$port" ::1
	expect_arrival
}

@test "SIGTERM ends a server with 143, SIGINT with 130" {
	server
	kill -TERM "$server"
	ends_with 143
	server
	kill -INT "$server"
	ends_with 130
	[ "$(wc -l <server.err)" -eq 1 ]
}

@test "SIGINT ends a client that waits for its server with 130" {
	listener hold:5
	env --default-signal=INT "$RDMETER" -p "$port" 127.0.0.1 >out 2>err 3>&- &
	server=$!
	started+=("$server")
	sleep 0.3
	kill -INT "$server"
	ends_with 130 2>/dev/null
	[ ! -s out ]
}

@test "without a device: the client says so and exits 3, the server goes on" {
	has_device && skip 'this host has an RDMA device'
	server
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text 'RDMA device'
	rdm -p "$port" -d nosuch0 127.0.0.1
	expect_error 3
	answers
	rdm -d nosuch0
	expect_error 3
	expect_text nosuch0
}

@test "test options on a server are noted, not obeyed" {
	server -s 64 -t 8
	grep -qF 'rdmeter: --size: a server needs no test options: the client decides' server.err
	grep -qF 'rdmeter: --tx-depth: a server needs' server.err
	[ "$(wc -l <server.err)" -eq 3 ]
	answers
}

@test "perftest's -F is noted and ignored" {
	rdm -F --version
	[ "$code" -eq 0 ]
	[ "$(<err)" = 'rdmeter: -F is ignored: not needed: the clock does not depend on it' ]
}

@test "a client that finds a stranger: exit 3 and what it said" {
	listener 'send:SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n' until-end
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text "127.0.0.1:$port is not rdmeter: it sent 'SSH-2.0-OpenSSH_9.2p1 Debian-2'"
	listener 'send:HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n' close
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text "is not rdmeter: it sent 'HTTP/1.1 400 Bad Request'"
}

@test "a client whose peer is silent, closes, or stops half-way: exit 3 in time" {
	listener until-end
	SECONDS=0
	rdm -p "$port" --connect-timeout 0.5 127.0.0.1
	[ "$SECONDS" -le 2 ]
	expect_error 3
	expect_text "the server 127.0.0.1:$port did not answer within 500 ms"
	listener close
	rdm -p "$port" --connect-timeout 0.5 127.0.0.1
	expect_error 3
	expect_text 'is gone'
	listener magic 'send:\x00\x00\x00\x20{"type"' close
	rdm -p "$port" --connect-timeout 0.5 127.0.0.1
	expect_error 3
	expect_text 'is gone'
	listener magic 'send:\x7f\x00\x00\x00' until-end
	rdm -p "$port" --connect-timeout 0.5 127.0.0.1
	expect_error 3
	expect_text 'frame that cannot be read'
}

@test "a server of another major version is refused, naming both" {
	greeting='{"type":"GREETING","major":2,"minor":5,"busy":false,'
	greeting+='"version":"9.8.7","auth":"none"}'
	listener magic "json:$greeting" until-end
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text 'speaks protocol 2.5 (rdmeter 9.8.7), this side 1.'
	listener magic "json:${greeting/,\"version\":\"9.8.7\"/}" until-end
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text "GREETING whose 'version' is missing"
}

@test "what the server gives up with is told" {
	listener magic 'json:{"type":"ABORT","class":3,"text":"no such luck"}' until-end
	rdm -p "$port" 127.0.0.1
	expect_error 3
	expect_text 'gave up: no such luck'
}

@test "a server survives strangers and goes on answering" {
	server
	python3 "$peer" connect "$port" 'send:GET / HTTP/1.1\r\nHost: h\r\n\r\n' read >seen
	wait_line server.err "is not rdmeter: it sent 'GET / HTTP/1.1'"
	answers
	python3 "$peer" connect "$port" 'send:\x16\x03\x01\x02\x00\x01' read >seen
	wait_line server.err "is not rdmeter: it sent '......'"
	python3 "$peer" connect "$port" close
	python3 "$peer" connect "$port" magic 'send:\xff\xff\xff\xff' read >seen
	wait_line server.err 'frame that cannot be read'
	python3 "$peer" connect "$port" magic 'json:{"type":"HELLO"}' read >seen
	wait_line server.err "HELLO whose 'major' is missing"
	python3 "$peer" connect "$port" magic 'json:{"type":"POINT"}' read >seen
	wait_line server.err 'sent POINT where HELLO was due'
	hello='{"type":"HELLO","major":2,"minor":0,"busy":false,"version":"9.8.7","auth":"none"}'
	python3 "$peer" connect "$port" magic "json:$hello" read >seen
	wait_line server.err 'speaks protocol 2.0 .rdmeter 9.8.7., this side 1.'
	grep -qF '"type":"ABORT"' seen
	answers
	kill -0 "$server"
	[ ! -s server.out ]
}

# Waits until somebody is connected to $port.
connected() {
	for _ in {1..100}; do
		! grep -qE "$(printf ':%04X [0-9A-F]+:[0-9A-F]{4} 01' "$port")" /proc/net/tcp{,6} || return 0
		sleep 0.1
	done
	return 1
}

@test "who is held up by a silent client is told that the server is busy, and gets in later" {
	server
	python3 "$peer" connect "$port" magic hold:8 >hold.out 2>&1 3>&- &
	started+=($!)
	connected
	[[ $(python3 "$peer" connect "$port" frame) == *'"busy":true'* ]]
	rdm -p "$port" --connect-timeout 0.4 127.0.0.1
	expect_error 3
	expect_text "the server 127.0.0.1:$port is busy with another client"
	rdm --plan -p "$port" --connect-timeout 8 127.0.0.1
	expect_arrival
	wait_line server.err 'did not answer within 3 s'
	answers
}

@test "a server that is ended in a session tells its client" {
	server
	python3 "$peer" connect "$port" magic hold:2 read >seen 3>&- &
	talk=$!
	connected
	sleep 1 # the server has had the time to see it
	kill -TERM "$server"
	ends_with 143
	wait "$talk"
	grep -qF '"type":"ABORT"' seen
	grep -qF 'it was interrupted' seen
}

@test "--once ends with the session's exit code" {
	server --once
	python3 "$peer" connect "$port" 'send:GET / HTTP/1.1\r\n\r\n' read >seen
	ends_with 3
	[ ! -s server.out ]
}
