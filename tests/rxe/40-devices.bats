# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmeter devices`: what it says of two real devices, here and from the server, beside what
# ibv_devinfo, ip and sysfs say.

load lib.bash

teardown() {
	[ ! -e "$BATS_TEST_TMPDIR/rxe.driver" ] || mv "$BATS_TEST_TMPDIR/rxe.driver" /etc/libibverbs.d
	chmod 666 /dev/infiniband/uverbs* 2>/dev/null || true
	end_own_server
	if [ -e "$BATS_TEST_TMPDIR/broken" ]; then
		"$RXE_SCRIPTS/rxe-setup" down
		"$RXE_SCRIPTS/rxe-setup" up
	fi
}

# The wire is to be made anew afterwards: a link that was down has lost IPv6 addresses.
break_wire() { : >"$BATS_TEST_TMPDIR/broken"; }

# devices ARGUMENT...: has to succeed and say nothing on stderr; stdout in the file out and $output.
devices() {
	cd "$BATS_TEST_TMPDIR" || return 1
	local code=0
	timeout -k 2 60 "$RDMETER" devices "$@" >out 2>err || code=$?
	output=$(<out)
	if [ "$code" -ne 0 ] || [ -s err ]; then
		echo "exit $code"
		cat out err
		return 1
	fi
}

# value KEY LINE: of a line of --script
value() { tr '\t' '\n' <<<"$2" | sed -n "s/^$1=//p"; }

# line DEVICE ADDRESS: that GID's line of the file out
line() { grep -F "device=$1"$'\t' out | grep -F $'\t'"gid=$2"$'\t'; }

# block DEVICE: its lines of what is for people, in the file out
block() { awk -v name="$1" '/^[^ ]/ { on = $0 == name } on && NF' out; }

# info KEY: the first value of ibv_devinfo -v, in the file info
info() { sed -n "s/^[[:space:]]*$1:[[:space:]]*\([^[:space:]]*\).*/\1/p" info | head -1; }

# same WHAT OURS THEIRS
same() {
	[ -n "$2" ] && [ "$2" = "$3" ] && return
	echo "$1: '$2' is not '$3'"
	return 1
}

# Until the command succeeds, for 5 s: the kernel tells a device of its netdev some time later.
until_ok() {
	local i
	for i in $(seq 50); do
		"$@" && return
		sleep 0.1
	done
	echo "never: $*"
	return 1
}

port_is() { devices --script && [ "$(value state "$(grep -m 1 "device=$1" out)")" = "$2" ]; }
mtu_is() { devices --script && [ "$(value active_mtu_bytes "$(grep -m 1 "device=$1" out)")" = "$2" ]; }

@test "devices: both, in order, with driver, state, MTUs and GIDs" {
	devices
	echo "$output"
	[ "$(grep -v '^ ' out | grep . | tr '\n' ' ')" = 'rxe0 rxe1 ' ]
	for i in 0 1; do
		block rxe$i >block
		grep -qxE " +driver +rdma_rxe" block
		grep -qxE " +NUMA node +-" block
		grep -qxE " +port 1 +ACTIVE, Ethernet, path MTU 4096, netdev v$i with MTU 4200" block
		grep -qxE " +GID [0-9]+ +fe80::[0-9a-f:]+ +RoCE v2 +v$i" block
		grep -qxE " +GID [0-9]+ +::ffff:10\.77\.$i\.1 +RoCE v2 +v$i" block
		grep -qxE " +GID [0-9]+ +fd77:(1:)?:1 +RoCE v2 +v$i" block
		[ "$(grep -c ' GID ' block)" -eq 3 ]
		grep -qxE " +message +(8 MiB|2 GiB) at most" block
		grep -qxE " +atomics +yes" block
	done
	[ "$(grep -c 'keeps it at' out)" -eq 0 ]
	[ "$(awk 'length > 100' out | wc -l)" -eq 0 ]
}

