/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters and facts of a host, read from a sysfs made for the purpose. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "host/counters.h"
#include "host/facts.h"
#include "host/numa.h"

#include <cmocka.h>

#include "tree.h"

#define PORT "class/infiniband/rxe0/ports/1/"
#define HW PORT "hw_counters/"

static void take(struct counters_port *p, struct counters *c)
{
	assert_int_equal(counters_take(p, c), 0);
}

static void all_counters_by_name(void **state)
{
	struct counters_port p;
	struct counters c;

	(void)state;
	tree_write(HW "sent_pkts", "17\n");
	tree_write(HW "rcvd_pkts", "18446744073709551615\n");
	tree_write(HW "link_downed", "2\n");
	tree_write(HW "lifespan", "0\n");
	tree_write(HW "RNR sent", "5\n");
	tree_write(PORT "counters/link_downed", "2\n");
	tree_write(PORT "counters/port_xmit_wait", "0\n");
	/* No numbers: words, nothing, a sign, more than 64 bits. */
	tree_write(PORT "counters/words", "N/A (no PMA)\n");
	tree_write(PORT "counters/nothing", "");
	tree_write(PORT "counters/negative", "-1\n");
	tree_write(PORT "counters/large", "18446744073709551616\n");
	tree_write("class/infiniband/rxe0/ports/2/counters/other_port", "1\n");
	counters_open(&p, "rxe0", 1);
	assert_true(p.lifespan_ns == 0);
	take(&p, &c);
	assert_int_equal(c.count, 5);
	assert_string_equal(c.list[0].name, "RNR sent");
	assert_string_equal(c.list[1].name, "link_downed");
	assert_string_equal(c.list[2].name, "port_xmit_wait");
	assert_string_equal(c.list[3].name, "rcvd_pkts");
	assert_string_equal(c.list[4].name, "sent_pkts");
	assert_true(c.list[3].value == UINT64_MAX);
	assert_true(c.list[4].value == 17);
	counters_free(&c);
	assert_int_equal(c.count, 0);
}

static void only_what_moved(void **state)
{
	struct counters before, after;
	struct counters_port p;
	uint64_t value;
	size_t i = 0;

	(void)state;
	tree_write(HW "a_still", "3\n");
	tree_write(HW "b_up", "10\n");
	tree_write(HW "c_reset", "9\n");
	tree_write(HW "d_gone", "1\n");
	counters_open(&p, "rxe0", 1);
	take(&p, &before);
	tree_write(HW "b_up", "12\n");
	tree_write(HW "c_reset", "0\n");
	tree_write(HW "e_new", "7\n");
	unlink(strcat(strcpy((char[600]){ 0 }, tree_root), "/" HW "d_gone"));
	take(&p, &after);
	assert_true(counters_next_moved(&before, &after, &i, &value));
	assert_string_equal(after.list[i].name, "b_up");
	assert_true(value == 10 && after.list[i].value == 12);
	i++;
	assert_true(counters_next_moved(&before, &after, &i, &value));
	assert_string_equal(after.list[i].name, "c_reset");
	assert_true(value == 9 && after.list[i].value == 0);
	i++;
	assert_false(counters_next_moved(&before, &after, &i, &value));
	counters_free(&before);
	i = 0;
	assert_false(counters_next_moved(&before, &after, &i, &value));
	counters_free(&after);
}

static void no_counters(void **state)
{
	struct counters_port p;
	struct counters c;

	(void)state;
	counters_open(&p, "rxe0", 1);
	assert_int_equal(counters_take(&p, &c), -ENOENT);
	counters_free(&c);
}

/* Two readings are never nearer to each other than the kernel's answers are old. */
static void cache_is_waited_for(void **state)
{
	struct counters_port p;
	struct counters c;
	uint64_t first;

	(void)state;
	tree_write(HW "lifespan", "12\n");
	tree_write(HW "sent_pkts", "1\n");
	counters_open(&p, "rxe0", 1);
	assert_true(p.lifespan_ns == 12000000);
	take(&p, &c);
	counters_free(&c);
	first = p.taken_ns;
	take(&p, &c);
	counters_free(&c);
	assert_true(p.taken_ns - first >= 12000000);
	/* A cache of ten seconds is not. */
	tree_write(HW "lifespan", "10000\n");
	counters_open(&p, "rxe0", 1);
	assert_int_equal(counters_take(&p, &c), -ESTALE);
	counters_free(&c);
}

