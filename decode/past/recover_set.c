// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/past/recover_set.h"

#include <stdlib.h>
#include <string.h>

/* ---- marks ------------------------------------------------------------------------------------ */

static size_t n_words(uint32_t n)
{
	return n / 64 + 1;
}

bool dec_recover_marks_init(struct past_marks *m, uint32_t n)
{
	m->n = n;
	m->bits = calloc(n_words(n) + n_words(n) / 64 + 1, sizeof(*m->bits));
	m->groups = m->bits ? m->bits + n_words(n) : NULL;
	return m->bits;
}

void dec_recover_marks_deinit(struct past_marks *m)
{
	free(m->bits);
	*m = (struct past_marks){};
}

void dec_recover_marks_fill(struct past_marks *m, bool is_in)
{
	memset(m->bits, 0, (n_words(m->n) + n_words(m->n) / 64 + 1) * sizeof(*m->bits));
	for (uint32_t i = 0; is_in && i < m->n; i++)
		past_marks_add(m, i);
}

void dec_recover_marks_join(struct past_marks *m, const struct past_marks *other)
{
	for (size_t i = 0; i < n_words(m->n); i++)
		m->bits[i] |= other->bits[i];
	for (size_t i = 0; i <= n_words(m->n) / 64; i++)
		m->groups[i] |= other->groups[i];
}

uint32_t dec_recover_marks_from(const struct past_marks *m, uint32_t i)
{
	size_t word = i / 64, group = word / 64, n_groups = n_words(m->n) / 64 + 1;
	uint64_t left;

	if (i >= m->n)
		return PAST_NO_ACCESS;
	left = m->bits[word] & (UINT64_MAX << i % 64);
	if (left)
		return word * 64 + __builtin_ctzll(left);
	// The words behind it in its group, then those of others.
	left = m->groups[group] & (UINT64_MAX - 1) << word % 64;
	while (!left && ++group < n_groups)
		left = m->groups[group];
	if (!left)
		return PAST_NO_ACCESS;
	word = group * 64 + __builtin_ctzll(left);
	return word * 64 + __builtin_ctzll(m->bits[word]);
}

uint32_t dec_recover_marks_before(const struct past_marks *m, uint32_t i)
{
	size_t word = i / 64, group = word / 64;
	uint64_t left = m->bits[word] & ((1ull << i % 64) - 1);

	if (left)
		return word * 64 + 63 - __builtin_clzll(left);
	left = m->groups[group] & ((1ull << word % 64) - 1);
	while (!left && group--)
		left = m->groups[group];
	if (!left)
		return PAST_NO_ACCESS;
	word = group * 64 + 63 - __builtin_clzll(left);
	return word * 64 + 63 - __builtin_clzll(m->bits[word]);
}

/* ---- chains ------------------------------------------------------------------------------------ */

uint32_t dec_recover_chain_rank(const struct past_chain *c, uint32_t i)
{
	const uint32_t *at = c->at + c->begin;
	uint32_t low = 0, high = c->size;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (at[mid] < i)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Make room before the first one, or behind the last. */
static bool chain_grow(struct past_chain *c, bool is_front)
{
	uint32_t capacity = c->size ? 2 * c->size : 2;
	uint32_t *at = malloc(capacity * sizeof(*at));
	uint32_t begin = is_front ? capacity - c->size : 0;

	if (!at)
		return false;
	if (c->size)
		memcpy(at + begin, c->at + c->begin, c->size * sizeof(*at));
	free(c->at);
	c->at = at;
	c->begin = begin;
	c->capacity = capacity;
	return true;
}

bool dec_recover_chain_add(struct past_chain *c, uint32_t i)
{
	uint32_t k = dec_recover_chain_rank(c, i), *at;
	bool is_front = k < c->size / 2 || (!k && c->begin);

	if (k < c->size && c->at[c->begin + k] == i)
		return true;
	if ((is_front ? !c->begin : c->begin + c->size == c->capacity) &&
	    !chain_grow(c, is_front))
		return false;
	at = c->at + c->begin;
	if (is_front) {
		memmove(at - 1, at, k * sizeof(*at));
		c->begin--;
		k--;
	} else {
		memmove(at + k + 1, at + k, (c->size - k) * sizeof(*at));
	}
	at[(int32_t)k] = i;
	c->size++;
	return true;
}
