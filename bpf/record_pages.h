// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * A few bytes of user memory, found as the processor finds them: by the page tables (Intel SDM vol. 3A, 4.5).
 *
 * The kernel's helper for user memory takes half a native read(2) for 16 bytes. But all memory is part of the kernel's,
 * too, from one address on, and loads from there are single instructions, which give 0 where they fail. So the tables
 * are followed, the bytes loaded, and the last two entries looked at once more: if they say the same, the bytes
 * were those, as get_user_pages_fast() has it. What is not as usual is left to the helper: memory that is not
 * present, of devices, of memfd_secret() (the kernel's own tables do not have it).
 *
 * Where memory starts in the kernel's nobody tells. It is looked for once: the place from which the tables lead to what
 * the helper reads. If there is none, as where tables have other numbers than the kernel (a guest of Xen of the
 * old kind) or bits more (SEV), the helper reads all. Whatever the place, and whatever is there, loads are from the 8 TiB
 * behind it: so much room the kernel leaves behind memory (RANDOMIZE_MEMORY_PHYSICAL_PADDING), and no device is met.
 *
 * The loads are by bpf_rdonly_cast(), of Linux 6.2.
 */
#ifndef BPF_RECORD_PAGES_H
#define BPF_RECORD_PAGES_H

#include "bpf/record_ring.h"

#define PAGE 4096ull
#define FEW 32u /* bytes that are read */

#define ENTRY_PRESENT 0x1ull
#define ENTRY_USER 0x4ull
#define ENTRY_UNCACHED 0x18ull
#define ENTRY_LARGE 0x80ull
#define ENTRY_SPECIAL 0x200ull		 /* Linux: there is no memory of its own */
#define ENTRY_AT 0x000007fffffff000ull	 /* physical memory below PLACES */
#define ENTRY_FAR 0x000ff80000000000ull	 /* above */
#define UPPER_HALF 0xffff800000000000ull /* of addresses, with four levels of tables */

#define GIB_SHIFT 30
#define TRIES 32u	 /* places tried at a time */
#define PLACES 0x2000ull /* that are tried in all */

/* Where physical memory starts in the kernel's; 0: not known. Looked for downwards from @first, in GiB. */
struct {
	__u64 base, first, tried, proofs;
} pages;

/* Of the kernel's type that is cast to: two words. programs.c puts its number, and that of the call, into these
 * instructions; 0: there is no such call. */
struct words {
	__u64 word[2];
};

static const struct words *(*const cast)(__u64 at, __u64 type) = (void *)REC_CAST_CALL;

static __always_inline __u64 cast_type(void)
{
	__u64 type;

	asm volatile("%0 = %1" : "=r"(type) : "i"(REC_CAST_TYPE));
	return type;
}

/* The word at @at of the kernel's memory; 0 if there is nothing. */
static __always_inline __u64 word_at(__u64 at)
{
	return *(volatile const __u64 *)&cast(at, cast_type())->word[0];
}

/* The uppermost of the task's page tables. */
static __always_inline __u64 tables_of(const struct task_struct *task)
{
	__u64 mm = word_at((__u64)task + bpf_core_field_offset(struct task_struct, mm));

	return word_at(mm + bpf_core_field_offset(struct mm_struct, pgd));
}

/* The last two entries on the way to an address, and where they are. */
struct way {
	__u64 at[2], entry[2];
};

/* Where address @addr lies in physical memory by @table, all of whose entries on the way there have @bits; -1: it is
 * not said. What is not there has no bits, and leads to what has none, or is of no use. */
static __always_inline __u64 place_of(__u64 base, __u64 table, __u64 addr, __u64 bits,
				      struct way *way)
{
	__u64 entry = table - base, all = bits, any = 0, low, at = 0;

	// Five levels leave no room for the kernel's memory where four have it.
	if (table < UPPER_HALF) {
		entry = word_at(table + (addr >> 48) % 512 * 8);
		all &= entry;
		any |= entry;
	}
#pragma unroll
	for (int shift = 39; shift >= 12; shift -= 9) {
		way->at[0] = at;
		way->entry[0] = entry;
		low = (1ull << shift) - 1;
		at = base + (entry & ENTRY_AT) + (addr >> shift) % 512 * 8;
		entry = word_at(at);
		all &= entry;
		any |= entry;
		if (shift < 39 && entry & ENTRY_LARGE)
			break;
	}
	way->at[1] = at;
	way->entry[1] = entry;
	return all != bits || any & ENTRY_FAR ||
			       entry & (ENTRY_SPECIAL | ENTRY_UNCACHED) ?
		       -1 :
		       (entry & ENTRY_AT & ~low) | (addr & low);
}

/* FEW bytes of user memory at @addr. @return whether they are there. */
static __always_inline int read_pages(__u64 words[FEW / 8], __u64 addr,
				      const struct task_struct *task, __u64 base)
{
	__u64 user = ENTRY_PRESENT | ENTRY_USER, table = tables_of(task), any = 0, from;
	struct way way, own;

	if (addr % PAGE > PAGE - FEW)
		return 0;
	from = place_of(base, table, addr, user, &way);
	if (from == -1ull)
		return 0;
	for (__u32 i = 0; i < FEW / 8; i++)
		any |= words[i] = word_at(base + from + i * 8);
	if (word_at(way.at[0]) != way.entry[0] || word_at(way.at[1]) != way.entry[1])
		return 0;
	// What cannot be loaded has come as 0, too.
	return any || place_of(base, table, base + from, ENTRY_PRESENT, &own) == from;
}

/* User memory, as the helper read it. */
struct seen {
	__u64 addr, word[2];
};

/* Not static: see put_memory(). Then the verifier also sees it where it is not called: for want of the cast. */
__attribute__((noinline)) int is_base(__u64 base, __u64 addr, __u64 word0, __u64 word1)
{
	struct way way;
	__u64 from;

	if (!cast_type())
		return 0;
	from = base + place_of(base, tables_of(bpf_get_current_task_btf()), addr,
			       ENTRY_PRESENT | ENTRY_USER, &way);
	return word_at(from) == word0 && word_at(from + 8) == word1;
}

static long try_base(__u32 i __attribute__((unused)), const struct seen *seen)
{
	__u64 base = (pages.first - pages.tried++) << GIB_SHIFT;

	if (!is_base(base, seen->addr, seen->word[0], seen->word[1]))
		return 0;
	pages.base = base;
	return 1;
}

/* Whether physical memory starts where it was found, and if it was not, where: judged by the two words at @addr. PLACES
 * tried say that it is not to be known: a function of our own is not called for that at each read. Not static: see is_base(). */
__attribute__((noinline)) int prove_pages(__u64 addr)
{
	struct seen seen = { .addr = addr };

	if (!cast_type() || addr % PAGE > PAGE - sizeof(seen.word) ||
	    bpf_probe_read_user(seen.word, sizeof(seen.word), (void *)addr) ||
	    !seen.word[0] || !seen.word[1])
		return 0;
	if (!pages.first)
		pages.first = tables_of(bpf_get_current_task_btf()) >> GIB_SHIFT;
	if (!pages.base)
		bpf_loop(TRIES, try_base, &seen, 0);
	else if (is_base(pages.base, addr, seen.word[0], seen.word[1]))
		pages.proofs++;
	else
		pages.tried = PLACES;
	return 0;
}

#endif
