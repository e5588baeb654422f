// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What calls write through pointers in structures that they are given: those that have one
 * place in the table, and a layout to themselves. Of what has its size elsewhere than at hand as
 * much is taken as may have been written.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/if_bridge.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/uio.h>

#include "pt-collect/inputs/table.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define CPUS_MAX 1024 ///< a value of each, where a map has such
#define TEXT_MAX 4096 ///< names
#define LIST_MAX 4096 ///< bytes of a list whose room nobody tells any more
#define LOG_MAX (16u << 20)
#define NR_GETXATTRAT 464

#define ROUND_UP_8(n) (((n) + 7ull) & ~7ull)

/** A call that ends. */
struct call {
	const struct ptc_tracee *t;
	struct ptc_writes *writes;
};

/** At most @p size bytes, as far as there is memory. */
static void add_some(struct call *c, uint64_t addr, uint64_t size)
{
	ptc_outputs_add(c->t, c->writes, addr, size);
}

static bool read_in(struct call *c, uint64_t addr, void *ret, size_t size)
{
	return ptc_read_some(c->t, addr, ret, size) == size;
}

/* ---- bpf(2) -------------------------------------------------------------------------------- */

/** Bytes of a key and of a value of the map that is descriptor @p fd. */
static bool read_map(const struct call *c, int fd, uint64_t *key, uint64_t *value)
{
	unsigned type = 0, key_size = 0, value_size = 0;
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", c->t->pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "map_type: %u", &type);
		sscanf(line, "key_size: %u", &key_size);
		sscanf(line, "value_size: %u", &value_size);
	}
	*key = key_size;
	*value = value_size;
	if (type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	    type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	    type == BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE)
		*value = ROUND_UP_8(value_size) * CPUS_MAX;
	return type;
}

static bool add_elem(struct call *c, const union bpf_attr *a, bool is_key)
{
	uint64_t key, value;

	if (!read_map(c, a->map_fd, &key, &value))
		return false;
	add_some(c, a->value, is_key ? key : value);
	return true;
}

static bool add_batch(struct call *c, const union bpf_attr *a)
{
	uint64_t key, value;

	if (!read_map(c, a->batch.map_fd, &key, &value))
		return false;
	// A hash map's place is a number of 4 bytes.
	add_some(c, a->batch.out_batch, key > 4 ? key : 4);
	add_some(c, a->batch.keys, key * a->batch.count);
	add_some(c, a->batch.values, value * a->batch.count);
	return true;
}

static bool add_test_run(struct call *c, const union bpf_attr *a)
{
	add_some(c, a->test.data_out, a->test.data_size_out);
	add_some(c, a->test.ctx_out, a->test.ctx_size_out);
	return true;
}

static bool add_bpf(struct call *c, const uint64_t args[8])
{
	uint64_t size = args[2] < sizeof(union bpf_attr) ? args[2] :
							   sizeof(union bpf_attr);
	union bpf_attr a = {};
	uint64_t key, value;

	if (!read_in(c, args[1], &a, size))
		return false;
	add_some(c, args[1], args[2] < TEXT_MAX ? args[2] : TEXT_MAX);
	switch (args[0]) {
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		return add_elem(c, &a, false);
	case BPF_MAP_GET_NEXT_KEY:
		return add_elem(c, &a, true);
	case BPF_MAP_LOOKUP_BATCH:
	case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
		return add_batch(c, &a);
	case BPF_PROG_LOAD:
		add_some(c, a.log_buf, a.log_size < LOG_MAX ? a.log_size : LOG_MAX);
		return true;
	case BPF_BTF_LOAD:
		add_some(c, a.btf_log_buf,
			 a.btf_log_size < LOG_MAX ? a.btf_log_size : LOG_MAX);
		return true;
	case BPF_PROG_TEST_RUN:
		return add_test_run(c, &a);
	case BPF_OBJ_GET_INFO_BY_FD:
		// Of other things than maps it has pointers of its own.
		add_some(c, a.info.info, a.info.info_len);
		return read_map(c, a.info.bpf_fd, &key, &value);
	case BPF_PROG_QUERY:
		add_some(c, a.query.prog_ids, LIST_MAX);
		return true;
	case BPF_TASK_FD_QUERY:
		add_some(c, a.task_fd_query.buf, TEXT_MAX);
		return true;
	}
	return true;
}

