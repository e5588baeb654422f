// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_derive_int.h"

#include "decode/x86/zydis.h"

void hg_derive_init(struct hg_derive *d, const struct hg_graph *g)
{
	*d = (struct hg_derive){ .graph = g, .heap_start = UINT64_MAX };
	hg_derive_thread(d, 0);
}

void hg_derive_init_plain(struct hg_derive *d, hg_derive_pointer_fn pointer, void *ctx)
{
	*d = (struct hg_derive){ .pointer = pointer, .pointer_ctx = ctx };
	hg_derive_thread(d, 0);
}

void hg_derive_deinit(struct hg_derive *d)
{
	vec_deinit(&d->steps);
	vec_deinit(&d->threads);
	map_deinit(&d->roots);
	map_deinit(&d->known);
	map_deinit(&d->measured);
	hg_image_deinit(&d->memory);
}

size_t hg_derive_thread(struct hg_derive *d, uint32_t tid)
{
	if (!d->regs || d->regs->tid != tid)
		d->regs = vec_find(&d->threads, t, t->tid == tid);
	if (!d->regs && (d->regs = vec_push(&d->threads)))
		d->regs->tid = tid;
	d->is_out_of_memory |= !d->regs;
	return d->regs ? d->regs - d->threads.data : 0;
}

/* ---- derivations ------------------------------------------------------------------------ */

static uint32_t add_step(struct hg_derive *d, struct hg_derivation step)
{
	struct hg_derivation *slot = vec_push(&d->steps);

	if (slot)
		*slot = step;
	d->is_out_of_memory |= !slot;
	return slot ? d->steps.size : 0;
}

uint32_t hg_derive_root(struct hg_derive *d, struct hg_node_id id)
{
	const uint64_t *known = map_get(&d->roots, id.v);
	const struct hg_node *n;
	uint32_t root;

	if (known)
		return *known;
	n = hg_graph_node(d->graph, id);
	root = add_step(d, (struct hg_derivation){
				   .node = id,
				   .start = n->start,
				   .size = n->size,
				   .time = n->born,
				   .rip = n->alloc_rip,
				   .shape = hg_derive_key(n->alloc_rip, n->size) });
	if (root && map_put(&d->roots, id.v, root))
		d->is_out_of_memory = true;
	return root;
}

static bool is_rough(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_AND ||
	       insn->mnemonic == ZYDIS_MNEMONIC_OR ||
	       insn->mnemonic == ZYDIS_MNEMONIC_SUB;
}

/* From now on the derivation that @p rip makes of number @p from is number @p child. */
static void set_child(struct hg_derive *d, uint32_t from, uint64_t rip, uint32_t child)
{
	d->steps.data[from - 1].child = child;
	if (child && map_put(&d->known, hg_derive_key(rip, from), child))
		d->is_out_of_memory = true;
}

/* The derivation that @p rip made of number @p from; 0: there is none. */
static uint32_t child_of(struct hg_derive *d, uint32_t from, uint64_t rip)
{
	uint32_t child = hg_derive_get(d, from)->child;
	const uint64_t *known;

	if (!child || hg_derive_get(d, child)->rip == rip)
		return child;
	known = map_get(&d->known, hg_derive_key(rip, from));
	if (known)
		d->steps.data[from - 1].child = *known;
	return known ? *known : 0;
}

// So many steps make no pointer but in a loop.
#define LOOP_STEPS 64

/* Derivation @p next is about to be made. If it is far down a loop of several steps, a pointer that goes
 * on through a text, it is as that which an earlier round made. @return it; 0: there is none. */
static uint32_t earlier_round(const struct hg_derive *d, const struct hg_derivation *next)
{
	uint32_t number = next->parent, n = 0, ret = 0;

	for (; number && n < LOOP_STEPS; n++) {
		const struct hg_derivation *s = hg_derive_get(d, number);

		if (!ret && s->rip == next->rip && s->is_rough == next->is_rough &&
		    s->is_indexed == next->is_indexed && s->is_far == next->is_far &&
		    s->parent)
			ret = number;
		number = s->parent;
	}
	return n == LOOP_STEPS ? ret : 0;
}

