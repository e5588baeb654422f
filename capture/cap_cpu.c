// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A processor's answers to cpuid. Leaves whose answer follows from eax alone are asked once;
 * of the others the table below says how many subleaves there can be. Sources: Intel SDM
 * volume 2, CPUID; AMD APM volume 3, appendix E.
 */
#define LOG_ROOM "capture"
#include <cpuid.h>
#include <sched.h>
#include <string.h>

#include "capture/cap_cpu.h"

#define LEAF_NONE 0xfffffffe ///< no processor has it: tells what it says out of range
#define LEAVES_MAX 0x200     ///< of one range; a virtual machine may claim anything
#define BRAND_LEAF 0x80000002

/** Leaves that look at ecx. */
static const struct {
	uint32_t leaf, subleaves;
	/** Behind the last subleaf: ecx comes back, edx is as in the first. */
	bool is_topology;
} indexed[] = {
	{ 4, 8, false },	  // caches
	{ 7, 4, false },	  // features
	{ 0xb, 4, true },	  // topology
	{ 0xd, 20, false },	  // XSAVE
	{ 0xf, 2, false },	  // monitoring
	{ 0x10, 6, false },	  // allocation
	{ 0x12, 4, false },	  // SGX
	{ 0x14, 2, false },	  // Processor Trace
	{ 0x17, 4, false },	  // vendor of the SoC
	{ 0x18, 8, false },	  // TLBs
	{ 0x1d, 2, false },	  // AMX tiles
	{ 0x1e, 2, false },	  // AMX multiplication
	{ 0x1f, 8, true },	  // topology
	{ 0x20, 1, false },	  // history reset
	{ 0x23, 6, false },	  // performance monitoring
	{ 0x24, 2, false },	  // AVX10
	{ 0x8000001d, 6, false }, // caches (AMD)
	{ 0x80000020, 4, false }, // allocation (AMD)
	{ 0x80000026, 8, true },  // topology (AMD)
};

/** Leaves that tell one CPU from another. */
static const uint32_t per_cpu[] = { 1, 2, 4, 6, 0xb, 0x1a, 0x1f, 0x8000001e, 0x80000026 };

static const uint32_t ranges[] = { 0, 0x40000000, 0x80000000 };

static size_t index_of(uint32_t leaf)
{
	size_t i = 0;

	while (i < sizeof(indexed) / sizeof(*indexed) && indexed[i].leaf != leaf)
		i++;
	return i;
}

static bool is_indexed(uint32_t leaf)
{
	return index_of(leaf) < sizeof(indexed) / sizeof(*indexed);
}

static uint32_t subleaves_of(uint32_t leaf)
{
	return is_indexed(leaf) ? indexed[index_of(leaf)].subleaves : 1;
}

static bool is_per_cpu(uint32_t leaf)
{
	for (size_t i = 0; i < sizeof(per_cpu) / sizeof(*per_cpu); i++)
		if (per_cpu[i] == leaf)
			return true;
	return false;
}

/* ---- asking ---------------------------------------------------------------------------- */

typedef VEC(struct cap_cpuid) cpuid_rows;

static bool is_zero(const uint32_t regs[4])
{
	return !(regs[0] | regs[1] | regs[2] | regs[3]);
}

static struct err *ask_leaf(cpuid_rows *rows, uint32_t leaf, int cpu)
{
	for (uint32_t sub = 0; sub < subleaves_of(leaf); sub++) {
		struct cap_cpuid row = { .leaf = leaf, .subleaf = sub, .cpu = cpu };
		uint32_t *r = row.regs;

		__cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
		// Of one CPU among others, zeros are an answer: fold() compares them.
		if (cpu == CAP_CPU_ANY && is_zero(r))
			continue;
		if (vec_add(rows, row))
			return &err_nomem;
	}
	return NULL;
}

/** Leaves @p from to what that itself says is the last of its range. */
static struct err *ask_range(cpuid_rows *rows, uint32_t from)
{
	uint32_t last, b, c, d;
	struct err *err = NULL;

