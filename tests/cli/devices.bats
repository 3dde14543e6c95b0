#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `rdmeter devices` from outside: its usage, a host without a device, strangers and other versions
# at the other end. tests/rxe/40-devices.bats has real devices. As usage.bats.

bats_require_minimum_version 1.5.0

load lib.bash

# One line on stderr that has $2, nothing on stdout, exit code $1.
expect_error() {
	if [ "$code" -ne "$1" ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] ||
		[[ $(<err) != 'rdmeter: '*"$2"* ]]; then
		echo "wanted exit $1 and one line with '$2'; got exit $code"
		sed 's/^/out: /' out
		sed 's/^/err: /' err
		return 1
	fi
}

has_device() {
	[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]
}

greeting='{"type":"GREETING","major":1,"minor":1,"busy":false,"version":"0.1.0","auth":"none"}'
hello=${greeting/GREETING/HELLO}
gid='{"address":"::ffff:10.1.2.3","netdev":"eth9","index":3,"kind":3}'
down='{"netdev":"","number":2,"state":1,"link_layer":1,"active_mtu":2048,"max_mtu":4096,'
down+='"netdev_mtu":0,"max_msg_sz":1073741824,"gids":[]}'
up='{"netdev":"eth9","number":1,"state":4,"link_layer":2,"active_mtu":1024,"max_mtu":4096,'
up+='"netdev_mtu":1500,"max_msg_sz":1073741824,"gids":['$gid']}'
device='{"name":"mlx5_0","driver":"mlx5_core","firmware":"16.35 x","node_guid":"0002:c903:0001:0203",'
device+='"problem":"","numa_node":1,"max_mr_size":"0xffffffffffffffff","max_qp":131072,'
device+='"max_qp_wr":32768,"max_sge":30,"max_cqe":4194303,"max_rd_init":16,"max_rd_res":0,'
device+='"atomics":0,"ports":['$up','$down']}'
shut='{"name":"bad\nname\u001b[2J","driver":"","firmware":"","node_guid":"","problem":"opening it: no",'
shut+='"numa_node":-1,"max_mr_size":0,"max_qp":0,"max_qp_wr":0,"max_sge":0,"max_cqe":0,'
shut+='"max_rd_init":0,"max_rd_res":0,"atomics":0,"ports":[]}'

@test "devices: usage errors" {
	while IFS='|' read -r words told; do
		# shellcheck disable=SC2086 # words are words
		rdm $words
		expect_error 2 "$told"
	done <<-'END'
		--script|--script without devices
		--script h|--script without devices: only the list of devices has that form; drop it
		serve --script|--script without devices
		--script -- devices|--script without devices
		devices --script=1|--script takes no value
		devices a b|'b': one host only; 'a' is it already
		devices devices serve|'serve': one host only; 'devices' is it already
		h devices|'devices': one host only; 'h' is it already
		serve devices|'devices': serve takes no host
		devices -s 8|--size with devices: it lists every device and measures nothing
		devices h --once|--once with devices
		devices -d rxe0 h|--ib-dev with devices
		devices --plan h|--plan with devices
		devices --peer-dev x h|--peer-dev with devices
	END
	rdm devices ''
	expect_error 2 "the host's name is empty"
}

@test "devices: --help names it, and wins over it" {
	rdm devices --help
	[ "$code" -eq 0 ]
	grep -qF 'rdmeter devices [HOST]' out
	grep -qE '^ +--script ' out
	rdm devices --version
	[ "$code" -eq 0 ]
}

@test "devices: after -- it is a host, and a host can have that name" {
	rdm --connect-timeout 0 -p 1 -- devices
	[ "$code" -eq 3 ]
	grep -qE "'devices': |connecting to devices " err
	rdm devices --connect-timeout 0 -p 1 -- devices
	[ "$code" -eq 3 ]
	grep -qE "'devices': |connecting to devices " err
	rdm devices --connect-timeout 0 -p 1 serve
	[ "$code" -eq 3 ]
	grep -qE "'serve': |connecting to serve " err
}

@test "devices: without one, exit 3 and what to do, here and from a server" {
	has_device && skip 'this host has an RDMA device'
	rdm devices
	expect_error 3 'no RDMA device: none is known to libibverbs; load the driver'
	rdm devices --script
	expect_error 3 'no RDMA device: none is known to libibverbs; load the driver'
	server
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "the server 127.0.0.1:$port: no RDMA device: none is known to libibverbs"
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "the server 127.0.0.1:$port: no RDMA device"
	kill -0 "$server"
	[ "$(grep -c 'asked for the devices' server.err)" -eq 2 ]
	[ "$(wc -l <server.err)" -eq 3 ]
	[ ! -s server.out ]
}

@test "devices: nobody there, and a stranger" {
	rdm devices -p 1 --connect-timeout 0 127.0.0.1
	expect_error 3 'connecting to 127.0.0.1'
	listener 'send:SSH-2.0-OpenSSH_9.2p1\r\n' until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 'is not rdmeter'
}