/* Arithmetic at @p rip on a pointer of derivation @p from had result @p value. */
static uint32_t derive(struct hg_derive *d, uint32_t from, uint64_t value,
		       const struct dec_step *s)
{
	const struct hg_derivation *parent;
	struct hg_derivation next;
	uint64_t rip = s->insn->rip;
	int64_t offset;
	bool is_indexed;
	uint32_t number;

	if (d->pointer)
		return from;
	parent = hg_derive_get(d, from);
	offset = value - parent->start;
	// A distance from what is gone leads to whatever has the memory now.
	if ((parent->is_far || llabs(offset) > HG_DERIVE_REACH) &&
	    !hg_graph_lives(d->graph, parent->node))
		return 0;
	number = parent->rip == rip ? from : // once more around
				      child_of(d, from, rip);
	if (number) {
		hg_derive_again(d, number, offset);
		return number;
	}
	is_indexed = __builtin_popcount(s->insn->gpr_read) > 1;
	next = (struct hg_derivation){
		.parent = from,
		.node = parent->node,
		.start = parent->start,
		.size = parent->size,
		.shape = hg_derive_key(parent->shape,
				       hg_derive_key(rip,
						     2 * (uint64_t)offset + is_indexed)),
		.is_rough = parent->is_rough || is_rough(s->insn),
		.is_indexed = is_indexed,
		.is_far = llabs(offset) > HG_DERIVE_REACH,
		.is_whole = parent->is_whole,
		.time = s->position,
		.rip = rip,
		.offset = offset
	};
	number = earlier_round(d, &next);
	if (number)
		hg_derive_again(d, number, offset);
	else
		number = add_step(d, next);
	set_child(d, from, rip, number);
	return number;
}

/* ---- memory ------------------------------------------------------------------------------ */

// The page of words that holds what is kept for addr; NULL: nothing is.
static uint8_t *memory_page(struct hg_derive *d, uint64_t addr)
{
	uint64_t number = addr / HG_PAGE_BYTES;
	struct hg_derive_page *at_hand = &d->at_hand[number % HG_DERIVE_PAGES];

	if (at_hand->number != number || !number) {
		at_hand->number = number;
		at_hand->bytes =
			hg_image_page(&d->memory.slots, d->memory.pages.data, number);
	}
	return at_hand->bytes;
}

// What is kept for the aligned word at addr; 0: nothing.
static uint64_t memory_get(struct hg_derive *d, uint64_t addr)
{
	const uint8_t *page = memory_page(d, addr);
	uint64_t word = 0;

	if (page)
		memcpy(&word, page + addr % HG_PAGE_BYTES, 8);
	return word;
}

static void memory_put(struct hg_derive *d, uint64_t addr, uint64_t word)
{
	uint8_t *page = memory_page(d, addr);

	if (!page) {
		page = hg_image_add(&d->memory, addr / HG_PAGE_BYTES);
		d->at_hand[addr / HG_PAGE_BYTES % HG_DERIVE_PAGES].bytes = page;
	}
	if (page)
		memcpy(page + addr % HG_PAGE_BYTES, &word, 8);
	else
		d->is_out_of_memory = true;
}

void hg_derive_remember(struct hg_derive *d, uint64_t addr, uint64_t value, uint32_t from)
{
	if (addr % 8 || (!from && !memory_get(d, addr)))
		return;
	hg_derive_set_word(d, addr, value, from);
}

void hg_derive_set_word(struct hg_derive *d, uint64_t addr, uint64_t value,
			uint32_t number)
{
	if (addr % 8 == 0)
		memory_put(d, addr,
			   number ? (uint64_t)number << 32 | (uint32_t)value : 0);
}

/* The registers become @p now: pointers are those that are the same. */
static void change_regs(struct hg_derived_regs *regs, const uint64_t now[DEC_GPRS])
{
	for (int r = 0; r < DEC_GPRS; r++) {
		if (regs->value[r] != now[r])
			hg_derived_set(regs, r, 0);
		regs->value[r] = now[r];
	}
}

