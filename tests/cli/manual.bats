#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The manual pages: in order, and no option of the table missing or invented. BUILDDIR is the build
# tree, RDMETER the program; `make check` sets both.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	page=$SRCDIR/man/rdmeter.1
	"$RDMETER" --help | sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p' | sort >names
	[ "$(wc -l <names)" -ge 35 ]
}

@test "mandoc finds nothing wrong with any page" {
	command -v mandoc >/dev/null || skip 'there is no mandoc'
	for one in "$SRCDIR"/man/*.[1-9]; do
		mandoc -T lint -W warning "$one"
	done
}

@test "the page has the option table as it is now: make update-man" {
	sed -n '/^\.\\" begin options/,/^\.\\" end options/p' "$page" | sed '1d;$d' >there
	"$BUILDDIR/man/options" | diff there -
	[ -s there ]
}

@test "every option of --help is explained in the page" {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh EXIT/p' "$page" |
		sed -n 's/^\.It .*Fl \\&-\([a-z-]*\).*/--\1/p' | sort | diff names -
}

@test "every option in the examples exists" {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$page" | grep '^\.Dl rdmeter\|rdmeter --' |
		grep -oE -- '--[a-z][a-z-]*' | sort -u >used
	[ "$(wc -l <used)" -ge 10 ]
	[ -z "$(comm -13 names used)" ] || { comm -13 names used; false; }
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$page" | sed -n 's/^\.Dl rdmeter//p' |
		grep -oE ' -[a-zA-Z] ' | sort -u | while read -r letter; do
		"$RDMETER" --help | grep -qE "^  $letter[, ]" || { echo "$letter"; exit 1; }
	done
}
