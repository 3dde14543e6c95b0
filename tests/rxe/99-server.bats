# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Last: the one server that has served all of it.

load lib.bash

@test "one server process has served the whole suite" {
	kill -0 "$SERVER_PID"
	measured --test bw -s 64 -n 100
	[ "$(ls "/proc/$SERVER_PID/fd" | wc -l)" -le 12 ]
}

@test "the kernel has nothing to complain about" {
	run dmesg
	[[ $output != *"BUG:"* ]]
	[[ $output != *"soft lockup"* ]]
	[[ $output != *"WARNING: CPU"* ]]
}
