#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Where results go, and stored ones that are printed again. Needs no RDMA device: nobody listens on
# the port, and a run that fails has a document too. What needs rows is in tests/fake/results.

bats_require_minimum_version 1.5.0

load lib.bash

# Exit 3, as nobody answers.
measure() {
	rdm "$@" -p 1 --connect-timeout 0 127.0.0.1
}

valid() {
	"$SRCDIR/tests/validate" "$@"
}

# One line on stderr with $2 in it, exit $1, nothing printed, nothing left behind.
refused() {
	local status=$1 text=$2
	if [ "$code" -ne "$status" ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] ||
		! grep -qF -- "$text" err || leftovers; then
		echo "wanted exit $status and '$text'; exit $code"
		cat out err
		ls -A
		return 1
	fi
}

# Files of a run that did not come to its end.
leftovers() {
	compgen -G '.*.??????' >/dev/null
}

@test 'a run that fails has a document, beside the sentence' {
	measure --json=r.json -s 64
	[ "$code" -eq 3 ]
	grep -q 'Connection refused' err
	valid r.json
	grep -qF '"exit_code": 3' r.json
	grep -qF '"class":"setup"' r.json
	grep -qF '"options": {"size":"64",' r.json
	run ! leftovers
}

@test 'on standard output the document is alone' {
	measure --json
	[ "$code" -eq 3 ]
	valid out
	measure --json=-
	valid out
	measure --json=/dev/stdout
	valid out
}

@test 'a stream ends with the error' {
	measure --json-stream
	[ "$code" -eq 3 ]
	valid --stream out
	[ "$(wc -l <out)" -eq 2 ]
}

@test 'usage errors of the plan are in the document, too' {
	rdm --json=r.json --op read -l 9 -t 4 127.0.0.1
	[ "$code" -eq 2 ]
	valid r.json
	grep -qF '"class":"usage"' r.json
}

@test 'a folder that cannot be written to is told before anything is measured' {
	measure --json=none/r.json
	refused 3 "--json 'none/r.json': cannot be written: No such file or directory"
	measure --csv=/proc/r.csv
	refused 3 "--csv '/proc/r.csv': cannot be written"
	touch file
	measure --hgrm=file/r.hgrm
	refused 3 'Not a directory'
	mkdir dir
	measure --samples=dir
	refused 3 'Is a directory'
}

@test 'a second file that cannot be opened leaves nothing of the first' {
	measure --json=r.json --csv=none/r.csv
	refused 3 none/r.csv
	[ ! -e r.json ]
}

@test 'two forms do not go to one place' {
	measure --json --csv
	refused 2 '--csv: something else goes to standard output already'
	measure --json-stream --print msg_per_s
	refused 2 'standard output'
	measure --json=r --csv=./r
	refused 2 '--csv: something else goes to ./r already'
	[ ! -e r ]
}

@test 'a file is replaced as a whole, and keeps its mode' {
	echo old >r.json
	chmod 600 r.json
	ln r.json before
	measure --json=r.json
	valid r.json
	[ "$(stat -c %a r.json)" = 600 ]
	[ "$(<before)" = old ]
}

@test 'a new file has the mode that the umask gives' {
	umask 027
	measure --json=r.json
	[ "$(stat -c %a r.json)" = 640 ]
}

@test 'a symbolic link stays one' {
	mkdir real
	echo old >real/r.json
	ln -s real/r.json link.json
	measure --json=link.json
	[ -L link.json ]
	valid real/r.json
}

@test 'what does not fit leaves what was there' {
	echo old >r.json
	trap '' XFSZ
	code=0
	prlimit --fsize=200:200 timeout 15 "$RDMETER" --json=r.json -p 1 --connect-timeout 0 \
		127.0.0.1 >/dev/null 2>/dev/null 3>&- || code=$?
	[ "$code" -eq 3 ] # the first failure counts
	[ "$(<r.json)" = old ]
	run ! leftovers
}

