# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The option matrix of perftest's users, tests/rxe/peers.txt, line by line.

load lib.bash

setup() { TABLE=${BATS_TEST_DIRNAME}/peers.txt; }

# words_of TOOL: rdmeter's operation and test for a perftest tool.
words_of() {
	local op=${1%_*}
	[ "$op" = atomic ] && op=fadd
	echo "--op $op --test ${1##*_}"
}

# A time or a number of iterations, unless the line has its own.
bounded() {
	case " $* " in
	*' -n '* | *' -D '* | *--iters*) ;;
	*) echo '-n 30' ;;
	esac
}

# lines VERDICT COMMAND: runs COMMAND with the words of each line that has that verdict.
lines() {
	local verdict tool words seen=0
	while IFS=$'\t' read -r verdict words; do
		[ "$verdict" = "$1" ] || continue
		tool=${words%% *}
		[[ $words == *' -> '* ]] && words="$tool ${words##* -> }"
		words=${words#"$tool"}
		seen=$((seen + 1))
		# shellcheck disable=SC2046,SC2086 # words are what is meant
		"$2" $(words_of "$tool") $(bounded $words) $words || { echo "line: $tool $words"; return 1; }
	done <"$TABLE"
	[ $seen -gt 0 ]
}

measured_balanced() {
	measured "$@" || return
	[ "$(count client posted)" = "$(count client completed)" ]
}

noted() {
	measured "$@" || return
	[[ $output == *" is ignored: "* ]]
}

refused_as_unknown() {
	measure "$@"
	[ "$status" -eq 2 ] && [[ $output == *"no such option"* || $output == *"see rdmeter --help"* ]]
}

@test "what perftest's users type works as it is" { lines run measured_balanced; }
@test "what is not needed is noted" { lines note noted; }
@test "what is spelt otherwise works so" { lines other measured_balanced; }
@test "what is not there yet is refused, not misread" { lines later refused_as_unknown; }
