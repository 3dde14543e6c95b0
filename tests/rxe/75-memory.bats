# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What buffers are made of, how they are registered, and what is in them.

load lib.bash

teardown() {
	end_own_server
	echo "${pages:-0}" >/proc/sys/vm/nr_hugepages 2>/dev/null || true
}

@test "shared memory, a region a queue pair, many places, either ordering" {
	measured --op all --test bw -s 8 -n 200 --memory shm --mr qp -q 3
	rows client 7 660
	measured --op write -s 64 -n 2000 --slots 5000 --relaxed-ordering on
	[[ $output == *"1 x 5000, every 64 B"* ]]
	measured --op send -s 64 -n 500 --relaxed-ordering off
}

@test "alignments from 1 to 2 MiB, and offsets inside them" {
	for a in "1 0" "64 1" "4K 4095" "2M 1M"; do
		measured --op write -s 100 -n 200 --align "${a% *}" --offset "${a#* }"
		rows client 1 220
	done
}

@test "huge pages: refused with how to reserve them, taken once they are" {
	pages=$(cat /proc/sys/vm/nr_hugepages)
	echo 0 >/proc/sys/vm/nr_hugepages
	refused 3 "nr_hugepages" --op write -n 100 --memory huge2m
	echo 16 >/proc/sys/vm/nr_hugepages
	[ "$(cat /proc/sys/vm/nr_hugepages)" -ge 4 ] || skip "the kernel has no room for huge pages"
	measured --op write -n 100 -s 4K --memory huge2m
	rows client 1 110
}

@test "a file, where the server has been given a place" {
	refused 3 "start it with --memory file:PATH" --op write -n 100 --memory file:/tmp
	own_server --once --memory file:/tmp
	PORT=$OWN_PORT measured --op write -s 4K -n 100 --memory file:/tmp
	rows client 1 110
}

@test "a DMA buffer is refused, and why" {
	if [ -e /dev/udmabuf ]; then
		refused 3 "does not register DMA buffers: Operation not supported" --op write -n 100 --memory udmabuf
	else
		refused 3 "/dev/udmabuf: No such file or directory" --op write -n 100 --memory udmabuf
	fi
}

@test "a message in 3 and in 7 pieces: every operation that has them" {
	for n in 3 7; do
		measured --op send,send_imm,write,write_imm,read --test lat,bw -s 1000 -n 200 --sge $n
		[ "$(grep -c "^rdmeter .*, RC, " <<<"$output")" -eq 10 ]
	done
	refused 2 "--sge 2 with --op fadd" --op fadd --sge 2
}

@test "each message verified as it comes: every operation" {
	measured --op all --test bw,lat -s 8 -n 300 --verify
	[ "$(grep -c "^rdmeter .*, RC, " <<<"$output")" -eq 14 ]
	measured --op send,write_imm,read,write --test bw -s 5000 -n 500 -q 3 -b --verify --mr qp --sge 3
	rows client 4 1650
	measured --op write --test lat -s 64K -n 100 --verify
}

@test "on-demand paging is refused by a device that does not have it" {
	if ibv_devinfo -v -d rxe0 | grep -A3 'general_odp_caps:' | grep -q ODP_SUPPORT; then
		measured --op write -n 100 --odp
	else
		refused 3 "has no on-demand paging; drop --odp" --op write -n 100 --odp
	fi
}