static void troubles(void **state)
{
	static const struct {
		const char *name;
		enum trouble trouble;
	} known[] = {
		{ "ack_deferred", TROUBLE_NONE },
		{ "sent_pkts", TROUBLE_NONE },
		{ "port_xmit_data", TROUBLE_NONE },
		{ "", TROUBLE_NONE },
		{ "completer_retry_err", TROUBLE_RETRANSMIT },
		{ "rcvd_rnr_err", TROUBLE_RNR },
		{ "rcvd_seq_err", TROUBLE_SEQUENCE },
		{ "np_cnp_sent", TROUBLE_CONGESTION },
		{ "port_xmit_discards", TROUBLE_DISCARD },
		{ "port_xmit_wait", TROUBLE_PAUSE },
		{ "symbol_error", TROUBLE_LINK },
		{ "RNR rcvd", TROUBLE_RNR },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (counter_trouble(known[i].name) != known[i].trouble)
			fail_msg("%s: %d", known[i].name, counter_trouble(known[i].name));
}

static void pcie_link(void **state)
{
	struct device_bus b;

	(void)state;
	tree_write("class/infiniband/mlx5_0/node_guid", "0:0:0:1\n");
	tree_write("class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	tree_link("class/infiniband/mlx5_0/device", "../../../devices/pci/0000:3b:00.0");
	tree_write("devices/pci/0000:3b:00.0/current_link_speed", "8.0 GT/s PCIe\n");
	tree_write("devices/pci/0000:3b:00.0/max_link_speed", "16.0 GT/s PCIe\n");
	tree_write("devices/pci/0000:3b:00.0/current_link_width", "8\n");
	tree_write("devices/pci/0000:3b:00.0/max_link_width", "16\n");
	tree_write("devices/pci/0000:3b:00.0/numa_node", "1\n");
	facts_device(&b, "mlx5_0", 1);
	assert_int_equal(b.software_device, 0);
	assert_true(b.pcie_speed == 8 && b.pcie_max_speed == 16);
	assert_int_equal(b.pcie_width, 8);
	assert_int_equal(b.pcie_max_width, 16);
	assert_true(b.link_gbit_per_s == 100);
	assert_int_equal(numa_device_node("mlx5_0"), 1);
	/* A virtual function knows neither. */
	tree_write("devices/pci/0000:3b:00.0/max_link_speed", "Unknown\n");
	tree_write("devices/pci/0000:3b:00.0/max_link_width", "255\n");
	facts_device(&b, "mlx5_0", 1);
	assert_true(b.pcie_max_speed == 0);
	assert_int_equal(b.pcie_max_width, 0);
}

static void software_devices(void **state)
{
	struct device_bus b;

	(void)state;
	facts_device(&b, "gone", 1);
	assert_int_equal(b.software_device, 0);
	assert_true(b.link_gbit_per_s == 0);
	assert_int_equal(numa_device_node("gone"), -1);
	tree_write("class/infiniband/siw0/node_guid", "0:0:0:1\n");
	facts_device(&b, "siw0", 1);
	assert_int_equal(b.software_device, 1);
	/* Before Linux 5.11 rxe led to its netdev's device, whose PCIe link it does not use. */
	tree_write("class/infiniband/rxe0/node_guid", "0:0:0:1\n");
	tree_write("class/infiniband/rxe0/parent", "eth0\n");
	tree_link("class/infiniband/rxe0/device", "../../../devices/pci/0000:3b:00.0");
	tree_write("devices/pci/0000:3b:00.0/current_link_width", "8\n");
	facts_device(&b, "rxe0", 1);
	assert_int_equal(b.software_device, 1);
	assert_int_equal(b.pcie_width, 0);
}

static void governors(void **state)
{
	struct host_facts f;

	(void)state;
	tree_write("class/x", ""); /* what the path goes through */
	facts_get(&f);
	assert_string_equal(f.governor, "");
	tree_write("devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	facts_get(&f);
	assert_string_equal(f.governor, "performance");
	if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		skip();
	tree_write("devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
	facts_get(&f);
	assert_string_equal(f.governor, "powersave");
	tree_write("devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n");
	tree_write("devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
	facts_get(&f);
	assert_string_equal(f.governor, "ondemand");
}

static void virtual_machines(void **state)
{
	struct host_facts f;

	(void)state;
	tree_write("class/dmi/id/sys_vendor", "Dell Inc.\n");
	tree_write("class/dmi/id/product_name", "VMware Virtual Platform\n");
	facts_get(&f);
	assert_string_equal(f.virtual_machine, "VMware");
	tree_write("class/dmi/id/sys_vendor", "QEMU\n");
	facts_get(&f);
	assert_string_equal(f.virtual_machine, "QEMU");
	tree_write("class/dmi/id/sys_vendor", "Dell Inc.\n");
	tree_write("class/dmi/id/product_name", "PowerEdge R750\n");
	facts_get(&f); /* now only the CPU's flag can say so, whatever this machine is */
	assert_true(!f.virtual_machine[0] || !strcmp(f.virtual_machine, "unnamed hypervisor"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(all_counters_by_name),
		TREE_TEST(only_what_moved),
		TREE_TEST(no_counters),
		TREE_TEST(cache_is_waited_for),
		cmocka_unit_test(troubles),
		TREE_TEST(pcie_link),
		TREE_TEST(software_devices),
		TREE_TEST(governors),
		TREE_TEST(virtual_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
