# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Attributes of the path: what rxe takes, what it tells, what it does when nothing comes back.

load lib.bash

@test "service level, traffic class, flow label and hop limit are taken" {
	measured --op write -s 64 -n 200 --sl 3 --tclass 104 --flow-label 4660 --hop-limit 9
	[[ $output == *"tclass        104 (given)"* ]]
	rows client 1 220
}

@test "the timers are taken, and read back as they were given" {
	measured --op send -s 64 -n 200 -u 18 --retry 3 --rnr-retry 6 --min-rnr 20
	[[ $output != *"did not keep"* ]]
	rows client 1 220
}

@test "a P_Key index beyond the table is refused" {
	refused 3 "--pkey-index 9999: port 1 of rxe0 has no key there" --op write -n 10 --pkey-index 9999
}

@test "every default of the path, given, changes nothing" {
	measured --op write -s 64 -n 200
	plain=$(sed -n 's/^config id *//p' <<<"$output")
	measured --op write -s 64 -n 200 --sl 0 --tclass 0 --flow-label 0 --hop-limit 64 \
		--pkey-index 0 -u 14 --retry 6 --rnr-retry 7 --min-rnr 12
	[ -n "$plain" ]
	[ "$plain" = "$(sed -n 's/^config id *//p' <<<"$output")" ]
}
