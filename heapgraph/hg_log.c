// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_int.h"

#include <assert.h>
#include <string.h>

#define OP_BYTES_MAX 64 // lengths, six fields and what is written behind: at most 51
#define SEGMENT_BYTES_FIRST 2048

/* ---- bytes ---------------------------------------------------------------------- */

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = v | 0x80;
	*p++ = v;
	return p;
}

static uint64_t get_varint(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (; **p & 0x80; shift += 7)
		v |= (uint64_t)(*(*p)++ & 0x7f) << shift;
	return v | (uint64_t) * (*p)++ << shift;
}

static uint32_t zigzag(uint32_t delta)
{
	return delta << 1 ^ (uint32_t)((int32_t)delta >> 31);
}

static uint32_t unzigzag(uint32_t z)
{
	return z >> 1 ^ -(z & 1);
}

// Bytes up to the highest that is not zero.
static unsigned bytes_of(uint64_t v)
{
	return v ? (71 - __builtin_clzll(v)) / 8 : 0;
}

// The length of n bytes in a few bits: the most that they can say is 8 of them, or 4.
static unsigned length_code(unsigned n, unsigned most)
{
	return n < most ? n : most;
}

static unsigned code_length(unsigned code, unsigned most)
{
	return code + (code == most);
}

static uint8_t *put_bytes(uint8_t *p, uint64_t v, unsigned n)
{
	memcpy(p, &v, 8); // the room behind is ours (OP_BYTES_MAX)
	return p + n;
}

static uint64_t get_bytes(const uint8_t **p, unsigned n)
{
	static const uint64_t masks[] = {
		0,	     0xff,	  0xffff,     0xffffff, 0xffffffff,
		~0ull >> 24, ~0ull >> 16, ~0ull >> 8, ~0ull,
	};
	uint64_t v;

	memcpy(&v, *p, 8); // what is behind may be read (HG_PACK_SLACK)
	*p += n;
	return v & masks[n];
}

/* ---- appending -------------------------------------------------------------------- */

static void aside_destroy(struct hg_aside *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	hg_unpacker_deinit(&a->unpacker);
	free(a);
}

void hg_log_deinit(struct hg_log *l)
{
	for (size_t i = 0; i < l->segments.size; i++)
		free(l->segments.data[i].bytes);
	free(l->open);
	vec_deinit(&l->blocks);
	vec_deinit(&l->segments);
	vec_deinit(&l->rips);
	map_deinit(&l->rip_index);
	hg_packer_deinit(&l->packer);
	free(l->at_hand);
	aside_destroy(l->aside);
}

void hg_log_trim(struct hg_log *l)
{
	uint32_t room = l->n_open + HG_PACK_SLACK;
	uint8_t *exact = l->n_open && room < l->room ? realloc(l->open, room) : NULL;

	if (exact) {
		l->open = exact;
		l->room = room;
	}
	hg_packer_deinit(&l->packer);
	free(l->at_hand);
	l->at_hand = NULL;
	if (l->aside)
		l->aside->unpacker.which = NULL; // segments move
	vec_trim(&l->blocks);
	vec_trim(&l->segments);
	vec_trim(&l->rips);
}