	__cpuid(from, last, b, c, d);
	(void)b, (void)c, (void)d;
	// A range that is not there is answered like any leaf out of range.
	if (last < from || last - from >= LEAVES_MAX)
		return NULL;
	for (uint32_t leaf = from; !err && leaf <= last; leaf++)
		err = ask_leaf(rows, leaf, CAP_CPU_ANY);
	return err;
}

static int compare_rows(const void *a, const void *b)
{
	const struct cap_cpuid *x = a, *y = b;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (x->subleaf != y->subleaf)
		return x->subleaf < y->subleaf ? -1 : 1;
	return x->cpu - y->cpu;
}

/** Visit CPU @p cpu. @return NULL too when it cannot be visited. */
static struct err *ask_one_cpu(cpuid_rows *rows, int cpu)
{
	struct err *err = NULL;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return NULL;
	for (size_t i = 0; !err && i < sizeof(per_cpu) / sizeof(*per_cpu); i++)
		err = ask_leaf(rows, per_cpu[i], cpu);
	return err;
}

/** Rows of one leaf and subleaf, [@p from, @return), are one where all CPUs agree, and none where
 * all say zeros. */
static size_t fold(cpuid_rows *rows, size_t from, size_t *kept)
{
	struct cap_cpuid *r = rows->data;
	size_t to = from + 1;
	bool differ = false;

	while (to < rows->size && r[to].leaf == r[from].leaf &&
	       r[to].subleaf == r[from].subleaf) {
		differ |= memcmp(r[to].regs, r[from].regs, sizeof(r[to].regs)) != 0;
		to++;
	}
	if (differ)
		for (size_t i = from; i < to; i++)
			r[(*kept)++] = r[i];
	else if (!is_zero(r[from].regs))
		r[*kept] = r[from], r[(*kept)++].cpu = CAP_CPU_ANY;
	return to;
}

static struct err *ask_each_cpu(cpuid_rows *rows, const cpu_set_t *mine)
{
	struct err *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < rows->size; i++)
		if (!is_per_cpu(rows->data[i].leaf))
			rows->data[kept++] = rows->data[i];
	rows->size = kept;
	for (int cpu = 0; !err && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, mine))
			err = ask_one_cpu(rows, cpu);
	sched_setaffinity(0, sizeof(*mine), mine);
	return err;
}

struct err *cap_cpu_ask(struct cap_cpu *c, bool with_each)
{
	cpuid_rows rows = {};
	struct err *err = NULL;
	size_t kept = 0;
	cpu_set_t mine;

	*c = (struct cap_cpu){ .bound_to = CAP_CPU_ANY };
	for (size_t i = 0; !err && i < sizeof(ranges) / sizeof(*ranges); i++)
		err = ask_range(&rows, ranges[i]);
	if (!err)
		err = ask_leaf(&rows, LEAF_NONE, CAP_CPU_ANY);
	if (!err && with_each && !sched_getaffinity(0, sizeof(mine), &mine))
		err = ask_each_cpu(&rows, &mine);
	if (err) {
		vec_deinit(&rows);
		return err;
	}
	vec_sort(&rows, compare_rows);
	for (size_t i = 0; i < rows.size;)
		i = fold(&rows, i, &kept);
	c->rows = rows.data;
	c->n = kept;
	return NULL;
}

struct err *cap_cpu_here(const struct cap_cpu **ret)
{
	static const uint32_t leaves[] = { 0, 7, 0xd, 0x80000000, 0x80000001, LEAF_NONE };
	static struct cap_cpu here;
	cpuid_rows rows = {};
	struct err *err = NULL;

	*ret = &here;
	if (here.n)
		return NULL;
	for (size_t i = 0; !err && i < sizeof(leaves) / sizeof(*leaves); i++)
		err = ask_leaf(&rows, leaves[i], CAP_CPU_ANY);
	here = (struct cap_cpu){ .rows = rows.data,
				 .n = rows.size,
				 .bound_to = CAP_CPU_ANY };
	return err;
}

