// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One instruction, paper 002's Figure 4.4 read from its other end: what it defines is wanted by some
 * ways; by which ways is then wanted what it used, and why was it executed?
 *
 * The figure is about statements. Of a statement's instructions the first ones copy what they load,
 * the last one copies what was computed into a variable. Whether control keeps its strength follows
 * from the whole: so a copy of a register that was made in the same block leaves that question to
 * whoever made it.
 */

#include "faultlocate/inputs/walk.h"

#include <string.h>
#include <sys/mman.h>

#include "decode/x86/zydis.h"

#define TAKEN_MAX 6
#define TABLE_REACH 256 // entries to both sides of one that are compared with it
#define LINKS_MAX (1u << 24)

/** What is special of an instruction. */
enum kind {
	KIND_KNOWN = 1,
	KIND_EXACT = 2,	  ///< its zero flag says that two values are equal
	KIND_POINTER = 4, ///< different operands give different results: additions
	KIND_KEEP = 16,	  ///< push, pop of a register that calls preserve
	KIND_CHOICE = 8,  ///< cmov: of flags it depends as a branch does
};

struct taken {
	const struct effect_def *def;
	uint64_t addr;
	uint64_t bytes; ///< bit n: at[n] counts
	struct label at[64];
	struct label all; ///< joined
};

/* ---- instructions -------------------------------------------------------------------------------- */

static bool are_same(const ZydisDecodedOperand *op)
{
	return op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[0].reg.value == op[1].reg.value;
}

static unsigned find_kind(const struct dec_insn *insn)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;

	if (!dec_insn_zydis(insn->bytes, insn->len, &d, op))
		return KIND_KNOWN;
	switch (d.mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		return KIND_KNOWN | KIND_EXACT;
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
		return KIND_KNOWN | (are_same(op) ? KIND_EXACT : 0);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return KIND_KNOWN | KIND_EXACT | KIND_POINTER;
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_CDQE:
		return KIND_KNOWN | KIND_POINTER;
	default:
		return KIND_KNOWN |
		       (d.meta.category == ZYDIS_CATEGORY_CMOV ? KIND_CHOICE : 0);
	}
}

static struct err *kind_of(struct walker *w, uint32_t insn, unsigned *ret)
{
	struct err *err = NULL;

	while (w->kinds.size <= insn && !err)
		err = vec_add(&w->kinds, 0);
	if (err)
		return err;
	if (!w->kinds.data[insn]) {
		const struct trace_insn *t = &w->trace->insns.data[insn];
		uint16_t m = t->insn.mnemonic;

		w->kinds.data[insn] = find_kind(&t->insn);
		if ((t->effect->is_save && m == ZYDIS_MNEMONIC_PUSH) ||
		    (t->effect->is_restore && m == ZYDIS_MNEMONIC_POP))
			w->kinds.data[insn] |= KIND_KEEP;
	}
	*ret = w->kinds.data[insn];
	return NULL;
}

/* The constant that @p insn assigns. */
static uint64_t constant_of(const struct dec_insn *insn)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;

	if (!dec_insn_zydis(insn->bytes, insn->len, &d, op))
		return 0;
	for (int i = 0; i < d.operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return op[i].imm.value.u;
	return insn->rel_target;
}

/* Is register @p reg, which instruction @p i of @p b copies, made in that block? */
static bool is_made_here(const struct trace_block *b, uint32_t i, int reg)
{
	while (b && i--)
		if (b->defs[i] >> reg & 1)
			return true;
	return false;
}

/* ---- taking ---------------------------------------------------------------------------------------- */

static void add_byte(const struct walker *w, struct taken *t, unsigned i, struct label l)
{
	t->at[i] = l;
	t->bytes |= UINT64_C(1) << i;
	fl_inputs_join(w, &t->all, &l);
}