void hg_derived_interrupt(struct hg_derived_regs *regs, struct hg_derived_regs *was,
			  const uint64_t before[DEC_GPRS], const uint64_t now[DEC_GPRS])
{
	memcpy(regs->value, before, sizeof(regs->value));
	*was = *regs;
	change_regs(regs, now);
	regs->vec_live = 0;
}

void hg_derived_resume(struct hg_derived_regs *regs, const struct hg_derived_regs *was,
		       const uint64_t now[DEC_GPRS])
{
	memcpy(regs->value, was->value, sizeof(regs->value));
	memcpy(regs->gpr, was->gpr, sizeof(regs->gpr));
	memcpy(regs->vec, was->vec, sizeof(regs->vec));
	regs->live = was->live;
	regs->vec_live = was->vec_live;
	change_regs(regs, now);
}

/* Does @p r begin where register value @p at leads, or is that in it? A string instruction may go down. */
static int meets(const struct dec_ref *r, uint64_t at)
{
	return at == r->addr ? 2 : at - r->addr < r->size;
}

const struct dec_mem *hg_derive_operand(const struct dec_insn *insn,
					const struct dec_ref *r, const uint64_t *value)
{
	const struct dec_mem *found = NULL;

	for (int i = 0; i < insn->n_mem; i++) {
		const struct dec_mem *m = &insn->mem[i];

		if (m->base >= DEC_GPRS || !(r->is_def ? m->is_write : m->is_read))
			continue;
		// cmps reads at two registers.
		if (!found || meets(r, value[m->base]) > meets(r, value[found->base]))
			found = m;
	}
	return found;
}

uint32_t hg_derive_word(struct hg_derive *d, uint64_t addr, uint64_t value)
{
	uint64_t word = addr % 8 ? 0 : memory_get(d, addr);

	return (uint32_t)word == (uint32_t)value ? word >> 32 : 0;
}

/* Where do nodes lie by now? */
static void look_at_nodes(struct hg_derive *d)
{
	while (d->n_nodes < hg_graph_nodes(d->graph)) {
		const struct hg_node *n = &d->graph->nodes.data[d->n_nodes++];

		if (n->start < d->heap_start)
			d->heap_start = n->start;
		if (n->start + n->size > d->heap_end)
			d->heap_end = n->start + n->size;
	}
}

uint32_t hg_derive_recall(struct hg_derive *d, uint64_t addr, uint64_t value)
{
	uint32_t number = hg_derive_word(d, addr, value);
	struct hg_node_id id;

	if (number)
		return number;
	if (d->pointer)
		return d->pointer(d->pointer_ctx, value);
	// Written where we did not see it (by the kernel, in parts): observation 2 says
	// that pointers point to the head of a node.
	if (d->n_nodes != hg_graph_nodes(d->graph))
		look_at_nodes(d);
	if (value < d->heap_start || value >= d->heap_end)
		return 0;
	id = hg_graph_covers(d->graph, value);
	return id.v && hg_graph_node(d->graph, id)->start == value ?
		       hg_derive_root(d, id) :
		       0;
}

/* ---- uses -------------------------------------------------------------------------------- */

static void add_use(struct hg_derive *d, struct hg_sources *so,
		    const struct dec_insn *insn, const struct dec_ref *r)
{
	if (r->is_mem) {
		for (uint32_t i = 0; i + 8 <= r->size && r->has_value && i < 64; i += 8)
			hg_source_add(so, hg_word_at(r->value + i),
				      hg_derive_recall(d, r->addr + i,
						       hg_word_at(r->value + i)),
				      false);
	} else if (r->reg < DEC_GPRS) {
		if (r->has_value)
			d->regs->value[r->reg] = hg_word_at(r->value);
		if (d->regs->gpr[r->reg])
			hg_source_add(so, d->regs->value[r->reg], d->regs->gpr[r->reg],
				      dec_insn_is_only_address(insn, r->reg));
	} else if (r->reg < DEC_REG_K && r->has_value &&
		   d->regs->vec_live >> (r->reg - DEC_REG_VEC) & 1) {
		for (uint32_t k = 0; k < 8 && 8 * k + 8 <= r->size; k++)
			hg_source_add(so, hg_word_at(r->value + 8 * k),
				      d->regs->vec[r->reg - DEC_REG_VEC][k], false);
	}
}