static int aside_create(struct hg_aside **ret)
{
	struct hg_aside *a = calloc(1, sizeof(*a));

	if (!a || pthread_mutex_init(&a->lock, NULL)) {
		free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

// Pack segment number i, which is as it was.
static int log_pack(struct hg_log *l, size_t i)
{
	struct hg_packed *s = &l->segments.data[i], packed;

	if (hg_pack(&l->packer, s->bytes, s->n_raw, &packed))
		return -1;
	l->n_bytes -= s->n_bytes - packed.n_bytes;
	free(s->bytes);
	*s = packed;
	return 0;
}

// From now on segments are packed.
static int log_pack_all(struct hg_log *l)
{
	if (aside_create(&l->aside))
		return -1;
	for (size_t i = 0; i < l->segments.size; i++)
		if (log_pack(l, i))
			return -1;
	return 0;
}

static int log_close_segment(struct hg_log *l)
{
	struct hg_packed *s;
	int r;

	if (!l->aside && l->segments.size == HG_SEGMENTS_RAW && log_pack_all(l))
		return -1;
	if (l->n_open > l->raw_max)
		l->raw_max = l->n_open;
	// Segments may move, and the unpacker knows them by where they are: it forgets here.
	if (vec_reserve(&l->segments, l->segments.size + 1) ||
	    (l->aside && hg_unpacker_reserve(&l->aside->unpacker, l->raw_max)))
		return -1;
	s = &l->segments.data[l->segments.size];
	r = l->aside ? hg_pack(&l->packer, l->open, l->n_open, s) :
		       hg_pack_not(l->open, l->n_open, s);
	if (r)
		return -1;
	l->segments.size++;
	l->n_bytes += s->n_bytes;
	l->n_open = l->n_open_blocks = 0;
	return 0;
}

static int log_new_block(struct hg_log *l)
{
	struct hg_block *b;

	if ((l->n_open_blocks == HG_SEGMENT_BLOCKS || l->n_open >= HG_SEGMENT_BYTES) &&
	    log_close_segment(l))
		return -1;
	b = vec_push(&l->blocks);
	if (!b)
		return -1;
	b->segment = l->segments.size;
	b->at = l->n_open;
	b->prev_time = l->last_time;
	b->prev_node = l->last_node;
	l->n_open_blocks++;
	return 0;
}

// Room for one operation (without a patch) in the open segment.
static int log_make_room(struct hg_log *l)
{
	uint64_t want = l->room ? l->room : SEGMENT_BYTES_FIRST;
	uint8_t *p;

	if (l->n_open + OP_BYTES_MAX <= l->room)
		return 0;
	while (want < (uint64_t)l->n_open + OP_BYTES_MAX)
		want *= 2;
	if (want > UINT32_MAX)
		return -1;
	p = realloc(l->open, want);
	if (!p)
		return -1;
	l->open = p;
	l->room = want;
	return 0;
}

// Begin an operation: its tag, time and node; the lengths of what else there is are the caller's,
// n_lengths bytes of them. Returns where to go on, NULL without memory.
static inline uint8_t *log_begin(struct hg_log *l, uint8_t tag, uint16_t lengths,
				 unsigned n_lengths, uint64_t time, uint32_t node)
{
	uint32_t delta = zigzag(node - l->last_node);
	unsigned n_delta = bytes_of(delta), n_time;
	uint64_t after;
	uint8_t *p;

	assert(time >= l->last_time || !l->n_ops);
	if (l->n_ops % HG_BLOCK_OPS == 0 && log_new_block(l))
		return NULL;
	if (l->n_open + OP_BYTES_MAX > l->room && log_make_room(l))
		return NULL;
	after = time - l->last_time;
	n_time = length_code(bytes_of(after), 7);
	lengths |= n_time;
	p = l->open + l->n_open;
	*p++ = tag | n_delta << 5;
	memcpy(p, &lengths, 2);
	p = put_bytes(p + n_lengths, after, code_length(n_time, 7));
	p = put_bytes(p, delta, n_delta);
	l->blocks.data[l->blocks.size - 1].node_filter |= 1ull << node % 64;
	l->last_time = time;
	l->last_node = node;
	l->n_ops++;
	return p;
}

static void log_end(struct hg_log *l, const uint8_t *p)
{
	l->n_open = p - l->open;
}

static int log_rip_add(struct hg_log *l, uint64_t rip, uint64_t *ret)
{
	uint64_t *known = map_get(&l->rip_index, rip);

	if (known) {
		*ret = *known;
		return 0;
	}
	if (vec_add(&l->rips, rip))
		return -1;
	*ret = l->rips.size - 1;
	return map_put(&l->rip_index, rip, *ret);
}

static int log_rip(struct hg_log *l, uint64_t rip, uint64_t *ret)
{
	struct hg_known_rip *k;

	if (!l->at_hand)
		l->at_hand = calloc(HG_RIPS_AT_HAND, sizeof(*l->at_hand));
	if (!l->at_hand) // without memory for it, it is slower, that is all
		return log_rip_add(l, rip, ret);
	k = &l->at_hand[(rip ^ rip >> 9) % HG_RIPS_AT_HAND];
	if (k->rip != rip || !k->number) {
		if (log_rip_add(l, rip, ret))
			return -1;
		*k = (struct hg_known_rip){ rip, *ret + 1 };
	}
	*ret = k->number - 1;
	return 0;
}

int hg_log_store(struct hg_log *l, const struct hg_op *op, uint64_t node_start)
{
	unsigned before = bytes_of(op->before), after = bytes_of(op->after);
	uint64_t at = op->addr - node_start, rip;
	unsigned n_at = length_code(bytes_of(at), 7), n_rip;
	uint8_t *p;

	assert(op->size >= 1 && op->size <= 8);
	if (log_rip(l, op->rip, &rip))
		return -1;
	n_rip = length_code(bytes_of(rip), 3);
	p = log_begin(l, HG_OP_STORE | (op->size - 1) << 2,
		      n_rip << 3 | n_at << 5 | before << 8 | after << 12, 2, op->time,
		      op->node.v);
	if (!p)
		return -1;
	p = put_bytes(p, rip, code_length(n_rip, 3));
	p = put_bytes(p, at, code_length(n_at, 7));
	p = put_bytes(p, op->before, before);
	p = put_bytes(p, op->after, after);
	log_end(l, p);
	return 0;
}

int hg_log_free(struct hg_log *l, uint64_t time, uint32_t node)
{
	uint8_t *p = log_begin(l, HG_OP_FREE, 0, 1, time, node);

	if (!p)
		return -1;
	log_end(l, p);
	return 0;
}

int hg_log_alloc(struct hg_log *l, uint64_t time, uint32_t node, uint64_t n_words)
{
	uint8_t *p = log_begin(l, HG_OP_ALLOC, 0, 1, time, node);

	if (!p)
		return -1;
	log_end(l, put_varint(p, n_words));
	return 0;
}

int hg_log_patch(struct hg_log *l, uint64_t skipped, uint64_t bits)
{
	unsigned n = bytes_of(bits);
	uint8_t *p;

	if (log_make_room(l))
		return -1;
	p = l->open + l->n_open;
	p = put_varint(p, skipped);
	*p++ = n;
	log_end(l, put_bytes(p, bits, n));
	return 0;
}

/* ---- decoding --------------------------------------------------------------------- */

static const uint8_t *skip_patch(const uint8_t *p)
{
	for (uint64_t n = get_varint(&p); n; n--) {
		get_varint(&p);
		p += *p + 1;
	}
	return p;
}

static const uint8_t *decode_store(const struct hg_graph *g, const uint8_t *p,
				   uint8_t lengths, uint8_t values, struct hg_op *op)
{
	op->rip = g->log.rips.data[get_bytes(&p, code_length(lengths >> 3 & 3, 3))];
	op->addr = g->nodes.data[op->node.v - 1].start +
		   get_bytes(&p, code_length(lengths >> 5, 7));
	op->before = get_bytes(&p, values & 15);
	op->after = get_bytes(&p, values >> 4);
	return p;
}

static const uint8_t *block_bytes(const struct hg_log *l, const struct hg_block *b,
				  struct hg_unpacker *u)
{
	if (b->segment == l->segments.size)
		return l->open + b->at;
	return hg_unpack(u, &l->segments.data[b->segment]) + b->at;
}

uint32_t hg_log_decode(const struct hg_graph *g, uint64_t block, struct hg_unpacker *u,
		       struct hg_decoded *ret)
{
	const struct hg_block *b = &g->log.blocks.data[block];
	uint64_t left = g->log.n_ops - block * HG_BLOCK_OPS;
	uint32_t n = left < HG_BLOCK_OPS ? left : HG_BLOCK_OPS;
	uint64_t time = b->prev_time;
	uint32_t node = b->prev_node;
	const uint8_t *p = block_bytes(&g->log, b, u);

	for (uint32_t i = 0; i < n; i++) {
		struct hg_op *op = &ret[i].op;
		uint8_t tag = *p++, lengths = *p++, values = 0;

		*op = (struct hg_op){ .kind = tag & 3 };
		if (op->kind == HG_OP_STORE)
			values = *p++;
		op->time = time += get_bytes(&p, code_length(lengths & 7, 7));
		op->node.v = node += unzigzag(get_bytes(&p, tag >> 5));
		ret[i].patch = NULL;
		if (op->kind == HG_OP_STORE) {
			op->size = (tag >> 2 & 7) + 1;
			p = decode_store(g, p, lengths, values, op);
			continue;
		}
		op->addr = g->nodes.data[node - 1].start;
		op->rip = op->kind == HG_OP_ALLOC ? g->nodes.data[node - 1].alloc_rip :
						    g->nodes.data[node - 1].free_rip;
		if (op->kind == HG_OP_ALLOC) {
			ret[i].patch = p;
			p = skip_patch(p);
		}
	}
	return n;
}

uint32_t hg_log_decode_aside(const struct hg_graph *g, uint64_t block,
			     struct hg_decoded *ret)
{
	struct hg_aside *a = g->log.aside;
	uint32_t n;

	if (!a) // nothing is packed
		return hg_log_decode(g, block, NULL, ret);
	pthread_mutex_lock(&a->lock);
	n = hg_log_decode(g, block, &a->unpacker, ret);
	pthread_mutex_unlock(&a->lock);
	for (uint32_t i = 0; i < n; i++)
		ret[i].patch = NULL;
	return n;
}

int hg_log_unpacker(const struct hg_log *l, struct hg_unpacker *ret)
{
	return l->aside ? hg_unpacker_reserve(ret, l->raw_max) : 0;
}

uint64_t hg_log_bytes(const struct hg_log *l)
{
	return l->n_bytes + l->room + l->blocks.capacity * sizeof(struct hg_block) +
	       l->segments.capacity * sizeof(struct hg_packed) +
	       l->rips.capacity * sizeof(uint64_t) +
	       l->rip_index.capacity * sizeof(struct map_slot) +
	       (l->aside ? sizeof(*l->aside) + hg_unpacker_bytes(&l->aside->unpacker) :
			   0);
}

void hg_log_apply_patch(const uint8_t *p, uint64_t start, uint64_t size,
			const struct map *slots, uint8_t *const *pages)
{
	uint64_t at = 0;

	for (uint64_t n = get_varint(&p); n; n--, at += 8) {
		uint64_t bits, old = 0, room;
		unsigned bytes;

		at += get_varint(&p) * 8;
		bytes = *p++;
		bits = get_bytes(&p, bytes);
		room = size - at < 8 ? size - at : 8;
		hg_image_read(slots, pages, start + at, &old, room);
		old ^= bits;
		hg_image_write(slots, pages, start + at, &old, room);
	}
}
