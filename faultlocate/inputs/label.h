// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Labels: what is known of the ways from something wanted to the value. One for each byte of a
 * register or of memory. Private to inputs/.
 */
#ifndef FAULTLOCATE_INPUTS_LABEL_H
#define FAULTLOCATE_INPUTS_LABEL_H

#include "base/base.h"

/**
 * Kinds of ways, in bits. A way's role is that of its most particular step: an address, else a
 * control dependence, else values alone. It is strong while all of its steps are.
 *
 * A link of a chain leads from a constant to what the exact test was of, and keeps the role DERIVED,
 * but only for what stays strong from there on: WAY_CHAIN; WAY_CHAIN_WEAK, if the constant's own
 * value was weakened later.
 */
enum way {
	WAY_DERIVED = 1, ///< strong; _WEAK: no more
	WAY_DERIVED_WEAK = 2,
	WAY_CHAIN = 4,
	WAY_CHAIN_WEAK = 8,
	WAY_CONTROL = 16,
	WAY_CONTROL_WEAK = 32,
	WAY_ADDRESS = 64,
	WAY_ADDRESS_WEAK = 128,
	/** Part of an address being computed: adding to it and scaling it keep it strong. */
	WAY_POINTER = 256,
	/** The same of a jump's target, which a table holds: what selects there is what the jump
	 * depends on, by these ways. */
	WAY_TABLE = 512, ///< times the bits above up to WAY_ADDRESS_WEAK
	/** And of what selects there, while it is only added to or scaled. */
	WAY_INDEX = 1 << 17, ///< as WAY_TABLE
};
#define WAYS_PLAIN 255u
#define WAYS_TABLE (WAYS_PLAIN * WAY_TABLE)
#define WAYS_INDEX (WAYS_PLAIN * WAY_INDEX)
#define WAYS_CHAIN (WAY_CHAIN | WAY_CHAIN_WEAK)

struct label {
	uint32_t ways; ///< 0: not wanted
	uint32_t node; ///< of the tree: the nearest that wants it
	uint32_t link; ///< of a chain, if ways_have_link()
};

/** @return whether one of the ways is that of a chain. */
static inline bool ways_have_link(uint32_t w)
{
	return w & WAYS_CHAIN * (1 | WAY_TABLE | WAY_INDEX);
}

/** The ways themselves, whatever is being computed. */
static inline uint32_t ways_plain(uint32_t w)
{
	return (w & WAYS_PLAIN) | (w & WAYS_TABLE) / WAY_TABLE |
	       (w & WAYS_INDEX) / WAY_INDEX | (w & WAY_POINTER ? WAY_ADDRESS : 0);
}

/** Where it is loaded from: what is there is a value again. */
static inline uint32_t ways_loaded(uint32_t w)
{
	return ways_plain(w & ~WAYS_TABLE);
}

/** What is left of ways behind a step that does not keep exact values. */
static inline uint32_t ways_weak(uint32_t w)
{
	return ((w & WAY_DERIVED) << 1) | ((w & WAY_CONTROL) << 1) |
	       ((w & WAY_ADDRESS) << 1) | (w & WAY_POINTER ? WAY_ADDRESS_WEAK : 0) |
	       (w & (WAY_DERIVED_WEAK | WAY_CONTROL_WEAK | WAY_ADDRESS_WEAK));
}

/** Over a control dependence. */
static inline uint32_t ways_control(uint32_t w)
{
	return (w & (WAY_DERIVED | WAY_CHAIN | WAY_CONTROL) ? WAY_CONTROL : 0) |
	       (w & (WAY_DERIVED_WEAK | WAY_CHAIN_WEAK | WAY_CONTROL_WEAK) ?
			WAY_CONTROL_WEAK :
			0) |
	       (w & (WAY_ADDRESS | WAY_POINTER) ? WAY_ADDRESS : 0) |
	       (w & WAY_ADDRESS_WEAK);
}

/** Over an address dependence: to the register that has the address. */
static inline uint32_t ways_address(uint32_t w)
{
	return (w & (WAY_DERIVED | WAY_CHAIN | WAY_CONTROL | WAY_ADDRESS | WAY_POINTER) ?
			WAY_POINTER :
			0) |
	       (w & (WAY_DERIVED_WEAK | WAY_CHAIN_WEAK | WAY_CONTROL_WEAK |
		     WAY_ADDRESS_WEAK) ?
			WAY_ADDRESS_WEAK :
			0);
}

/** From a constant to the exact test that it was assigned under. */
static inline uint32_t ways_chain(uint32_t w)
{
	return (w & (WAY_DERIVED | WAY_CHAIN) ? WAY_CHAIN : 0) |
	       (w & (WAY_DERIVED_WEAK | WAY_CHAIN_WEAK) ? WAY_CHAIN_WEAK : 0);
}

/** A label but for its node: ways, link << 32. */
typedef uint64_t label_word;

static inline label_word label_word_of(const struct label *l)
{
	return l->ways | (ways_have_link(l->ways) ? (uint64_t)l->link << 32 : 0);
}

static inline struct label label_of_word(label_word word)
{
	return (struct label){ .ways = (uint32_t)word, .link = word >> 32 };
}

/** Join @p from to @p to. A chain goes on being the one that was met first: the latest. */
static inline label_word label_join(label_word to, label_word from)
{
	return to >> 32 ? to | (uint32_t)from : to | from;
}