/* ---- definitions ------------------------------------------------------------------------- */

/* How far is @p value from the node of derivation @p from? */
static uint64_t way_to_node(const struct hg_derive *d, uint32_t from, uint64_t value)
{
	const struct hg_derivation *n = hg_derive_get(d, from);

	if (value < n->start)
		return n->start - value;
	return value > n->start + n->size ? value - n->start - n->size : 0;
}

/* Of several pointers the result belongs to that whose node it is nearest to, or which is itself
 * the nearest: the others were indices. So a pointer and the distance from its node to another
 * make a pointer to the other. The sum of two that are no distances belongs to neither: with less of the one,
 * which is no pointer any more, it will be the other. */
static uint32_t nearest(const struct hg_derive *d, const struct hg_sources *so,
			uint64_t value, uint64_t *source)
{
	uint64_t least = UINT64_MAX, least_way = UINT64_MAX;
	uint32_t from = 0, n_near = 0;

	*source = 0;
	for (int i = 0; i < so->n; i++) {
		uint64_t distance = llabs((int64_t)(value - so->at[i].value)), way = 0;

		if (so->at[i].is_address)
			continue;
		if (d->graph && so->n > 1) {
			way = way_to_node(d, so->at[i].from, value);
			n_near += !hg_derive_get(d, so->at[i].from)->is_far;
		}
		if (way > least_way || (way == least_way && distance >= least))
			continue;
		least = distance;
		least_way = way;
		from = so->at[i].from;
		*source = so->at[i].value;
	}
	return n_near > 1 && least_way > HG_DERIVE_REACH ? 0 : from;
}

static uint64_t measured_key(uint32_t number, struct hg_node_id node)
{
	return (uint64_t)number << 32 | node.v;
}

bool hg_derive_is_measured(const struct hg_derive *d, uint32_t number,
			   struct hg_node_id node)
{
	while (d->measured.size && number) {
		if (map_get(&d->measured, measured_key(number, node)))
			return true;
		number = hg_derive_get(d, number)->parent;
	}
	return false;
}

static uint32_t node_of(const struct hg_derive *d, uint32_t from)
{
	return d->pointer ? from : hg_derive_get(d, from)->node.v;
}

/* The distance was asked for between @p alive, to a node that lives, and @p gone, whose node does not,
 * but which has address @p value: is that in the node that lives? Then so is what is reached
 * from there. */
static void measure(struct hg_derive *d, uint32_t alive, uint32_t gone, uint64_t value)
{
	const struct hg_derivation *to = hg_derive_get(d, alive);

	if (value - to->start < to->size && hg_graph_lives(d->graph, to->node) &&
	    !hg_graph_lives(d->graph, hg_derive_get(d, gone)->node) &&
	    map_put(&d->measured, measured_key(gone, to->node), 1))
		d->is_out_of_memory = true;
}

/* A pointer less a number is a pointer; less another pointer to the same node a number;
 * less any other pointer a distance, and what it is added to becomes the first again. */
static uint32_t subtract(struct hg_derive *d, const struct dec_step *s,
			 const struct hg_sources *so, int reg, uint64_t value)
{
	uint32_t from = d->regs->gpr[reg];

	// strlen() subtracts the low halves.
	if (!from || (d->regs->value[reg] >> 32 && !dec_insn_is_wide(s->insn)))
		return 0;
	for (int i = 0; i < so->n; i++) {
		if (so->at[i].value != d->regs->value[reg] - value)
			continue;
		if (node_of(d, so->at[i].from) == node_of(d, from))
			return 0;
		if (!d->pointer) {
			measure(d, from, so->at[i].from, so->at[i].value);
			measure(d, so->at[i].from, from, d->regs->value[reg]);
		}
	}
	return derive(d, from, value, s);
}