@test "devices --script: every line parses, no value is empty, the keys are the same" {
	devices --script
	echo "$output"
	[ "$(wc -l <out)" -eq 6 ]
	awk -F '\t' '
	{
		keys = ""
		for (i = 1; i <= NF; i++) {
			if ($i !~ /^[a-z][a-z_]*=[^ \t]+$/) { print "field " $i; bad = 1 }
			key = $i
			sub(/=.*/, "", key)
			keys = keys " " key
		}
		if (NR > 1 && keys != first) { print "keys" keys; bad = 1 }
		first = keys
	}
	END { exit bad }' out
	[ "$(cut -f 1 out | sort | uniq -c | awk '{ print $1 $2 }' | tr '\n' ' ')" = '3device=rxe0 3device=rxe1 ' ]
}

@test "devices: the values are those of ibv_devinfo, ip and sysfs" {
	devices --script
	for i in 0 1; do
		ibv_devinfo -v -d rxe$i >info
		one=$(grep -m 1 "device=rxe$i" out)
		echo "$one"
		same firmware "$(value firmware "$one")" "$(info fw_ver)"
		same node_guid "$(value node_guid "$one")" "$(info node_guid)"
		same node_guid "$(value node_guid "$one")" "$(cat /sys/class/infiniband/rxe$i/node_guid)"
		same mr "$(value max_mr_bytes "$one")" "$(printf %u "$(info max_mr_size)")"
		same qp "$(value max_qp "$one")" "$(info max_qp)"
		same qp_wr "$(value max_qp_wr "$one")" "$(info max_qp_wr)"
		same sge "$(value max_sge "$one")" "$(info max_sge)"
		same cqe "$(value max_cqe "$one")" "$(info max_cqe)"
		same initiator "$(value max_rd_atomic_initiator "$one")" "$(info max_qp_init_rd_atom)"
		same responder "$(value max_rd_atomic_responder "$one")" "$(info max_qp_rd_atom)"
		same atomics "$(value atomics "$one")" yes
		[[ $(info atomic_cap) == ATOMIC_HCA ]]
		same message "$(value max_msg_bytes "$one")" "$(printf %u "$(info max_msg_sz)")"
		same state "PORT_$(value state "$one")" "$(info state)"
		same state "4: $(value state "$one")" "$(cat /sys/class/infiniband/rxe$i/ports/1/state)"
		same mtu "$(value active_mtu_bytes "$one")" "$(info active_mtu)"
		same mtu "$(value max_mtu_bytes "$one")" "$(info max_mtu)"
		same layer "$(value link_layer "$one")" "$(info link_layer)"
		same netdev "$(value netdev "$one")" "$(cat /sys/class/infiniband/rxe$i/parent)"
		mtu=$(ip -o link show "$(value netdev "$one")" | sed 's/.* mtu \([0-9]*\) .*/\1/')
		same netdev_mtu "$(value netdev_mtu_bytes "$one")" "$mtu"
		# "GID[  1]:	::ffff:10.77.0.1, RoCE v2"
		sed -n 's/^[[:space:]]*GID\[ *\([0-9]*\)\]:[[:space:]]*\(.*\), \(RoCE\) \(v.\)$/\1 \2 \3_\4/p' \
			info >theirs
		grep "device=rxe$i" out | while IFS= read -r one; do
			echo "$(value gid_index "$one") $(value gid "$one") $(value gid_type "$one")"
		done >ours
		[ -s ours ]
		diff theirs ours
		for index in $(cut -d ' ' -f 1 ours); do
			same gid_netdev "$(value gid_netdev "$(sed -n "/device=rxe$i/s/.*/&/p" out |
				grep $'\t'"gid_index=$index"$'\t')")" \
				"$(cat "/sys/class/infiniband/rxe$i/ports/1/gid_attrs/ndevs/$index")"
		done
	done
	[ -n "$(line rxe0 ::ffff:10.77.0.1)" ]
	[ -n "$(line rxe1 fd77:1::1)" ]
}

@test "devices HOST: the same as there, byte for byte, in both forms; the server goes on" {
	for form in '' --script; do
		# shellcheck disable=SC2086 # no word or one
		devices $form
		mv out here
		for host in "$SERVER_IP" fd77:1::1 127.0.0.1; do
			# shellcheck disable=SC2086 # no word or one
			devices $form -p "$PORT" "$host"
			cmp here out
		done
	done
	measured --test lat -n 100
}