static void take_def(struct walker *w, const struct effect_def *d,
		     const struct operand_places *o, struct taken *t)
{
	t->all = (struct label){};
	t->def = d;
	t->bytes = 0;
	if (!d->is_mem) {
		uint64_t left = w->at->regs->any >> d->reg & 1 ?
					w->at->regs->bytes[d->reg] & d->bytes :
					0;

		for (; left; left &= left - 1) {
			int i = __builtin_ctzll(left);

			add_byte(w, t, i, fl_inputs_take_reg(w, d->reg, i, d->is_maybe));
		}
		return;
	}
	if (o->slow)
		return;
	t->addr = walk_address(w, o, d->mem);
	if (!fl_labels_may(&w->mem, t->addr, o->mem[d->mem].size))
		return;
	for (unsigned i = 0; i < o->mem[d->mem].size && i < 64; i++) {
		struct label l = d->is_maybe ? fl_labels_get(&w->mem, t->addr + i) :
					       fl_labels_take(&w->mem, t->addr + i);

		if (l.ways)
			add_byte(w, t, i, l);
	}
}

/* ---- wanting ---------------------------------------------------------------------------------------- */

/* Want @p n bytes of operand @p m, from byte @p from on. */
static struct err *want_operand(struct walker *w, const struct operand_places *o, int m,
				uint64_t from, uint64_t n, const struct label *l)
{
	struct err *err = w->steps.recording ? fl_steps_want(w, &o->mem[m], from, n, l) :
					       NULL;

	return err ?: fl_inputs_want_mem(w, walk_address(w, o, m) + from, n, l);
}

static struct err *want_use(struct walker *w, const struct effect_use *use,
			    const struct operand_places *o, const struct label *l)
{
	struct label there = *l;

	if (use->is_mem) {
		if (o->slow)
			return NULL;
		// What is loaded is a value again.
		there.ways = ways_loaded(l->ways);
		return want_operand(w, o, use->mem, 0, o->mem[use->mem].size, &there);
	}
	for (uint64_t left = use->bytes; left; left &= left - 1)
		fl_inputs_want_reg(w, use->reg, __builtin_ctzll(left), &there);
	return NULL;
}

struct err *fl_inputs_use(struct walker *w, uint32_t insn, uint64_t from,
			  const struct operand_places *o, const struct label *values,
			  const struct label *addresses)
{
	const struct effect *e = w->trace->insns.data[insn].effect;
	struct err *err = NULL;

	for (uint64_t left = from; left && !err; left &= left - 1) {
		int i = __builtin_ctzll(left);

		if (i >= e->n_uses)
			break;
		err = want_use(w, &e->use[i], o,
			       e->use[i].why == EFFECT_ADDRESS ? addresses : values);
	}
	return err;
}

/* Read what there is of [addr, addr + size), zeros for the rest, page by page. */
static void read_around(struct walker *w, uint64_t addr, uint8_t *buf, size_t size)
{
	memset(buf, 0, size);
	for (size_t i = 0, n; i < size; i += n) {
		n = LABEL_PAGE - (addr + i) % LABEL_PAGE;
		n = n < size - i ? n : size - i;
		err_destroy(dec_machine_read(w->trace->machine, addr + i, buf + i, n));
	}
}

/* Is what is at @p addr the same all the time? The machine stands where the window that is walked ends: what is written
 * meanwhile is not known. (A library's tables are put right before that makes them constant.) */
static bool is_constant(struct walker *w, uint64_t addr)
{
	struct dec_range r = {};
	struct err *err = NULL;

	for (size_t i = 0; !err && r.end <= addr; i++)
		err = dec_machine_range(w->trace->machine, i, &r);
	if (!err)
		return r.start <= addr && !(r.prot & PROT_WRITE);
	err_destroy(err);
	return false;
}

bool fl_inputs_is_only_entry(struct walker *w, uint64_t addr, unsigned size)
{
	const uint64_t *known = map_get(&w->tables, addr);
	uint8_t around[(2 * TABLE_REACH + 1) * 8];
	const uint8_t *mine = around + TABLE_REACH * size;
	bool is_only;

	if (known)
		return *known;
	is_only = (size == 4 || size == 8) && is_constant(w, addr);
	if (is_only)
		read_around(w, addr - TABLE_REACH * size, around,
			    (2 * TABLE_REACH + 1) * size);
	for (unsigned i = 0; i <= 2 * TABLE_REACH && is_only; i++)
		is_only = i == TABLE_REACH || memcmp(mine, around + i * size, size);
	// Without memory it is looked at again.
	map_put(&w->tables, addr, is_only);
	return is_only;
}

