// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "capture"
#include "capture/cap_mask.h"

#include <errno.h>
#include <string.h>

#include "capture/capture.h"

#define WORD 4	      ///< bytes of a window that is looked up
#define BUCKETS 4096u ///< of words, by hash
#define CHUNK (1u << 20)
/** Of a value that repeats itself so many places of one word are kept: the first is found at
 * the first aligned word of a copy, which is one of WORD. */
#define SAME_MAX WORD

struct value {
	uint8_t *bytes; ///< size, and a NUL
	size_t size;
};

/** A word of a value. */
struct place {
	uint32_t word;
	uint32_t value;	 ///< index
	uint32_t offset; ///< in it
	uint32_t next;	 ///< in the bucket: index + 1
};

struct cap_mask {
	VEC(struct value) values;
	VEC(struct place) places;
	uint32_t buckets[BUCKETS]; ///< index + 1 of the last place with this hash
	size_t longest;		   ///< bytes of the longest value
	bool has_begun, is_shared, is_late;
};

struct cap_mask *cap_mask_create(void)
{
	return calloc(1, sizeof(struct cap_mask));
}

void cap_mask_destroy(struct cap_mask *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->values.size; i++) {
		explicit_bzero(m->values.data[i].bytes, m->values.data[i].size);
		free(m->values.data[i].bytes);
	}
	vec_deinit(&m->values);
	vec_deinit(&m->places);
	free(m);
}

void cap_mask_begin(struct cap_mask *m)
{
	if (m)
		m->has_begun = true;
}

void cap_mask_restart(struct cap_mask *m)
{
	if (m && !m->is_shared)
		m->has_begun = false;
}

void cap_mask_share(struct cap_mask *m)
{
	if (m)
		m->is_shared = true;
}

bool cap_mask_is_late(const struct cap_mask *m)
{
	return m && m->is_late;
}

bool cap_mask_is_on(const struct cap_mask *m)
{
	return m && m->values.size;
}

static uint32_t hash(uint32_t word)
{
	return (word * 0x9e3779b1u) >> 20;
}
_Static_assert(BUCKETS == 1u << (32 - 20), "a bucket for each hash");

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, WORD);
	return word;
}

static struct err *add_place(struct cap_mask *m, uint32_t word, uint32_t value,
			     uint32_t offset)
{
	uint32_t *bucket = &m->buckets[hash(word)];
	struct place *p;
	int n_same = 0;

	for (uint32_t i = *bucket; i; i = m->places.data[i - 1].next) {
		p = &m->places.data[i - 1];
		n_same += p->word == word && p->value == value;
	}
	if (n_same >= SAME_MAX)
		return NULL;
	p = vec_push(&m->places);
	if (!p)
		return &err_nomem;
	*p = (struct place){ word, value, offset, *bucket };
	*bucket = m->places.size;
	return NULL;
}

struct err *cap_mask_add(struct cap_mask *m, const char *value)
{
	struct value *v;
	struct err *err = NULL;

	for (size_t i = 0; i < m->values.size; i++)
		if (!strcmp((char *)m->values.data[i].bytes, value))
			return NULL;
	v = vec_push(&m->values);
	if (!v)
		return &err_nomem;
	*v = (struct value){ (uint8_t *)strdup(value), strlen(value) };
	if (!v->bytes) {
		m->values.size--;
		return &err_nomem;
	}
	m->is_late |= m->has_begun;
	if (v->size > m->longest)
		m->longest = v->size;
	for (size_t i = 0; !err && i + WORD <= v->size; i++)
		err = add_place(m, word_at(v->bytes + i), m->values.size - 1, i);
	return err;
}

struct stretch {
	size_t start, end; ///< in the data
};

/** How much of the value is around @p at, where its word @p p is. */
static struct stretch extend(const struct value *v, const struct place *p,
			     const uint8_t *data, size_t size, size_t at)
{
	struct stretch s = { at, at + WORD };
	size_t left = p->offset, right = p->offset + WORD;

	while (s.start && left && data[s.start - 1] == v->bytes[left - 1])
		s.start--, left--;
	while (s.end < size && right < v->size && data[s.end] == v->bytes[right])
		s.end++, right++;
	return s;
}

/** @return bytes: a piece of @p v so long is masked. */
static size_t least_piece(const struct value *v, bool takes_whole)
{
	return takes_whole || v->size < CAP_MASK_PIECE ? v->size : CAP_MASK_PIECE;
}

/** The longest stretch around @p at that is a value's and long enough; else it is empty. */
static struct stretch find(const struct cap_mask *m, const uint8_t *data, size_t size,
			   size_t at, bool takes_whole)
{
	uint32_t word = word_at(data + at);
	struct stretch best = {};

	for (uint32_t i = m->buckets[hash(word)]; i; i = m->places.data[i - 1].next) {
		const struct place *p = &m->places.data[i - 1];
		const struct value *v = &m->values.data[p->value];
		struct stretch s;

		if (p->word != word)
			continue;
		s = extend(v, p, data, size, at);
		if (s.end - s.start >= least_piece(v, takes_whole) &&
		    s.end - s.start > best.end - best.start)
			best = s;
	}
	return best;
}

