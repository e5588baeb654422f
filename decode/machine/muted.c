// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/muted.h"

#include <sys/mman.h>

#include "decode/machine/replay_int.h"
#include "decode/translator/mute.h"

#define PAGE 4096u

static struct dec_replay *replay;
static VEC(struct dec_mute) muted;

/* Say what a page holds, and the first bytes behind it. */
static void muted_tell(const struct dec_mute *m)
{
	uint64_t addr = m->page * PAGE;
	uint64_t n = dec_guest_avail(&replay->guest, addr, PROT_READ);

	n = n < PAGE + DEC_MUTE_BEYOND ? n : PAGE + DEC_MUTE_BEYOND;
	for (uint64_t at = 0, some; at < n; at += some) {
		some = n - at < PAGE ? n - at : PAGE;
		dec_replay_log_write(replay, addr + at, (const uint8_t *)addr + at, some);
	}
}

/* Number @p i is muted no more. */
static void muted_remove(size_t i)
{
	struct dec_mute m = muted.data[i];

	dec_mute_end(&replay->engine, m.page);
	muted.data[i] = muted.data[--muted.size];
	if (m.owner != DEC_MUTE_DROPPED)
		muted_tell(&m);
}

void dec_muted_end(struct dec_replay *r)
{
	(void)r;
	while (muted.size)
		muted_remove(muted.size - 1);
}

/* Pages [first, last], and with a page its whole block. */
static void muted_remove_pages(uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < muted.size;) {
		struct dec_mute m = muted.data[i];

		if (m.page < first || m.page > last) {
			i++;
			continue;
		}
		muted_remove(i);
		for (size_t k = muted.size; m.owner >= PAGE && k--;)
			if (muted.data[k].owner == m.owner)
				muted_remove(k);
		i = 0;
	}
}

void dec_muted_release(void *ctx, uint64_t addr)
{
	(void)ctx;
	muted_remove_pages(addr / PAGE, addr / PAGE);
	muted_remove_pages((addr + PAGE - 1) / PAGE, (addr + PAGE - 1) / PAGE);
}

static void muted_on_remap(uint64_t start, uint64_t end)
{
	if (muted.size && start < end)
		muted_remove_pages(start / PAGE, (end - 1) / PAGE);
}

static void muted_add_page(const struct dec_mute *m)
{
	if (dec_mute_is_muted(&replay->engine, m->page) ||
	    !dec_mute_page(&replay->engine, m->page))
		return;
	if (vec_add(&muted, *m))
		dec_mute_end(&replay->engine, m->page);
}

void dec_muted_add(struct dec_replay *r, const struct dec_mute *mute, size_t n)
{
	replay = r;
	if (r->guest.remapping && r->guest.remapping != muted_on_remap)
		return; // somebody else is told
	if (!dec_mute_begin(&r->engine))
		return;
	r->guest.remapping = muted_on_remap;
	for (size_t i = 0; i < n; i++) {
		struct dec_mute first = mute[i];

		// A release is noticed by the first whole page of the block.
		first.page = (first.owner + PAGE - 1) / PAGE;
		if (first.owner >= PAGE)
			muted_add_page(&first);
		if (first.owner < PAGE || dec_mute_is_muted(&r->engine, first.page))
			muted_add_page(&mute[i]);
	}
}