@test 'a device and a pipe are written to directly' {
	measure --json=/dev/null
	[ "$code" -eq 3 ]
	[ -c /dev/null ]
	mkfifo pipe
	cat pipe >r.json 3>&- &
	started+=($!)
	measure --json=pipe
	wait "${started[0]}"
	[ -p pipe ]
	valid r.json
}

@test 'a column that is not there is refused with those that are' {
	measure --print p50
	refused 2 "--print 'p50': no such column; there are size_bytes, pages, lat_samples"
}

@test 'a server prints no results' {
	local option
	for option in --json --csv --hgrm --json-stream --print=msg_per_s --samples=s; do
		rdm "$option"
		refused 2 'without a host: the client has the results'
	done
}

@test 'report prints a document as it was printed' {
	local golden=$SRCDIR/tests/unit/golden
	rdm report --format csv "$golden/rows.json"
	[ "$code" -eq 0 ]
	diff "$golden/rows.csv" out
	rdm report --format=markdown "$golden/rows.json"
	diff "$golden/rows.md" out
	rdm report --format hgrm "$golden/rows.json"
	diff "$golden/rows.hgrm" out
	rdm report --format json "$golden/rows.json"
	diff "$golden/rows.json" out
	rdm report "$golden/rows.json"
	grep -q '^rdmeter x.y.z: write latency, RC, client to server' out
	[ ! -s err ]
}

@test 'report reads standard input' {
	code=0
	timeout 15 "$RDMETER" report - <"$SRCDIR/tests/unit/golden/rows.json" >out 2>err || code=$?
	[ "$code" -eq 0 ]
	grep -q '^rdmeter x.y.z' out
}

@test 'report says what ended a run' {
	measure --json=r.json
	rdm report r.json
	[ "$code" -eq 0 ]
	[ ! -s out ]
	grep -q "^rdmeter: 'r.json' is of a run that ended early: connecting to" err
}

@test 'what is no document is refused' {
	rdm report none.json
	refused 3 "opening 'none.json': No such file or directory"
	: >empty
	rdm report empty
	refused 3 "'empty' is no document of rdmeter's"
	echo '{"schema": "rdmeter-results/1"' >half
	rdm report half
	refused 3 "'half' is no document of rdmeter's"
	echo '[]' >array
	rdm report array
	refused 3 'schema is missing'
	echo '{"schema": "rdmeter-results/2", "rows": []}' >other
	rdm report other
	refused 3 "is of schema 'rdmeter-results/2'"
	echo '{"schema": "rdmeter-results/1", "rows": [{}]}' >rows
	rdm report rows
	refused 3 'missing or wrong: index'
	rdm report .
	[ "$code" -eq 3 ]
}

@test 'report takes a document, a form and nothing else' {
	rdm report
	refused 2 'report: of which document?'
	rdm report a b
	refused 2 "'b': one document only; 'a' is it already"
	rdm report -s 64 a
	refused 2 '--size with report'
	rdm report --format yaml a
	refused 2 "--format 'yaml': not one of text, csv, markdown, hgrm, json"
	rdm --format csv 127.0.0.1
	refused 2 '--format without report'
}

@test 'the golden document is valid' {
	valid "$SRCDIR/tests/unit/golden/rows.json"
}

@test 'what is wrong is found by the validation' {
	local golden=$SRCDIR/tests/unit/golden/rows.json edit
	for edit in 's/"exit_code": 0/"exit_code": 3/' 's/"status":"measured"/"status":"planned"/' \
		's/"n":2000/"n":2001/' 's/"rows_planned": 4/"rows_planned": 5/' \
		's/"lid":0/"lid":0,"lod":0/' 's/"lid":0,//' 's/"msg_per_s":500/"msg_per_s":501/'; do
		sed "$edit" "$golden" >wrong.json
		run ! cmp -s "$golden" wrong.json
		run ! valid wrong.json
	done
}