@test "devices: a server's answer is printed for people" {
	listener magic "json:$greeting" "json:{\"type\":\"DEVICES\",\"devices\":[$device,$shut]}" until-end
	rdm devices -p "$port" 127.0.0.1
	[ "$code" -eq 0 ]
	[ ! -s err ]
	diff - out <<-'END'
		mlx5_0
		  driver         mlx5_core
		  firmware       16.35 x
		  node GUID      0002:c903:0001:0203
		  NUMA node      1
		  queue pairs    131072, each with queues of 32768 work requests of 30 SGEs
		  CQ             4194303 completions a queue
		  memory         no limit to a region
		  reads, atomics 16 outstanding as initiator, 0 as responder
		  atomics        no
		  port 1         ACTIVE, Ethernet, path MTU 1024, netdev eth9 with MTU 1500
		                 eth9's MTU of 1500 keeps it at 1024: ip link set eth9 mtu 4200
		    message      1 GiB at most
		    GID 3        ::ffff:10.1.2.3                         RoCE v2  eth9
		  port 2         DOWN, InfiniBand, path MTU 2048
		    message      1 GiB at most
		    GID          none

		bad?name?[2J
		  problem        opening it: no
		  driver         -
		  firmware       -
		  node GUID      -
		  NUMA node      -
	END
}

@test "devices: a server's answer is printed for scripts, each key in its place" {
	listener magic "json:$greeting" "json:{\"type\":\"DEVICES\",\"devices\":[$device,$shut]}" until-end
	rdm devices --script -p "$port" 127.0.0.1
	[ "$code" -eq 0 ]
	[ ! -s err ]
	tr '\t' ' ' <out >lines
	both='device=mlx5_0 driver=mlx5_core firmware=16.35_x node_guid=0002:c903:0001:0203 numa_node=1'
	limits='max_msg_bytes=1073741824 max_mr_bytes=18446744073709551615 max_qp=131072 max_qp_wr=32768'
	limits+=' max_sge=30 max_cqe=4194303 max_rd_atomic_initiator=16 max_rd_atomic_responder=0'
	limits+=' atomics=no problem=-'
	diff - lines <<-END
		$both port=1 state=ACTIVE link_layer=Ethernet active_mtu_bytes=1024 max_mtu_bytes=4096 netdev=eth9 netdev_mtu_bytes=1500 gid_index=3 gid=::ffff:10.1.2.3 gid_type=RoCE_v2 gid_netdev=eth9 $limits
		$both port=2 state=DOWN link_layer=InfiniBand active_mtu_bytes=2048 max_mtu_bytes=4096 netdev=- netdev_mtu_bytes=- gid_index=- gid=- gid_type=- gid_netdev=- $limits
		device=bad?name?[2J driver=- firmware=- node_guid=- numa_node=- port=- state=- link_layer=- active_mtu_bytes=- max_mtu_bytes=- netdev=- netdev_mtu_bytes=- gid_index=- gid=- gid_type=- gid_netdev=- max_msg_bytes=- max_mr_bytes=- max_qp=- max_qp_wr=- max_sge=- max_cqe=- max_rd_atomic_initiator=- max_rd_atomic_responder=- atomics=- problem=opening_it:_no
	END
}

@test "devices: an answer that lacks a key, or is another, is refused by name" {
	listener magic "json:$greeting" "json:{\"type\":\"DEVICES\",\"devices\":[${device/\"max_qp\":131072,/}]}" until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "sent DEVICES whose 'max_qp' is missing or out of range"
	listener magic "json:$greeting" "json:{\"type\":\"DEVICES\",\"devices\":[${device/\"kind\":3/\"kind\":-3}]}" until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "'kind'"
	listener magic "json:$greeting" 'json:{"type":"DEVICES"}' until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "'devices'"
	listener magic "json:$greeting" 'json:{"type":"DEVICES","devices":[7]}' until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 "'name'"
	listener magic "json:$greeting" 'json:{"type":"NOVELTY"}' until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 4 'sent NOVELTY where DEVICES was due; use the same version on both sides'
}

@test "devices: a server that does not know the question, or never answers: in time" {
	old='{"type":"ABORT","class":3,"text":"the client h sent DEVICES where FACTS was due; use the same version on both sides"}'
	listener magic "json:$greeting" "json:$old" until-end
	rdm devices -p "$port" 127.0.0.1
	expect_error 3 'gave up: the client h sent DEVICES where FACTS was due; use the same version'
	listener magic "json:$greeting" until-end
	SECONDS=0
	rdm devices -p "$port" --stall-timeout 0.5 127.0.0.1
	[ "$SECONDS" -le 2 ]
	expect_error 4 'did not answer within 500 ms (while waiting for DEVICES)'
	listener magic "json:$greeting" frame read close
	rdm devices -p "$port" 127.0.0.1
	expect_error 4 'is gone'
}

@test "a server answers DEVICES again and again, then BYE or FACTS, and refuses what it does not know" {
	server
	python3 "$peer" connect "$port" magic "json:$hello" 'json:{"type":"DEVICES"}' \
		'json:{"type":"DEVICES"}' read >seen
	[ "$(grep -o '"type":"DEVICES","devices":\[' seen | wc -l)" -eq 2 ]
	python3 "$peer" connect "$port" magic "json:$hello" 'json:{"type":"BYE"}' read >seen
	[ "$(grep -c ABORT seen)" -eq 0 ]
	python3 "$peer" connect "$port" magic "json:$hello" 'json:{"type":"NOVELTY"}' read >seen
	wait_line server.err 'sent NOVELTY where FACTS or DEVICES was due; use the same version'
	grep -qF '"type":"ABORT"' seen
	python3 "$peer" connect "$port" magic "json:$hello" 'json:{"type":"FACTS"}' read >seen
	wait_line server.err "FACTS whose 'asked_device' is missing"
	kill -0 "$server"
}

@test "--once ends after a list with 0" {
	server --once
	python3 "$peer" connect "$port" magic "json:$hello" 'json:{"type":"DEVICES"}' 'json:{"type":"BYE"}' \
		until-end
	status=0
	wait "$server" || status=$?
	[ "$status" -eq 0 ]
}