/* The address uses of a load of a jump's target, wanted by ways @p ways: what selects there. */
static struct err *use_table(struct walker *w, const struct effect *e, uint64_t from,
			     const struct operand_places *o, struct label l)
{
	struct err *err = NULL;
	int mem = -1;
	bool is_only;

	for (int i = 0; i < e->n_uses; i++)
		if ((from >> i & 1) && e->use[i].is_mem)
			mem = e->use[i].mem;
	if (mem < 0 || o->slow)
		return NULL;
	l.ways = (l.ways & WAYS_TABLE) / WAY_TABLE;
	is_only = fl_inputs_is_only_entry(w, walk_address(w, o, mem), o->mem[mem].size);
	if (w->steps.recording)
		err = fl_steps_guard(w, &o->mem[mem], is_only);
	if (is_only)
		l.ways *= WAY_INDEX;
	else
		l.ways = ways_weak(l.ways);
	for (int i = 0; i < e->n_uses && !err; i++)
		if ((from >> i & 1) && e->use[i].why == EFFECT_ADDRESS)
			err = want_use(w, &e->use[i], o, &l);
	return err;
}

/* What @p t, which instruction @p e copies, is made of: byte by byte. */
static struct err *use_copy(struct walker *w, const struct effect *e,
			    const struct operand_places *o, const struct taken *t,
			    uint32_t node)
{
	const struct effect_def *d = t->def;
	const struct effect_use *use = &e->use[d->copies];
	struct err *err = NULL;

	for (uint64_t left = t->bytes; left && !err; left &= left - 1) {
		unsigned i = __builtin_ctzll(left);
		unsigned from = i < d->n_copied ? i : d->n_copied - 1u;
		struct effect_use one = *use;
		struct label l = t->at[i];

		if (i >= d->n_copied && !d->is_signed)
			continue;
		l.node = node;
		if (use->is_mem) {
			l.ways = ways_loaded(l.ways);
			err = o->slow ? NULL : want_operand(w, o, use->mem, from, 1, &l);
		} else {
			one.bytes = UINT64_C(1) << from;
			err = want_use(w, &one, o, &l);
		}
	}
	return err;
}

/* leave gets rbp back, as pop does. */
static struct err *use_leave(struct walker *w, const struct operand_places *o,
			     const struct taken *t, uint32_t node)
{
	struct err *err = NULL;

	for (uint64_t left = t->def->reg == CAP_RBP && !o->slow ? t->bytes : 0;
	     left && !err; left &= left - 1) {
		unsigned i = __builtin_ctzll(left);
		struct label l = t->at[i];

		l.node = node;
		l.ways = ways_loaded(l.ways);
		err = want_operand(w, o, 0, i, 1, &l);
	}
	return err;
}

/* By which ways is a value operand wanted of what is no copy? */
static uint32_t value_ways(uint32_t ways, unsigned kind, bool is_exact)
{
	uint32_t special = ways & (WAYS_TABLE | WAYS_INDEX | WAY_POINTER);

	if (is_exact)
		return ways & ~WAYS_TABLE;
	if (kind & KIND_POINTER)
		return ways_weak(ways & ~special) | special;
	return ways_weak(ways_plain(ways));
}

/* Uses of what is computed. */
static struct err *use_result(struct walker *w, uint32_t insn, const struct effect *e,
			      const struct operand_places *o, const struct taken *t,
			      unsigned kind, bool is_exact, uint32_t node)
{
	struct label values = t->all, addresses = t->all, choice = t->all;
	struct err *err = NULL;

	values.node = addresses.node = choice.node = node;
	values.ways = value_ways(t->all.ways, kind, is_exact);
	addresses.ways = ways_plain(t->all.ways);
	addresses.ways =
		ways_address(is_exact ? addresses.ways : ways_weak(addresses.ways));
	choice.ways = ways_control(ways_weak(ways_plain(t->all.ways)));
	for (uint64_t left = t->def->from; left && !err; left &= left - 1) {
		int i = __builtin_ctzll(left);
		const struct effect_use *use;

		if (i >= e->n_uses)
			break;
		use = &e->use[i];
		if ((kind & KIND_CHOICE) && !use->is_mem && use->reg == DEC_REG_FLAGS)
			err = want_use(w, use, o, &choice);
		else
			err = fl_inputs_use(w, insn, UINT64_C(1) << i, o, &values,
					    &addresses);
	}
	return err;
}

