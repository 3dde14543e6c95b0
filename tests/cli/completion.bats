#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The bash completion that was built, as bash calls it. BUILDDIR is the build tree, RDMETER the
# program; `make check` sets both.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	[ -e "$BUILDDIR/completions/rdmeter" ] || skip 'a cross build has no completion'
	# shellcheck source=/dev/null
	source "$BUILDDIR/completions/rdmeter"
	printf '192.0.2.1 nearhost\n192.0.2.2 farhost\n' >hosts
	HOSTFILE=$PWD/hosts
}

# complete_line WORD...: what is offered for the last word, in COMPREPLY, one a line in offered
complete_line() {
	COMP_WORDS=(rdmeter "$@")
	COMP_CWORD=$#
	_rdmeter
	printf '%s\n' "${COMPREPLY[@]}" | sort >offered
}

# offers "WORD..." LINE-WORD...: exactly these, in any order
offers() {
	local wanted=$1
	shift
	complete_line "$@"
	# shellcheck disable=SC2086 # words are words
	printf '%s\n' $wanted | sort | diff - offered || { echo "for: rdmeter $*"; return 1; }
}

@test "every option of --help is offered, and none besides" {
	"$RDMETER" --help | sed -n 's/^  \(-.\),\{0,1\} .*/\1/p' >letters
	"$RDMETER" --help | sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p' >names
	[ "$(wc -l <letters)" -ge 15 ]
	[ "$(wc -l <names)" -ge 35 ]
	grep -qxF -- --size names
	complete_line -
	sort letters names | diff - offered
	offers '--json --json-stream' --js
	complete_line -s 64 --plan -
	sort letters names | diff - offered
}

@test "what an option takes is known for every one" {
	"$RDMETER" --help | sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\)\(.*\)/\2\3/p' >lines
	while IFS= read -r line; do
		name=${line%%[ [=]*}
		kind=$(_rdmeter_value "$name")
		if [[ $line =~ ^$name' '[A-Za-z0-9] ]]; then
			[[ $kind != none && $kind != file= ]]
		elif [[ $line == "$name[="* ]]; then
			[ "$kind" = file= ]
		else
			[ "$kind" = none ]
		fi || { echo "$line: $kind"; false; }
	done <lines
}

@test "words of options, also several with commas" {
	offers 'lat bw' --test ''
	offers 'out in both' --direction ''
	offers '256 512 1024 2048 4096' -m ''
	offers default --tos ''
	offers 'all off' --stamp ''
	offers 'text csv markdown hgrm json' report --format ''
	offers 'markdown' report --format = m
	offers 'text csv markdown hgrm json' report --format =
	offers '--format=markdown' report --format=m
	offers 'send send_imm' --op s
	offers 'send,write send,write_imm' --op send,w
	offers 'lat_p50_us' --print lat_p5
	offers 'qp' --atomic-target q
}

@test "the words are those that rdmeter takes" {
	for option in --test --direction --mtu --stamp --atomic-target; do
		complete_line "$option" ''
		while read -r word; do
			"$RDMETER" "$option" "$word" --version
		done <offered
		run "$RDMETER" "$option" nosuch --version
		[ "$status" -eq 2 ]
	done
}

@test "numbers, times and names of others are left to the user" {
	offers '' -s ''
	offers '' --size 6
	offers '' -D ''
	offers '' --bind ''
	offers '' --peer-dev ''
	offers '' --once = ''
}

@test "files where files are taken" {
	touch a.json 'b c.json'
	offers 'a.json' --json = a
	offers 'a.json' --samples a
	offers 'a.json' report a
	complete_line report b
	[ "$(<offered)" = 'b c.json' ]
	# Without "=" there is no file: the host follows.
	offers 'nearhost' --json near
}

@test "devices of this host, by whatever name the option has" {
	printf '#!/bin/sh\n[ "$*" = "devices --script" ] || exit 2\n' >rdm
	printf 'printf "device=mlx5_0\\tport=1\\ndevice=mlx5_0\\tport=2\\ndevice=rxe0\\tport=1\\n"\n' >>rdm
	chmod +x rdm
	for option in -d --ib-dev --device --dev; do
		COMP_WORDS=("$PWD/rdm" "$option" '')
		COMP_CWORD=2
		_rdmeter
		[ "${COMPREPLY[*]}" = 'mlx5_0 rxe0' ]
	done
	COMP_WORDS=("$PWD/nosuch" -d '')
	_rdmeter
	[ "${#COMPREPLY[@]}" -eq 0 ]
}

@test "a command or a host comes first, one host only" {
	offers 'serve devices report nearhost farhost' ''
	offers 'nearhost' n
	offers 'devices' d
	offers 'nearhost farhost' devices ''
	offers 'nearhost' --size 64 --once near
	offers 'nearhost' --json = x.json near
	offers '' nearhost ''
	offers '' -s 64 nearhost ''
	offers '' serve ''
}

@test "it is registered for rdmeter" {
	[ "$(complete -p rdmeter)" = 'complete -F _rdmeter rdmeter' ]
}
