# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154 # the table before this file has rdmeter_options
#
# bash completion for rdmeter(1). Before this file stands what `man/options completion` prints of the
# option table: _rdmeter_options, and _rdmeter_value OPTION, which says what follows an option:
#
#   words WORD...  one of these, or several with commas
#   file           a file
#   file=          a file after "=" only
#   device         an RDMA device of this host
#   value          something that cannot be guessed
#   none           nothing

# _rdmeter_words BEFORE WORD...: those that go on with the last element of $word.
_rdmeter_words() {
	local before=$1 one
	shift
	[[ $word != *,* ]] || before+=${word%,*},
	for one; do
		[[ $one != "${word##*,}"* ]] || COMPREPLY+=("$before$one")
	done
}

_rdmeter_files() {
	local one
	while IFS= read -r one; do
		COMPREPLY+=("$1$one")
	done < <(compgen -f -- "$word")
	compopt -o filenames 2>/dev/null || : # bash asks it, a test does not
}

_rdmeter_devices() {
	local found
	mapfile -t found < <("${COMP_WORDS[0]}" devices --script 2>/dev/null |
		sed -n 's/^device=\([^	]*\).*/\1/p' | sort -u)
	_rdmeter_words "$1" "${found[@]}"
}

# The first word before the cursor that is neither an option nor its value.
_rdmeter_first() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ;;
		=) i=$((i + 1)) ;;
		-*)
			case $(_rdmeter_value "${COMP_WORDS[i]}") in
			none | file=) ;;
			*) [[ ${COMP_WORDS[i + 1]} == = ]] || i=$((i + 1)) ;;
			esac
			;;
		*)
			echo "${COMP_WORDS[i]}"
			return
			;;
		esac
	done
}

_rdmeter_argument() {
	local first
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$_rdmeter_options" -- "$word")
		return
	fi
	first=$(_rdmeter_first)
	case $first in
	'') mapfile -t COMPREPLY < <(compgen -W 'serve devices report' -A hostname -- "$word") ;;
	devices) mapfile -t COMPREPLY < <(compgen -A hostname -- "$word") ;;
	report) _rdmeter_files '' ;;
	esac
}

_rdmeter() {
	local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}
	local option='' before='' attached='' kind words
	COMPREPLY=()
	# "=" is a word of its own, unless COMP_WORDBREAKS was changed.
	if [[ $word == --*=* ]]; then
		option=${word%%=*} before=${word%%=*}= attached=1 word=${word#*=}
	elif [[ $word == = ]]; then
		option=$last attached=1 word=
	elif [[ $last == = ]] && ((COMP_CWORD > 2)); then
		option=${COMP_WORDS[COMP_CWORD - 2]} attached=1
	elif [[ $last == -?* && $last != -- ]]; then
		option=$last
	fi
	read -ra words <<<"$(_rdmeter_value "$option")"
	kind=${words[0]}
	[[ $kind != file= || ! $attached ]] || kind='file'
	case $kind in
	words) _rdmeter_words "$before" "${words[@]:1}" ;;
	file) _rdmeter_files "$before" ;;
	device) _rdmeter_devices "$before" ;;
	none | file=) [[ $attached ]] || _rdmeter_argument ;;
	esac
}

complete -F _rdmeter rdmeter