void cap_cpu_deinit(struct cap_cpu *c)
{
	free(c->rows);
	*c = (struct cap_cpu){ .bound_to = CAP_CPU_ANY };
}

/* ---- answering -------------------------------------------------------------------------- */

/** Of @p leaf and @p subleaf on @p cpu; @p is_sure: not one among several that differ. */
static const struct cap_cpuid *find_row(const struct cap_cpu *c, uint32_t leaf,
					uint32_t subleaf, int cpu, bool *is_sure)
{
	const struct cap_cpuid *first = NULL;

	for (size_t i = 0; i < c->n; i++) {
		const struct cap_cpuid *r = &c->rows[i];

		if (r->leaf != leaf || r->subleaf != subleaf)
			continue;
		if (r->cpu == CAP_CPU_ANY || r->cpu == cpu)
			return r;
		first = first ?: r;
	}
	*is_sure &= !first;
	return first;
}

static bool is_in_range(const struct cap_cpu *c, uint32_t leaf)
{
	uint32_t from = leaf >= 0x80000000 ? 0x80000000 : leaf & 0x40000000;
	bool is_sure = true;
	const struct cap_cpuid *r = find_row(c, from, 0, CAP_CPU_ANY, &is_sure);

	return r && leaf >= from && leaf <= r->regs[0];
}

/** What stands for @p leaf where it is out of range: Intel's processors answer as to the last
 * leaf of the first range, AMD's with zeros. */
static uint32_t stand_in(const struct cap_cpu *c, uint32_t leaf)
{
	bool is_sure = true;
	const struct cap_cpuid *none = find_row(c, LEAF_NONE, 0, CAP_CPU_ANY, &is_sure);
	const struct cap_cpuid *first = find_row(c, 0, 0, CAP_CPU_ANY, &is_sure);

	if (is_in_range(c, leaf))
		return leaf;
	return none && first ? first->regs[0] : LEAF_NONE;
}

bool cap_cpu_find(const struct cap_cpu *c, uint32_t leaf, uint32_t subleaf, int cpu,
		  uint32_t regs[4])
{
	const struct cap_cpuid *r;
	bool is_sure = c->n != 0;

	memset(regs, 0, 4 * sizeof(*regs));
	leaf = stand_in(c, leaf);
	r = find_row(c, leaf, is_indexed(leaf) ? subleaf : 0, cpu, &is_sure);
	if (r) {
		memcpy(regs, r->regs, sizeof(r->regs));
	} else if (is_indexed(leaf) && indexed[index_of(leaf)].is_topology) {
		r = find_row(c, leaf, 0, cpu, &is_sure);
		// Some virtual ones say nothing of their topology.
		regs[2] = r ? subleaf & 0xff : 0;
		regs[3] = r ? r->regs[3] : 0;
	}
	return is_sure;
}

const char *cap_cpu_vendor(const struct cap_cpu *c, char name[13])
{
	uint32_t r[4];

	cap_cpu_find(c, 0, 0, CAP_CPU_ANY, r);
	memcpy(name, &r[1], 4);
	memcpy(name + 4, &r[3], 4);
	memcpy(name + 8, &r[2], 4);
	name[12] = 0;
	return name;
}

const char *cap_cpu_brand(const struct cap_cpu *c, char name[49])
{
	uint32_t r[4];
	size_t at = 0, n;

	memset(name, 0, 49);
	for (uint32_t i = 0; i < 3; i++) {
		if (!is_in_range(c, BRAND_LEAF + i))
			return "";
		cap_cpu_find(c, BRAND_LEAF + i, 0, CAP_CPU_ANY, r);
		memcpy(name + 16 * i, r, 16);
	}
	while (name[at] == ' ')
		at++;
	n = strlen(name + at);
	while (n && name[at + n - 1] == ' ')
		name[at + --n] = 0;
	return name + at;
}
