# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# How completions are waited for.

load lib.bash

# With so many packets in flight the wire of this device loses some: it may try for ever.
@test "events: lists of 64 on 8 queue pairs" {
	measured -e --op send -s 64 -n 640 -q 8 -l 64 --retry 7
	[[ $output == *"events        on (given)"* ]]
	rows client 1 5632
}

@test "events: lists of 64 on 16 queue pairs" {
	measured -e --op write,read -s 64 -n 320 -q 16 -l 64 --retry 7
	rows client 2 5632
}

@test "events: both ways" {
	measured -e --op write_imm -s 4096 -n 400 -q 2 -b
	rows client 1 880
}

@test "events: latencies, and what sleeping saves" {
	measured -e --op send,read,fadd --test lat -s 8 -n 200
	rows client 3 220
	refused 2 "--events with --test lat: this operation's arrival is seen in memory" \
		-e --op write --test lat -n 10
}

@test "posted by calls: lists, numbers, counters and latencies" {
	measured --post-api wr --op write_imm,read -s 64 -n 200 -q 2 -l 16
	[[ $output == *"post-api      wr (given)"* ]]
	rows client 2 440
	measured --post-api wr --op send,write,cas --test lat -s 8 -n 100 --verify
	rows client 3 110
	measured --post-api wr --op send -I 64 -s 64 -n 200 -e
	rows client 1 220
}

@test "posted by calls: pieces, of which rxe takes wrong lengths" {
	refused 3 "--sge 3 with --post-api wr: ibv_wr_set_sge_list takes wrong lengths" \
		--post-api wr --op send -s 64 -n 10 --sge 3
}

@test "receives: 512 in lists of 10" {
	measured --op send -s 64 -n 2000 -r 512 --recv_post_list 10
	[[ $output == *"rx-depth      512 (given)"*"recv-batch    10 (given)"* ]]
	rows client 1 2200
}

@test "receives: one queue for all queue pairs" {
	measured --use-srq --op send,write_imm -s 64 -n 200 -q 4 -r 128 --recv-batch 8
	[[ $output == *"srq           on (given)"* ]]
	rows client 2 880
	[ "$(count server received)" = "880
880" ]
	measured --srq --op send -s 4096 -n 100 -q 3 -b -e --verify
	rows client 1 330
	measured --srq --op send_imm --test lat -s 8 -n 100
	rows client 1 110
	refused 2 "--srq with --op read: the operation uses no receives" --srq --op read -n 10
}