enum { LABEL_PAGE = 4096, LABEL_UNIT = 4, LABEL_UNITS = LABEL_PAGE / LABEL_UNIT };
enum { LABEL_LAST = 256 };

/** Of a unit whose bytes differ; the rest is a number of `splits`. Links are fewer. */
#define LABEL_SPLIT (UINT64_C(1) << 63)

/** Labels of a page. Most of what is wanted are whole words. */
struct label_page {
	uint64_t addr;
	uint32_t n;		      ///< bytes that are wanted
	label_word unit[LABEL_UNITS]; ///< of all its bytes; or LABEL_SPLIT
	uint32_t node[];	      ///< of bytes, with nodes
};

/** Labels of the bytes of a unit; they are not all the same. */
struct label_split {
	label_word at[LABEL_UNIT];
};

/** A page that was looked at. */
struct label_last {
	uint64_t addr;
	struct label_page *page;
};

/** Memory that is wanted. */
struct labels {
	bool has_nodes;
	bool has_failed;  ///< there was no memory, and something is not as it should be
	struct map pages; ///< number -> struct label_page *
	VEC(struct label_page *) unused;
	struct label_last last[LABEL_LAST]; ///< by number
	VEC(struct label_split) splits;
	VEC(uint32_t) free_splits;
	uint8_t hint[1 << 16]; ///< 0: no page of such a number is wanted
	uint64_t n;	       ///< bytes
};

/** @return whether some of [addr, addr + size), at most a page, may be wanted. */
static inline bool fl_labels_may(const struct labels *l, uint64_t addr, uint64_t size)
{
	return l->hint[addr / LABEL_PAGE & 0xffff] |
	       l->hint[(addr + size - 1) / LABEL_PAGE & 0xffff];
}

/** @return the page that holds @p addr, if it was looked at lately; or NULL. */
static inline struct label_page *fl_labels_last(const struct labels *l, uint64_t addr)
{
	const struct label_last *last = &l->last[addr / LABEL_PAGE % LABEL_LAST];

	return last->addr == addr / LABEL_PAGE * LABEL_PAGE ? last->page : NULL;
}

/** @return the units of @p page that the @p n bytes at @p addr, all on it, are, one behind the other; NULL:
 * they begin or end within one. */
static inline label_word *label_units(struct label_page *page, uint64_t addr, uint32_t n)
{
	return (addr | n) % LABEL_UNIT ? NULL :
					 &page->unit[addr % LABEL_PAGE / LABEL_UNIT];
}

/** @return whether all bytes of the units at @p at, of @p n bytes, are wanted by @p word: 8 mostly. */
static inline bool label_units_are(const label_word *at, uint32_t n, label_word word)
{
	label_word differs = 0;

	if (n == 2 * LABEL_UNIT)
		return !((at[0] ^ word) | (at[1] ^ word));
	for (uint32_t i = 0; i < n / LABEL_UNIT; i++)
		differs |= at[i] ^ word;
	return !differs;
}

/** @return whether the bytes of the units at @p at, @p n bytes, are wanted by @p words, one a byte. */
static inline bool label_units_equal(const struct labels *l, const label_word *at,
				     uint32_t n, const label_word *words)
{
	label_word differs = 0;

	for (uint32_t i = 0; i < n / LABEL_UNIT; i++, words += LABEL_UNIT) {
		const struct label_split all = { { at[i], at[i], at[i], at[i] } };
		const label_word *is =
			at[i] & LABEL_SPLIT ? l->splits.data[(uint32_t)at[i]].at : all.at;

		for (int k = 0; k < LABEL_UNIT; k++)
			differs |= is[k] ^ words[k];
	}
	return !differs;
}

static inline void label_units_set(label_word *at, uint32_t n, label_word word)
{
	for (uint32_t i = 0; i < n / LABEL_UNIT; i++)
		at[i] = word;
}

/** @return the page that holds @p addr; NULL: nothing of it is wanted. */
struct label_page *fl_labels_page(struct labels *l, uint64_t addr);

/** The page that holds @p addr, made when there is none, into @p ret. */
struct err *fl_labels_make(struct labels *l, uint64_t addr, struct label_page **ret);

/** @return the label of the byte at @p addr; its ways are 0 when it is not wanted. */
struct label fl_labels_get(struct labels *l, uint64_t addr);

/** The byte at @p addr, on page @p page, is wanted as @p label says. */
void fl_labels_put(struct labels *l, struct label_page *page, uint64_t addr,
		   const struct label *label);

/** The byte at @p addr is wanted no more. @return what it was. */
struct label fl_labels_take(struct labels *l, uint64_t addr);

/** Have the labels of @p n bytes at @p addr in @p ret. @return whether they are all the same. */
bool fl_labels_copy(struct labels *l, uint64_t addr, uint32_t n, label_word *ret);

/** Nothing of @p n bytes at @p addr, all on page @p page, is wanted; it may be forgotten. */
void fl_labels_clear(struct labels *l, struct label_page *page, uint64_t addr,
		     uint32_t n);

/** Want @p n bytes at @p addr, all on one page, as @p word says too. */
struct err *fl_labels_join(struct labels *l, uint64_t addr, uint32_t n, label_word word);

/** Nothing more is wanted of @p page, which is forgotten. */
void fl_labels_drop(struct labels *l, struct label_page *page);
void fl_labels_deinit(struct labels *l);

#endif