/* ---- ioctl(2), ptrace(2) ---------------------------------------------------------------------- */

static bool add_extents(struct call *c, uint64_t addr)
{
	struct fiemap map;

	if (!read_in(c, addr, &map, sizeof(map)))
		return false;
	// Without room for extents it counts them.
	add_some(c, addr,
		 sizeof(map) + (map.fm_extent_count ? map.fm_mapped_extents : 0ull) *
				       sizeof(struct fiemap_extent));
	return true;
}

static bool add_ranges(struct call *c, uint64_t addr)
{
	struct file_dedupe_range range;

	if (!read_in(c, addr, &range, sizeof(range)))
		return false;
	add_some(c, addr,
		 sizeof(range) +
			 range.dest_count * sizeof(struct file_dedupe_range_info));
	return true;
}

static bool add_interfaces(struct call *c, uint64_t addr)
{
	struct ifconf conf;

	if (!read_in(c, addr, &conf, sizeof(conf)))
		return false;
	add_some(c, addr, sizeof(conf));
	add_some(c, (uintptr_t)conf.ifc_buf, conf.ifc_len > 0 ? conf.ifc_len : 0);
	return true;
}

/** Of all bridges: without a socket of one there is nothing else that it tells. */
static bool add_bridges(struct call *c, uint64_t addr)
{
	unsigned long args[3]; // which, then what that has

	if (!read_in(c, addr, args, sizeof(args)))
		return false;
	if (args[0] == BRCTL_GET_BRIDGES)
		add_some(c, args[1], (uint64_t)(uint32_t)args[2] * sizeof(int));
	return true;
}

/** What a network driver says begins with a command, and mostly with how much it is. */
static bool add_ethtool(struct call *c, uint64_t addr)
{
	uint32_t head[4] = {};
	struct ifreq request;
	uint64_t data;

	if (!read_in(c, addr, &request, sizeof(request)))
		return false;
	add_some(c, addr, sizeof(request)); // the name ended
	data = (uintptr_t)request.ifr_data;
	ptc_read_some(c->t, data, head, sizeof(head));
	switch (head[0]) {
	case ETHTOOL_GSTRINGS:
		add_some(c, data, 12 + head[2] * (uint64_t)ETH_GSTRING_LEN);
		return true;
	case ETHTOOL_GSTATS:
	case ETHTOOL_GPHYSTATS:
	case ETHTOOL_TEST:
		add_some(c, data, 16 + head[head[0] == ETHTOOL_TEST ? 3 : 1] * 8ull);
		return true;
	case ETHTOOL_GREGS:
		add_some(c, data, 12ull + head[2]);
		return true;
	case ETHTOOL_GEEPROM:
	case ETHTOOL_GMODULEEEPROM:
		add_some(c, data, 16ull + head[3]);
		return true;
	}
	add_some(c, data, TEXT_MAX);
	return true;
}

/** Registers of another: a vector says where to, and how many bytes it was. */
static bool add_registers(struct call *c, uint64_t addr)
{
	struct iovec v;

	if (!read_in(c, addr, &v, sizeof(v)))
		return false;
	add_some(c, addr, sizeof(v));
	add_some(c, (uintptr_t)v.iov_base, v.iov_len);
	return true;
}

/** The value of an extended attribute: of getxattrat. */
static bool add_attribute(struct call *c, uint64_t addr)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} a;

	if (!read_in(c, addr, &a, sizeof(a)))
		return false;
	add_some(c, a.value, a.size);
	return true;
}

bool ptc_pointers_add(const struct ptc_tracee *t, struct ptc_writes *w, int64_t nr,
		      const uint64_t args[8])
{
	struct call c = { t, w };

	if (nr == __NR_bpf)
		return add_bpf(&c, args);
	if (nr == NR_GETXATTRAT)
		return add_attribute(&c, args[4]);
	if (nr == __NR_ptrace)
		return add_registers(&c, args[3]);
	switch ((uint32_t)args[1]) {
	case FS_IOC_FIEMAP:
		return add_extents(&c, args[2]);
	case FIDEDUPERANGE:
		return add_ranges(&c, args[2]);
	case SIOCGIFCONF:
		return add_interfaces(&c, args[2]);
	case SIOCGIFBR:
	case SIOCSIFBR:
		return add_bridges(&c, args[2]);
	case SIOCETHTOOL:
		return add_ethtool(&c, args[2]);
	}
	return false;
}