@test "devices: an MTU of 1500 gives 1024, and the remark says what would give more" {
	ip link set v0 mtu 1500
	break_wire
	until_ok mtu_is rxe0 1024
	[ "$(value netdev_mtu_bytes "$(grep -m 1 device=rxe0 out)")" = 1500 ]
	[ "$(value active_mtu_bytes "$(grep -m 1 device=rxe1 out)")" = 4096 ]
	devices
	echo "$output"
	block rxe0 >block
	grep -qxE " +port 1 +ACTIVE, Ethernet, path MTU 1024, netdev v0 with MTU 1500" block
	grep -qxE " +v0's MTU of 1500 keeps it at 1024: ip link set v0 mtu 4200" block
	[ "$(grep -c 'keeps it at' out)" -eq 1 ]
	# What it says to try does it.
	eval "$(sed -n 's/.*keeps it at 1024: //p' block)"
	until_ok mtu_is rxe0 4096
	devices
	[ "$(grep -c 'keeps it at' out)" -eq 0 ]
}

@test "devices: a port that is down is listed as such, here and from its server, with exit 0" {
	break_wire
	ip link set v0 down
	until_ok port_is rxe0 DOWN
	until_ok port_is rxe1 DOWN
	devices
	echo "$output"
	block rxe0 | grep -qE " +port 1 +DOWN, Ethernet, path MTU 4096, netdev v0 with MTU 4200"
	mv out here
	# No port is active: the server cannot measure, but it answers this.
	own_server
	devices -p "$OWN_PORT" 127.0.0.1
	cmp here out
	run timeout -k 2 20 "$RDMETER" -p "$OWN_PORT" --test lat -n 10 127.0.0.1
	echo "$output"
	[ "$status" -eq 3 ]
	devices -p "$OWN_PORT" 127.0.0.1
	cmp here out
}

@test "devices: a GID whose address has gone is not listed any more" {
	break_wire
	ip addr flush dev v0
	one_gid() { devices --script && [ "$(grep -c device=rxe0 out)" -eq 1 ]; }
	until_ok one_gid
	# The one of the MAC stays.
	[ -n "$(line rxe0 fe80::aff:fe4d:1)" ]
	[ "$(value gid_index "$(grep device=rxe0 out)")" = 0 ]
	[ "$(value netdev "$(grep device=rxe0 out)")" = v0 ]
}

@test "devices: one that libibverbs has no provider for is listed with the reason" {
	[ -e /etc/libibverbs.d/rxe.driver ] || skip 'libibverbs has its providers elsewhere'
	cd "$BATS_TEST_TMPDIR"
	mv /etc/libibverbs.d/rxe.driver .
	"$RDMETER" devices --script >out 2>err
	cat out err
	[ "$(wc -l <out)" -eq 2 ]
	[ "$(value driver "$(grep device=rxe1 out)")" = rdma_rxe ]
	[ "$(value port "$(grep device=rxe1 out)")" = - ]
	[[ $(value problem "$(grep device=rxe1 out)") == unknown_to_libibverbs\;* ]]
	"$RDMETER" devices 2>err | grep -qE '^ +problem +unknown to libibverbs; check ibverbs-providers'
}

@test "devices: one that may not be opened is listed with the reason" {
	cd "$BATS_TEST_TMPDIR"
	chmod 600 /dev/infiniband/uverbs*
	su -s /bin/bash nobody -c "'$RDMETER' devices --script" >out 2>err
	cat out err
	[ "$(wc -l <out)" -eq 2 ]
	[[ $(value problem "$(grep device=rxe0 out)") == opening_it:_* ]]
	[ "$(value driver "$(grep device=rxe0 out)")" = rdma_rxe ]
}

@test "devices: none left, here and at the server: exit 3, stdout empty, one line" {
	break_wire
	own_server
	cd "$BATS_TEST_TMPDIR"
	rdma link delete rxe0
	rdma link delete rxe1
	for words in '' "-p $OWN_PORT 127.0.0.1"; do
		code=0
		# shellcheck disable=SC2086 # words are words
		timeout 20 "$RDMETER" devices $words >out 2>err || code=$?
		cat out err
		[ "$code" -eq 3 ]
		[ ! -s out ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -qF 'no RDMA device: none is known to libibverbs; load the driver' err
	done
}