/* @return @p from, if it is to a node that lives; else 0. */
static uint32_t living(const struct hg_derive *d, uint32_t from)
{
	return from && hg_graph_lives(d->graph, hg_derive_get(d, from)->node) ? from : 0;
}

/* What the first source with @p value is derived from. Of two pointers of one value cmov may take either: one to a node that
 * lives, if there is (without a graph nobody knows). Registers that are addresses alone are no sources. */
static uint32_t same(const struct hg_derive *d, const struct hg_sources *so,
		     uint64_t value)
{
	uint32_t from = 0;

	for (int i = 0; i < so->n; i++)
		if (so->at[i].value == value && !so->at[i].is_address &&
		    (!from ||
		     (d->graph && !living(d, from) && living(d, so->at[i].from))))
			from = so->at[i].from;
	return from;
}

static uint32_t derived_from(struct hg_derive *d, const struct dec_step *s,
			     const struct hg_sources *so, uint64_t value)
{
	uint32_t from = same(d, so, value);
	uint64_t source;

	if (from || !so->n || !dec_insn_is_arithmetic(s->insn->mnemonic))
		return from;
	from = nearest(d, so, value, &source);
	return from && !dec_insn_cuts(s->insn->mnemonic, source, value) ?
		       derive(d, from, value, s) :
		       0;
}

/* What general register @p reg, which was defined, is derived from. */
static uint32_t register_from(struct hg_derive *d, const struct dec_step *s,
			      const struct hg_sources *so, int reg, uint64_t value)
{
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_SUB)
		return subtract(d, s, so, reg, value);
	if (s->insn->is_string && (reg == CAP_RSI || reg == CAP_RDI))
		return d->regs->gpr[reg] ? derive(d, d->regs->gpr[reg], value, s) : 0;
	return derived_from(d, s, so, value);
}

/* What the word at @p addr is derived from, less something: as of registers, from what it was (structures
 * of offsets that are kept right when their base moves). */
static uint32_t word_from(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, uint64_t addr, uint64_t value)
{
	uint32_t was = s->insn->mnemonic == ZYDIS_MNEMONIC_SUB && addr % 8 == 0 ?
			       memory_get(d, addr) >> 32 :
			       0;

	return was ? derive(d, was, value, s) : derived_from(d, s, so, value);
}

void hg_derive_define_mem(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, uint64_t addr, uint32_t size,
			  const uint8_t *value)
{
	for (uint32_t i = 0; i + 8 <= size && i < 64; i += 8)
		hg_derive_remember(d, addr + i, hg_word_at(value + i),
				   word_from(d, s, so, addr + i, hg_word_at(value + i)));
}

void hg_derive_define_gpr(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, int reg, uint64_t value)
{
	if (so->n || d->regs->gpr[reg]) // of most registers nothing is derived
		hg_derived_set(d->regs, reg, register_from(d, s, so, reg, value));
	d->regs->value[reg] = value;
}

/* .. of lane @p k of vector @p v. Of a distance from a block that has moved, and of how far it moved, the first: to
 * a node that lives. Without a graph nobody knows which do. */
static uint32_t lane_from(const struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, int v, int k, uint64_t value)
{
	uint32_t from = same(d, so, value), read = s->insn->other_read;

	if (from || !d->graph || !dec_insn_is_lane_arithmetic(s->insn->mnemonic))
		return from;
	if (read >> v & 1 && d->regs->vec_live >> v & 1) // what is subtracted from
		from = living(d, d->regs->vec[v][k]);
	for (read &= d->regs->vec_live; read && !from; read &= read - 1)
		from = living(d, d->regs->vec[__builtin_ctz(read)][k]);
	return from;
}

void hg_derive_define_vec(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, int v, const uint8_t value[64])
{
	uint32_t *lane = d->regs->vec[v], any = 0;

	if (so->n || d->regs->vec_live >> v & 1)
		for (int k = 0; k < 8; k++)
			any |= lane[k] =
				lane_from(d, s, so, v, k, hg_word_at(value + 8 * k));
	d->regs->vec_live = (d->regs->vec_live & ~(1u << v)) | (uint32_t)(any != 0) << v;
}