/* ---- why it was executed ----------------------------------------------------------------------------- */

static bool has_values(const struct effect *e, uint64_t from)
{
	for (int i = 0; i < e->n_uses; i++)
		if ((from >> i & 1) && e->use[i].why == EFFECT_VALUE)
			return true;
	return false;
}

/* @return the number of the link that is as @p l but for its position; 0: there is none, and *@p hash
 * is the key for it. */
static uint32_t find_link(const struct walker *w, const struct fl_link *l, uint64_t *hash)
{
	const struct fl_link *all = w->in->links.data;
	const uint64_t *at;

	*hash = l->rip * 0x9e3779b97f4a7c15 ^ (uint64_t)l->next << 32 ^ l->value;
	while ((at = map_get(&w->link_of, *hash))) {
		if (all[*at].rip == l->rip && all[*at].next == l->next &&
		    all[*at].value == l->value)
			return *at;
		++*hash;
	}
	return 0;
}

/* A constant that is wanted as @p l says begins, or goes on, a chain. */
static struct err *new_link(struct walker *w, const struct dec_insn *insn,
			    const struct label *l, struct label *ret)
{
	struct fl_link made = { .position = w->position, .rip = insn->rip };
	uint64_t hash;
	struct err *err;

	*ret = *l;
	ret->ways = ways_chain(l->ways);
	if (!ret->ways || w->in->links.size >= LINKS_MAX)
		return NULL;
	made.value = constant_of(insn);
	made.next = ways_have_link(l->ways) ? l->link : 0;
	ret->link = find_link(w, &made, &hash);
	if (ret->link)
		return NULL;
	ret->link = w->in->links.size;
	err = vec_add(&w->in->links, made);
	return err ?: map_put(&w->link_of, hash, ret->link) ? &err_nomem : NULL;
}

