# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Which device, which address, which GID; and limits that the device has.

load lib.bash

teardown() {
	end_own_server
	ip link set v0 up
	ip link set v1 up
}

@test "IPv6: the control connection, the GIDs and the wire" {
	SERVER_IP=fd77:1::1 measured --op write --test lat -n 200
	[[ $output =~ gid\ +[0-9]+\ fd77::1\ RoCE\ v2\ +[0-9]+\ fd77:1::1\ RoCE\ v2 ]]
	SERVER_IP='[fd77:1::1]' measured --op send --test bw -s 64K -n 100
}

@test "-d on the client binds the control connection to that device" {
	measured -d rxe0 --test lat -n 100
	[[ $output =~ device\ +rxe0\ port\ 1.*rxe1 ]]
	[[ $output =~ because\ +given ]]
}

@test "--peer-dev chooses the server's device; the same one on both ends is said aloud" {
	measured -d rxe0 --peer-dev rxe0 --test lat -n 100
	[[ $output == *"loopback: both ends are the same device"* ]]
	[[ $output == *"asked for by the client"* ]]
}

@test "--bind takes the address it is given" {
	measured --bind 10.77.0.1 --test lat -n 100
	[[ $output =~ device\ +rxe0 ]]
	refused 3 "--bind '10.99.99.99'" --bind 10.99.99.99
}

@test "a GID of another family is refused with both" {
	run bash -c "ibv_devinfo -v -d rxe0 | sed -n 's/.*GID\[ *\([0-9]*\)\]:\s*fd77::1,.*/\1/p'"
	index=$output
	[ -n "$index" ]
	measured -d rxe0 -x "$index" --test lat -n 100
	[[ $output == *fd77:1::1* ]]
	refused 3 "cannot talk" -d rxe0 -x "$index" --peer-gid-index 1
}

@test "an unknown device and an absent GID are named, with what there is" {
	refused 3 "--ib-dev 'mlx5_9': no such device or port; there are: rxe0 port 1 ACTIVE" -d mlx5_9
	refused 3 "--peer-dev 'mlx5_9': no such device" --peer-dev mlx5_9
	refused 3 "--gid-index 200" -d rxe0 -x 200
}

@test "a server's --ib-dev is the only one its clients get" {
	own_server -d rxe1
	PORT=$OWN_PORT measured --test lat -n 100
	PORT=$OWN_PORT refused 3 "not allowed by the server's --ib-dev" --peer-dev rxe0
}

@test "a port that is down is said to be" {
	ip link set v0 down
	run timeout 20 "$RDMETER" -p "$PORT" -d rxe0 --connect-timeout 2 127.0.0.1
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"port 1 of rxe0 is "*"DOWN"* ]]
	ip link set v0 up
	"$RXE_SCRIPTS/rxe-setup" down
	"$RXE_SCRIPTS/rxe-setup" up
	measured --test lat -n 100
}

@test "limits are refused by name, with both numbers" {
	most=$(max_msg_sz)
	refused 3 "--size $((most + 1)): this side's device allows $most bytes in a message" --op write -s $((most + 1))
	refused 3 "--tx-depth 40000: this side's device allows 32767 entries in a completion queue" --op write -t 40000
	refused 3 "--inline 2000" --op write -I 2000 -s 64
}

@test "too little locked memory is said to be the reason" {
	run su -s /bin/bash nobody -c "ulimit -l 64; exec timeout 20 '$RDMETER' -p $PORT --op write -s 1M -n 10 $SERVER_IP"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"locked memory is 64 KiB"*"ulimit -l"* ]]
}
