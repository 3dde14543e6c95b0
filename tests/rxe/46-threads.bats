# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Queue pairs over several data threads. What arrives is checked in any run.

load lib.bash

# shared THREADS SIDE: that side had so many threads, each of which had something to do.
shared() {
	[[ $output =~ threads\ $2:\ $1\ on\ CPUs\ [0-9,-]+,\ ([0-9,]+)\ to\ [0-9,]+\ messages\ each ]]
	[ "${BASH_REMATCH[1]}" != 0 ]
}

@test "2 and 3 threads, 8 queue pairs: the client sends" {
	for n in 2 3; do
		measured --op write,send --test bw -s 8 -q 8 --threads $n -n 100
		rows client 2 880
		[ "$(grep -c "^threads client: $n on CPUs " <<<"$output")" -eq 2 ]
		[ "$(grep -c "^threads server: $n on CPUs " <<<"$output")" -eq 1 ]
	done
}

@test "2 and 3 threads, 8 queue pairs: the server sends" {
	for n in 2 3; do
		measured --op write_imm --test bw -s 1K -q 8 --threads $n --direction in -n 100 \
			--verify
		shared $n client
		shared $n server
		[ "$(count server posted)" = "$(count client received)" ]
	done
}

@test "2 and 3 threads, 8 queue pairs: both send" {
	for n in 2 3; do
		measured --op send --test bw -s 64 -q 8 --threads $n -b -n 50 --verify
		shared $n client
		shared $n server
		rows client 1 440
		rows server 1 440
	done
}

@test "each thread for itself: a sweep of threads, and a counter for all" {
	measured --op fadd -q 4 --threads 1,2,4 -n 200 --atomic-target shared
	[ "$(awk '$1 == 1 || $1 == 2 || $1 == 4' <<<"$output" | grep -c .)" -ge 3 ]
	refused 2 "--threads 3 with --qp 2" --op write -q 2 --threads 3
	refused 2 "--threads 2 with --test lat" --test lat --threads 2
}