static struct err *wait_for(struct walker *w, uint32_t insn, const struct taken *t,
			    bool keeps, bool is_constant, uint32_t node)
{
	uint32_t ways = ways_plain(t->all.ways);
	struct label control = t->all, chain = {};
	struct err *err = NULL;

	// That an address is loaded here is not a statement of its own.
	if (keeps && !is_constant && (t->all.ways & WAY_POINTER))
		ways = ways_plain(t->all.ways & ~WAY_POINTER) | WAY_ADDRESS_WEAK;
	control.node = node;
	control.ways = ways_control(keeps ? ways : ways_weak(ways));
	if (is_constant && (ways & (WAY_DERIVED | WAY_DERIVED_WEAK | WAYS_CHAIN)))
		err = new_link(w, &w->trace->insns.data[insn].insn, &t->all, &chain);
	return err ?: fl_inputs_wait(w, insn, &control, chain.ways ? &chain : NULL);
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static struct err *spread(struct walker *w, uint32_t insn, const struct effect *e,
			  const struct operand_places *o, const struct taken *t,
			  const struct trace_block *b, uint32_t i, uint32_t node)
{
	const struct effect_def *d = t->def;
	bool is_copy = d->copies >= 0, is_flags = !d->is_mem && d->reg == DEC_REG_FLAGS;
	bool is_zero = is_flags && t->bytes == 1u << EFFECT_ZF;
	bool is_constant = !is_copy && !is_flags && !has_values(e, d->from);
	struct label none = {}, addresses = t->all;
	unsigned kind;
	struct err *err = kind_of(w, insn, &kind);

	if (err)
		return err;
	if (w->trace->insns.data[insn].insn.mnemonic == ZYDIS_MNEMONIC_LEAVE)
		return use_leave(w, o, t, node);
	if (!is_copy) {
		err = use_result(w, insn, e, o, t, kind, is_zero && (kind & KIND_EXACT),
				 node);
		return err   ?:
			       wait_for(w, insn, t, is_flags || is_constant, is_constant,
					node);
	}
	addresses.node = node;
	addresses.ways = ways_address(ways_loaded(t->all.ways));
	err = use_copy(w, e, o, t, node);
	// A register that is kept meanwhile is what it was, whatever happened.
	if (kind & KIND_KEEP)
		return err;
	if (!err)
		err = fl_inputs_use(w, insn, d->from & ~(UINT64_C(1) << d->copies), o,
				    &none, &addresses);
	if (!err && (t->all.ways & WAYS_TABLE)) {
		addresses.ways = t->all.ways;
		err = use_table(w, e, d->from, o, addresses);
	}
	if (err ||
	    (!e->use[d->copies].is_mem && is_made_here(b, i, e->use[d->copies].reg)))
		return err;
	return wait_for(w, insn, t, true, false, node);
}

/* The nearest of those who want what was taken; then the node of the instruction itself. */
static struct err *node_of(struct walker *w, const struct taken *t, unsigned n,
			   uint32_t *ret)
{
	struct label me = {};
	struct err *err;

	for (unsigned i = 0; i < n; i++)
		fl_inputs_join(w, &me, &t[i].all);
	err = fl_inputs_node(w, &me);
	*ret = me.node;
	return err;
}

/* Is what @p insn stores filled in by the dynamic linker? The registers that it keeps on the stack
 * meanwhile are not. */
static bool is_filled_in(const struct walker *w, const struct dec_insn *insn)
{
	for (int m = 0; m < insn->n_mem; m++)
		if (insn->mem[m].is_write && insn->mem[m].base != CAP_RSP &&
		    insn->mem[m].base != CAP_RBP)
			return fl_inputs_is_linker(w, insn->rip);
	return false;
}

static unsigned take_all(struct walker *w, const struct effect *e,
			 const struct operand_places *o, struct taken *t)
{
	unsigned n = 0;

	for (int i = 0; i < e->n_defs; i++) {
		take_def(w, &e->def[i], o, &t[n]);
		// Of more than there is room for, the last ones are taken for one.
		if (!t[n].all.ways)
			continue;
		if (n == TAKEN_MAX - 1)
			fl_inputs_join(w, &t[n - 1].all, &t[n].all);
		else
			n++;
	}
	return n;
}

struct err *fl_inputs_insn(struct walker *w, uint32_t insn,
			   const struct operand_places *o, const struct trace_block *b,
			   uint32_t i)
{
	const struct effect *e = w->trace->insns.data[insn].effect;
	struct taken t[TAKEN_MAX];
	unsigned n = take_all(w, e, o, t);
	uint32_t node;
	struct err *err;

	if (!n || is_filled_in(w, &w->trace->insns.data[insn].insn))
		return NULL;
	err = node_of(w, t, n, &node);
	for (unsigned k = 0; k < n && !err; k++)
		err = spread(w, insn, e, o, &t[k], b, i, node);
	return err;
}

/* ---- instructions stepped in C ------------------------------------------------------------------------- */

/* What its record says it wrote to memory; joined into @p all what is no copy. */
static struct err *take_record(struct walker *w, const struct dec_insn *insn,
			       const struct dec_rec_slow *rec, struct label *all)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref, *source = NULL;
	const uint8_t *data;
	bool moves = insn->is_string && insn->n_mem == 2 &&
		     (insn->gpr_written & 1u << CAP_RDI) &&
		     (insn->gpr_written & 1u << CAP_RSI);
	bool fills = insn->is_string && insn->n_mem == 1 &&
		     (insn->gpr_read & 1u << CAP_RAX) && insn->mem[0].is_write;
	struct err *err = NULL;

	while (moves && !source && (ref = dec_log_next_ref(&refs, &data)))
		source = !ref->is_def && ref->is_mem ? ref : NULL;
	refs = dec_log_refs(rec);
	while (!err && (ref = dec_log_next_ref(&refs, &data))) {
		if (!ref->is_def || !ref->is_mem)
			continue;
		// The last byte first: forward into itself it repeats what it has copied.
		for (uint64_t i = ref->bytes; i-- && !err;) {
			struct label l = fl_labels_take(&w->mem, ref->addr + i);

			if (!l.ways)
				continue;
			fl_inputs_join(w, all, &l);
			if (source && i < source->bytes)
				err = fl_inputs_want_mem(w, source->addr + i, 1, &l);
			else if (fills)
				fl_inputs_want_reg(w, CAP_RAX,
						   i % (insn->mem[0].size ?: 1) & 7, &l);
		}
	}
	return err;
}