/** @p goes_on: what reaches the end is left, more of it may follow. */
static size_t mask(const struct cap_mask *m, uint8_t *data, size_t size, bool goes_on,
		   bool takes_whole)
{
	size_t n = 0;

	for (size_t at = 0; at + WORD <= size; at += WORD) {
		struct stretch s;

		if (!m->buckets[hash(word_at(data + at))])
			continue;
		s = find(m, data, size, at, takes_whole);
		if (s.end == s.start || (goes_on && s.end == size))
			continue;
		memset(data + s.start, CAP_MASK_BYTE, s.end - s.start);
		n++;
	}
	return n;
}

size_t cap_mask_bytes(const struct cap_mask *m, void *data, size_t size)
{
	return cap_mask_is_on(m) ? mask(m, data, size, false, false) : 0;
}

/** So much of a value at the end of data is masked: of one in two parts, one at least. */
static size_t least_part(const struct value *v)
{
	return v->size < CAP_MASK_PIECE ? (v->size + 1) / 2 : CAP_MASK_PIECE / 2;
}

/** The longest piece below CAP_MASK_PIECE that ends @p v and begins the data, or begins it
 * and ends them. @return its bytes */
static size_t find_part(const struct value *v, const uint8_t *data, size_t size,
			bool at_end)
{
	size_t n = v->size - 1 < CAP_MASK_PIECE ? v->size - 1 : CAP_MASK_PIECE - 1;

	for (n = n < size ? n : size; n >= least_part(v); n--)
		if (at_end ? !memcmp(data + size - n, v->bytes, n) :
			     !memcmp(data, v->bytes + v->size - n, n))
			return n;
	return 0;
}

size_t cap_mask_data(const struct cap_mask *m, void *data, size_t size)
{
	size_t n = cap_mask_bytes(m, data, size);

	for (size_t i = 0; m && size && i < m->values.size; i++)
		for (int at_end = 0; at_end < 2; at_end++) {
			size_t part = find_part(&m->values.data[i], data, size, at_end);

			memset((uint8_t *)data + (at_end ? size - part : 0),
			       CAP_MASK_BYTE, part);
			n += part > 0;
		}
	return n;
}

void cap_mask_words(const struct cap_mask *m, uint64_t *words, size_t n)
{
	for (size_t i = 0; cap_mask_is_on(m) && i < n; i++) {
		// Most words are numbers and addresses.
		if (!(words[i] >> 48))
			continue;
		for (size_t k = 0; k < m->values.size; k++) {
			const struct value *v = &m->values.data[k];

			if (memmem(v->bytes, v->size + 1, &words[i], 8)) {
				memset(&words[i], CAP_MASK_BYTE, words[i] >> 56 ? 8 : 7);
				break;
			}
		}
	}
}

uint8_t *cap_mask_stream_room(struct cap_mask_stream *s, size_t size)
{
	uint8_t *data = realloc(s->data, s->size + size);

	if (!data)
		return NULL;
	s->data = data;
	return data + s->size;
}

size_t cap_mask_stream_do(struct cap_mask_stream *s, bool is_last)
{
	size_t keeps = is_last || !cap_mask_is_on(s->mask) ? 0 : s->mask->longest;

	if (cap_mask_is_on(s->mask))
		s->n_masked += mask(s->mask, s->data, s->size, !is_last, s->takes_whole);
	return s->size > keeps ? s->size - keeps : 0;
}

void cap_mask_stream_drop(struct cap_mask_stream *s, size_t size)
{
	memmove(s->data, s->data + size, s->size - size);
	s->size -= size;
}

void cap_mask_stream_deinit(struct cap_mask_stream *s)
{
	free(take_ptr(&s->data));
}

static struct err *look_through(const struct cap_mask *m, int fd, bool writes,
				uint64_t *n)
{
	_cleanup_(cap_mask_stream_deinit) struct cap_mask_stream s = {
		.mask = m, .takes_whole = !writes
	};
	off_t at = 0;

	for (ssize_t got = 1; got > 0;) {
		uint8_t *room = cap_mask_stream_room(&s, CHUNK);
		size_t done;

		if (!room)
			return &err_nomem;
		got = pread(fd, room, CHUNK, at + s.size);
		if (got < 0)
			return err_errno("cannot read");
		s.size += got;
		*n = s.n_masked;
		done = cap_mask_stream_do(&s, !got);
		if (writes && s.n_masked != *n && pwrite(fd, s.data, s.size, at) < 0)
			return err_errno("cannot write");
		cap_mask_stream_drop(&s, done);
		at += done;
	}
	*n = s.n_masked;
	return NULL;
}

struct err *cap_mask_file(const struct cap_mask *m, int fd, uint64_t *n)
{
	return look_through(m, fd, true, n);
}

struct err *cap_mask_count(const struct cap_mask *m, int fd, uint64_t *n)
{
	return look_through(m, fd, false, n);
}