static void define(struct hg_derive *d, const struct dec_step *s,
		   const struct hg_sources *so, const struct dec_ref *r)
{
	if (!r->has_value)
		return;
	if (r->is_mem)
		hg_derive_define_mem(d, s, so, r->addr, r->size, r->value);
	else if (r->reg < DEC_GPRS)
		hg_derive_define_gpr(d, s, so, r->reg, hg_word_at(r->value));
	else if (r->reg < DEC_REG_K)
		hg_derive_define_vec(d, s, so, r->reg - DEC_REG_VEC, r->value);
}

/* A string instruction moved many words at once. */
static void copy_words(struct hg_derive *d, const struct dec_ref *from,
		       const struct dec_ref *to)
{
	for (uint64_t i = 0; i + 8 <= to->size; i += 8) {
		uint64_t word = (from->addr + i) % 8 ? 0 : memory_get(d, from->addr + i);

		if (word && (to->addr + i) % 8 == 0)
			memory_put(d, to->addr + i, word);
	}
}

static void copy_bulk(struct hg_derive *d, const struct dec_step *s)
{
	const struct dec_ref *from = NULL, *to = NULL;

	for (size_t i = 0; i < s->n_refs; i++) {
		if (s->refs[i].is_mem && s->refs[i].size > 64)
			*(s->refs[i].is_def ? &to : &from) = &s->refs[i];
	}
	if (from && to && from->size == to->size)
		copy_words(d, from, to);
}

void hg_derive_step(struct hg_derive *d, const struct dec_step *s)
{
	struct hg_sources so;

	so.n = 0;
	// What a system call returns is no copy of what it got: mmap() where a block was makes other memory.
	for (size_t i = 0; i < s->n_refs && s->insn->flow != DEC_FLOW_SYSCALL; i++)
		if (!s->refs[i].is_def)
			add_use(d, &so, s->insn, &s->refs[i]);
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_def)
			define(d, s, &so, &s->refs[i]);
	if (s->insn->is_rep)
		copy_bulk(d, s);
}

/* Forget what the aligned words in [start, end) are. */
static void forget_words(struct hg_derive *d, uint64_t start, uint64_t end)
{
	for (uint64_t at = (start + 7) & ~7ull, n; at < end; at += n) {
		uint8_t *page = memory_page(d, at);

		n = HG_PAGE_BYTES - at % HG_PAGE_BYTES;
		n = n < end - at ? n : end - at;
		if (page)
			memset(page + at % HG_PAGE_BYTES, 0, n & ~7ull);
		n = (n + 7) & ~7ull;
	}
}

void hg_derive_born(struct hg_derive *d, struct hg_node_id id, struct hg_node_id from)
{
	const struct hg_node *n = hg_graph_node(d->graph, id);
	const struct hg_node *old = from.v ? hg_graph_node(d->graph, from) : n;
	uint64_t kept = !from.v ? 0 : old->size < n->size ? old->size : n->size;

	kept &= ~7ull;
	for (uint64_t i = 0; i < kept && old->start != n->start; i += 8) {
		uint64_t word = memory_get(d, old->start + i);

		if (word || memory_get(d, n->start + i))
			memory_put(d, n->start + i, word);
	}
	forget_words(d, n->start + kept, n->start + n->size);
}

void hg_derive_enter(struct hg_derive *d)
{
	memcpy(d->regs->kept_value, d->regs->value, sizeof(d->regs->value));
	memcpy(d->regs->kept_gpr, d->regs->gpr, sizeof(d->regs->gpr));
}

void hg_derive_leave(struct hg_derive *d)
{
	for (int i = 0; i < DEC_GPRS; i++)
		if (d->regs->value[i] == d->regs->kept_value[i])
			hg_derived_set(d->regs, i, d->regs->kept_gpr[i]);
}

void hg_derive_skip(struct hg_derive *d, const struct dec_step *s)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (r->is_mem || r->reg >= DEC_GPRS || !r->has_value)
			continue;
		d->regs->value[r->reg] = hg_word_at(r->value);
		if (r->is_def)
			hg_derived_set(d->regs, r->reg, 0);
	}
}