/* All memory that it read is wanted as @p l says. */
static struct err *want_record(struct walker *w, const struct dec_rec_slow *rec,
			       const struct label *l)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	const uint8_t *data;
	struct err *err = NULL;

	while (!err && (ref = dec_log_next_ref(&refs, &data)))
		if (!ref->is_def && ref->is_mem)
			err = fl_inputs_want_mem(w, ref->addr, ref->bytes, l);
	return err;
}

struct err *fl_inputs_touched(struct walker *w, uint32_t insn,
			      const struct dec_rec_slow *rec)
{
	const struct dec_insn *in = &w->trace->insns.data[insn].insn;
	const struct effect *e = w->trace->insns.data[insn].effect;
	const struct operand_places o = { .slow = rec };
	struct taken t[TAKEN_MAX];
	unsigned n = take_all(w, e, &o, t), kind;
	struct label all = {}, values, addresses;
	bool is_copy = in->is_string && in->n_mem && in->mem[0].is_write && !n;
	struct err *err = take_record(w, in, rec, &all);

	for (unsigned i = 0; i < n; i++)
		fl_inputs_join(w, &all, &t[i].all);
	if (!err)
		err = kind_of(w, insn, &kind);
	if (err || !all.ways || is_filled_in(w, in))
		return err;
	is_copy |= in->is_string && in->n_mem == 2 && in->mem[0].is_write;
	err = fl_inputs_node(w, &all);
	values = addresses = all;
	// Comparisons of strings whose zero flag alone matters are exact.
	if (!((kind & KIND_EXACT) && n == 1 && !t[0].def->is_mem &&
	      t[0].def->reg == DEC_REG_FLAGS && t[0].bytes == 1u << EFFECT_ZF))
		values.ways = ways_weak(all.ways);
	addresses.ways = ways_address(values.ways);
	if (!err && !is_copy)
		err = fl_inputs_use(w, insn, ~UINT64_C(0), &o, &values, &addresses);
	else if (!err)
		err = fl_inputs_use(w, insn, ~UINT64_C(0), &o, &addresses, &addresses);
	if (!err && !is_copy)
		err = want_record(w, rec, &values);
	all.ways = ways_control(is_copy ? all.ways : values.ways);
	return err ?: fl_inputs_wait(w, insn, &all, NULL);
}

struct err *fl_inputs_target(struct walker *w, uint32_t insn,
			     const struct operand_places *o, const struct label *l)
{
	const struct effect *e = w->trace->insns.data[insn].effect;
	struct err *err = NULL;
	bool is_mem = false;

	for (int i = 0; i < e->n_uses && !err; i++) {
		is_mem |= (e->control >> i & 1) && e->use[i].is_mem;
		// What is in a register may have been loaded from a table.
		if ((e->control >> i & 1) && !e->use[i].is_mem &&
		    e->use[i].why == EFFECT_VALUE && e->use[i].reg != CAP_RSP)
			err = want_use(w, &e->use[i], o, l);
	}
	return err || !is_mem ? err : use_table(w, e, e->control, o, *l);
}

/* ---- seeds -------------------------------------------------------------------------------------------------- */

struct err *fl_inputs_seed(struct walker *w, const struct fl_seed *seed, uint32_t insn,
			   const struct operand_places *o)
{
	struct label value = { .ways = WAY_DERIVED, .node = 1 }, address = value;
	struct label control = value;
	const struct effect *e;
	struct err *err = NULL;

	address.ways = ways_address(value.ways);
	control.ways = ways_control(value.ways);
	if (seed->kind == FL_SEED_MEM)
		return fl_inputs_want_mem(w, seed->addr, seed->size, &value);
	if (seed->kind == FL_SEED_REG) {
		for (int i = 0; i < 64; i++)
			if (seed->bytes & fl_effect_reg_bytes(seed->reg) &
			    UINT64_C(1) << i)
				fl_inputs_want_reg(w, seed->reg, i, &value);
		return NULL;
	}
	if (insn == UINT32_MAX)
		return NULL;
	e = fl_trace_effect(w->trace, insn);
	if (!e)
		return &err_nomem;
	if (seed->kind == FL_SEED_INSN) {
		err = fl_inputs_use(w, insn, ~UINT64_C(0), o, &value, &address);
		if (!err && o->slow)
			err = want_record(w, o->slow, &value);
	}
	return err ?: fl_inputs_wait(w, insn, &control, NULL);
}
