// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * tool_recover [--frame] [--probes] PROGRAM CAPTURE: does a store plan keep its promise?
 * The machine replays CAPTURE and knows all. Along the path that it went through PROGRAM's
 * own code, values are computed from the plan's anchors alone: rsp where a function is
 * entered, the registers and memory that the plan's probes would tell (with --probes: that
 * those in the capture did tell), the registers at a deadly signal. Then address and value
 * of each executed store that the plan calls recoverable must be there, and be right.
 *
 * Calls are one step, with what the ABI says of it; library code is not looked at.
 * Exit status 0: all were recovered, and none wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decode/machine/trace.h"
#include "storeplan/sp_function.h"
#include "storeplan/sp_sites.h"
#include "tests/storeplan/eval.h"

#define PATH_MAX_STEPS 400000 ///< of an activation, before its first half is judged

static struct {
	uint64_t right, missed, wrong, values, wrong_values, copies, free;
	uint64_t hits, told, told_wrong;
} n;

static void die(const char *what)
{
	fprintf(stderr, "tool_recover: %s\n", what);
	exit(2);
}

static void ok(struct err *err)
{
	if (err)
		die(err->message);
}

/* ---- the program ----------------------------------------------------------------------- */

struct code {
	struct sp_function f;
	struct sp_steps s;
	struct eval *evals; ///< by instruction; d.length 0: not yet decoded
};

static struct sp_image *image;
static struct sp_plan *plan;
static struct code *codes; ///< by range (those that own)
static uint64_t bias;
static struct map store_at, site_at; ///< address -> index + 1 in the plan

static struct code *code_at(uint64_t addr)
{
	size_t count, r = sp_image_range_at(image, addr);
	struct sp_range *ranges = sp_image_ranges(image, &count);
	struct code *c;

	if (r == SIZE_MAX)
		return NULL;
	r = ranges[r].owner;
	c = &codes[r];
	if (!c->f.n_insns) {
		ok(sp_function_build(image, r, &c->f));
		if (c->f.unsound || !c->f.n_insns)
			return NULL;
		ok(sp_steps_make(image, &c->f, &c->s));
		c->evals = calloc(c->f.n_insns, sizeof(*c->evals));
	}
	return c->f.unsound ? NULL : c;
}

/* ---- values along a path ------------------------------------------------------------------- */

/** What a location holds from one change to the next. */
struct version {
	struct val value, truth;
	bool is_known, has_truth;
};

struct use {
	uint8_t location;
	uint32_t before, after; ///< versions
};

struct moment {
	uint32_t insn;
	uint32_t use_at, n_uses;
	uint32_t check; ///< in checks, + 1; 0: it is no store of the plan's
};

/** An executed store. */
struct check {
	uint64_t addr;
	uint32_t size; ///< bytes stored
	uint8_t value[64];
	uint32_t store; ///< in the plan
	bool has_read;
	struct val read_addr;
	uint8_t read[64];
	bool is_uniform; ///< rep stos: all the same word
	uint64_t fs;
};

struct activation {
	struct code *c;
	uint64_t entry_rsp;
	bool is_after_call; ///< the last step was a call
	VEC(struct version) versions;
	VEC(struct use) uses;
	VEC(struct moment) path;
	VEC(struct check) checks;
	uint32_t now[SP_LOCATIONS];
};

static struct val truth_gpr[16];
static uint64_t truth_fs;

static uint32_t new_version(struct activation *a)
{
	if (!vec_push(&a->versions))
		die("out of memory");
	return a->versions.size - 1;
}

static void wrong_value(const struct activation *a, uint64_t value, uint64_t truth)
{
	if (n.wrong_values++ < 10)
		printf("wrong: a register is computed as %#" PRIx64 " and is %#" PRIx64
		       " in %s\n",
		       value, truth, a->c->f.name ?: "?");
}

static void know(struct activation *a, uint32_t v, struct val value)
{
	struct version *ver = &a->versions.data[v];

	ver->is_known = true;
	ver->value = value;
	n.values++;
	if (ver->has_truth && ver->truth.lo != value.lo)
		wrong_value(a, value.lo, ver->truth.lo);
}

static void tell_truth(struct activation *a, int location)
{
	struct version *v = &a->versions.data[a->now[location]];

	v->has_truth = true;
	v->truth = truth_gpr[location];
	if (v->is_known && v->value.lo != v->truth.lo)
		wrong_value(a, v->value.lo, v->truth.lo);
}

/* ---- memory as it really is -------------------------------------------------------------------- */

static struct map pages; ///< what the run has written

static uint8_t *page_of(uint64_t addr, bool may_make)
{
	uint64_t *p = map_get(&pages, addr >> 12);
	uint8_t *page;

	if (p || !may_make)
		return p ? (uint8_t *)(uintptr_t)*p : NULL;
	page = calloc(1, 8192); // bytes, and which are there
	if (!page || map_put(&pages, addr >> 12, (uintptr_t)page))
		die("out of memory");
	return page;
}

static void shadow_write(uint64_t addr, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t *p = page_of(addr + i, true);

		p[(addr + i) & 4095] = data[i];
		p[4096 + ((addr + i) & 4095)] = 1;
	}
}

static bool shadow_read(uint64_t addr, uint8_t *to, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const uint8_t *p = page_of(addr + i, false);

		if (!p || !p[4096 + ((addr + i) & 4095)])
			return false;
		to[i] = p[(addr + i) & 4095];
	}
	return true;
}

/** Constants: as relocated, or as in the file. */
static void constant(void *ctx, uint64_t addr, uint8_t *to, size_t size)
{
	size_t avail;
	const uint8_t *bytes;

	(void)ctx;
	if (shadow_read(addr + bias, to, size))
		return;
	bytes = sp_image_bytes(image, addr, &avail);
	if (!bytes || avail < size)
		die("a constant that is nowhere");
	memcpy(to, bytes, size);
}

/* ---- computing ------------------------------------------------------------------------------------ */

struct where {
	const struct activation *a;
	const struct moment *m;
	bool is_after;
};

static const struct version *look(const struct where *w, int location)
{
	for (uint32_t i = 0; i < w->m->n_uses; i++) {
		const struct use *u = &w->a->uses.data[w->m->use_at + i];

		if (u->location == location)
			return &w->a->versions.data[w->is_after ? u->after : u->before];
	}
	return NULL;
}

static struct val get(void *ctx, int location)
{
	const struct version *v = look(ctx, location);

	if (!v || !v->is_known)
		die("the plan computes with what it does not know");
	return v->value;
}

static struct eval *eval_of(const struct activation *a, const struct moment *m,
			    struct where *w)
{
	struct eval *e = &a->c->evals[m->insn];

	if (!e->d.length) {
		size_t avail;
		const struct sp_insn *i = &a->c->f.insns[m->insn];
		const uint8_t *bytes = sp_image_bytes(image, i->at, &avail);
		ZydisDecoder decoder;

		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
				 ZYDIS_STACK_WIDTH_64);
		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeFull(&decoder, bytes, avail, &e->d, e->op)))
			die("no instruction");
		e->insn = i;
		e->step = &a->c->s.step[m->insn];
		e->get = get;
		e->constant = constant;
		e->bias = bias;
	}
	e->ctx = w;
	return e;
}

static bool all_known(const struct where *w, sp_set set)
{
	for (int l = 0; l < SP_LOCATIONS; l++)
		if (set >> l & 1) {
			const struct version *v = look(w, l);

			if (!v || !v->is_known)
				return false;
		}
	return true;
}

/** Make known what step @p m gives, behind it or before it. @return whether any. */
static bool propagate_one(struct activation *a, const struct moment *m, bool is_backward)
{
	const struct sp_step *st = &a->c->s.step[m->insn];
	struct where w = { a, m, is_backward };
	bool has_more = false;

	for (unsigned k = 0; k < (is_backward ? st->n_undos : st->n_effects); k++) {
		sp_set from = is_backward ? st->undo[k].after : st->effect[k].src;
		sp_set to = is_backward ? st->undo[k].gives : st->effect[k].dst;

		if (!all_known(&w, from))
			continue;
		for (uint32_t i = 0; i < m->n_uses; i++) {
			const struct use *u = &a->uses.data[m->use_at + i];
			uint32_t v = is_backward ? u->before : u->after;

			if (!(to >> u->location & 1) || a->versions.data[v].is_known)
				continue;
			know(a, v,
			     is_backward ? eval_backward(eval_of(a, m, &w), u->location) :
					   eval_forward(eval_of(a, m, &w), u->location));
			has_more = true;
		}
	}
	return has_more;
}

static void propagate(struct activation *a)
{
	bool has_more = true;

	while (has_more) {
		has_more = false;
		for (size_t i = 0; i < a->path.size; i++)
			has_more |= propagate_one(a, &a->path.data[i], false);
		for (size_t i = a->path.size; i--;)
			has_more |= propagate_one(a, &a->path.data[i], true);
	}
}

/* ---- judging ------------------------------------------------------------------------------------------ */

static bool find_address(struct activation *a, const struct moment *m,
			 const struct check *c, uint64_t *ret)
{
	const struct sp_mem *mem = sp_insn_store(&a->c->f.insns[m->insn]);
	struct where w = { a, m, false };
	uint64_t at =
		mem->disp + (mem->is_absolute ? bias : 0) + (mem->is_fs ? c->fs : 0);

	if (!all_known(&w, a->c->s.step[m->insn].address))
		return false;
	if (!mem->is_absolute && mem->base != SP_NONE)
		at += get(&w, mem->base).lo;
	if (!mem->is_absolute && mem->index != SP_NONE)
		at += get(&w, mem->index).lo * mem->scale;
	*ret = at;
	return true;
}

static bool find_value(struct activation *a, const struct moment *m,
		       const struct check *c, uint8_t *to)
{
	struct where w = { a, m, false };
	const struct sp_mem *mem = sp_insn_store(&a->c->f.insns[m->insn]);
	struct eval *e;
	struct val v;

	if (c->has_read) {
		memcpy(to, c->read, c->size);
		return true;
	}
	if (!all_known(&w, a->c->s.step[m->insn].needs))
		return false;
	e = eval_of(a, m, &w);
	v = is_string_move(e) ? get(&w, 0) : eval_result(e, NULL);
	for (uint32_t i = 0; i < c->size && i < 64; i++)
		to[i] = ((uint8_t *)&v)[i % mem->size];
	return true;
}

static void complain(const struct activation *a, const struct moment *m, const char *what)
{
	static int shown;

	if (shown++ < 20)
		printf("%s: store at %#" PRIx64 " (%s) in %s\n", what,
		       a->c->f.insns[m->insn].at, sp_insn_name(&a->c->f.insns[m->insn]),
		       a->c->f.name ?: "?");
}

static void judge_one(struct activation *a, const struct moment *m)
{
	const struct check *c = &a->checks.data[m->check - 1];
	const struct sp_store *s = &plan->stores[c->store];
	uint8_t value[64];
	uint64_t addr;

	if (!find_address(a, m, c, &addr)) {
		n.missed++;
		complain(a, m, "address not recovered");
		return;
	}
	if (s->state == SP_STORE_COPY) {
		if (addr != c->addr)
			complain(a, m, "wrong");
		n.wrong += addr != c->addr;
		n.copies += addr == c->addr;
		return;
	}
	if (!find_value(a, m, c, value)) {
		n.missed++;
		complain(a, m, "value not recovered");
	} else if (addr != c->addr ||
		   memcmp(value, c->value, c->size > 64 ? 64 : c->size) ||
		   (c->size > 64 && !c->is_uniform)) {
		n.wrong++;
		complain(a, m, "wrong");
	} else {
		n.right++;
		n.free += s->state == SP_STORE_FREE;
	}
}

static void judge(struct activation *a, size_t steps)
{
	propagate(a);
	for (size_t i = 0; i < steps && i < a->path.size; i++)
		if (a->path.data[i].check)
			judge_one(a, &a->path.data[i]);
}

static void activation_deinit(struct activation *a)
{
	vec_deinit(&a->versions);
	vec_deinit(&a->uses);
	vec_deinit(&a->path);
	vec_deinit(&a->checks);
}

/** Judge the first half of a path that has become long, and keep the rest of it. */
static void shorten(struct activation *a)
{
	size_t half = a->path.size / 2;
	struct activation b = { .c = a->c,
				.entry_rsp = a->entry_rsp,
				.is_after_call = a->is_after_call };
	uint32_t *moved = calloc(a->versions.size, sizeof(*moved));

	judge(a, half);
#define MOVE(v)                                      \
	(moved[v] ?:                                 \
		    (moved[v] = new_version(&b) + 1, \
		     b.versions.data[moved[v] - 1] = a->versions.data[v], moved[v]))
	new_version(&b);
	for (size_t i = half; i < a->path.size; i++) {
		struct moment m = a->path.data[i];
		uint32_t at = b.uses.size;

		for (uint32_t k = 0; k < m.n_uses; k++) {
			struct use u = a->uses.data[m.use_at + k];

			u.before = MOVE(u.before) - 1;
			u.after = MOVE(u.after) - 1;
			*vec_push(&b.uses) = u;
		}
		if (m.check) {
			*vec_push(&b.checks) = a->checks.data[m.check - 1];
			m.check = b.checks.size;
		}
		m.use_at = at;
		*vec_push(&b.path) = m;
	}
	for (int l = 0; l < SP_LOCATIONS; l++)
		b.now[l] = MOVE(a->now[l]) - 1;
	free(moved);
	activation_deinit(a);
	*a = b;
}

/* ---- following the path -------------------------------------------------------------------------------- */

static VEC(struct activation) stack;
static bool was_call; ///< the last executed instruction, anywhere

static void leave(void)
{
	struct activation *a = &stack.data[--stack.size];

	judge(a, SIZE_MAX);
	activation_deinit(a);
}

static struct activation *enter(struct code *c)
{
	struct activation *a = vec_push(&stack);

	if (!a)
		die("out of memory");
	a->c = c;
	a->entry_rsp = truth_gpr[CAP_RSP].lo;
	for (int l = 0; l < SP_LOCATIONS; l++)
		a->now[l] = new_version(a);
	tell_truth(a, CAP_RSP);
	know(a, a->now[CAP_RSP], truth_gpr[CAP_RSP]);
	return a;
}

/** The activation that executes instruction @p insn of @p c now. */
static struct activation *current(struct code *c, size_t insn)
{
	uint64_t rsp = truth_gpr[CAP_RSP].lo;
	struct activation *top;
	bool is_entry = c->f.blocks[c->f.block_of[insn]].entry == SP_ENTRY_CALL &&
			c->f.blocks[c->f.block_of[insn]].first == insn;

	while (stack.size && rsp > stack.data[stack.size - 1].entry_rsp)
		leave();
	top = stack.size ? &stack.data[stack.size - 1] : NULL;
	if (was_call && is_entry)
		return enter(c);
	if (top && top->c == c && (!is_entry || rsp < top->entry_rsp))
		return top;
	// A tail call; or from a library.
	if (top && rsp == top->entry_rsp)
		leave();
	return enter(c);
}

static sp_set touched(const struct sp_step *st, bool is_store)
{
	sp_set set = st->changed | (is_store ? st->needs | st->address : 0);

	for (unsigned k = 0; k < st->n_effects; k++)
		set |= st->effect[k].src | st->effect[k].dst;
	for (unsigned k = 0; k < st->n_undos; k++)
		set |= st->undo[k].after | st->undo[k].gives;
	return set;
}

static const struct sp_site *site_of(uint64_t addr)
{
	uint64_t *i = map_get(&site_at, addr);

	return i ? &plan->sites[*i - 1] : NULL;
}

/** Where a probe looks, by what it says of itself. */
static uint64_t read_address(const struct sp_read *r)
{
	uint64_t at = r->disp + (r->is_absolute ? bias : 0) + (r->is_fs ? truth_fs : 0);

	if (r->base != SP_NONE)
		at += truth_gpr[r->base].lo;
	if (r->index != SP_NONE)
		at += truth_gpr[r->index].lo * r->scale;
	return at;
}

/** Stores just before @p site, whose memory it reads. */
static void read_back(struct activation *a, const struct sp_site *site)
{
	for (size_t i = a->path.size; i-- && i + 64 > a->path.size;) {
		const struct moment *m = &a->path.data[i];
		struct check *c = m->check ? &a->checks.data[m->check - 1] : NULL;
		bool is_read = false;

		if (!c || c->has_read || plan->stores[c->store].read_at != site->addr)
			continue;
		for (int r = 0; r < site->n_reads; r++) {
			uint64_t at = read_address(&site->reads[r]);

			is_read |= at == c->addr && site->reads[r].size == c->size &&
				   shadow_read(at, c->read, c->size);
		}
		c->has_read = is_read;
	}
}

/* ---- what the recorder's probes said ----------------------------------------------------------------------- */

static struct cap_events *events;

/** Does @p ev hold the memory at @p addr, as it is? It may leave out what cannot be read. */
static bool has_memory(const struct cap_event *ev, uint64_t addr, uint32_t size)
{
	uint8_t want[64];
	bool is_there = shadow_read(addr, want, size);

	for (size_t i = 0; i < ev->n_writes; i++) {
		const struct cap_write *w = &ev->writes[i];

		if (addr >= w->addr && addr + size <= w->addr + w->size)
			return !is_there ||
			       !memcmp(want, w->data + (addr - w->addr), size);
	}
	return !is_there;
}

/** The next PROBE event must be of this site, with these registers and this memory. */
static void compare_event(const struct sp_site *site, const struct cap_info *info)
{
	struct cap_event ev;
	bool is_end = false, is_same;

	do
		ok(cap_events_next(events, &ev, &is_end));
	while (!is_end && ev.kind != CAP_EV_PROBE);
	n.told++;
	is_same = !is_end && ev.regs.rip == site->addr + bias &&
		  ev.probe_gprs == UINT16_MAX && ev.probe_site < info->n_store_sites &&
		  info->store_sites[ev.probe_site].file_offset == site->file_offset;
	for (int r = 0; is_same && r < 16; r++)
		is_same = ev.regs.gpr[r] == truth_gpr[r].lo;
	for (int r = 0; is_same && r < site->n_reads; r++)
		is_same = has_memory(&ev, read_address(&site->reads[r]),
				     site->reads[r].size);
	if (!is_same && n.told_wrong++ < 10)
		printf("probe %#" PRIx64 " (%s): event %" PRIu64 " differs\n", site->addr,
		       site->mnemonic, is_end ? 0 : ev.seq);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

static void take_truth(const struct dec_step *step)
{
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (!r->is_def || !r->has_value)
			continue;
		if (r->is_mem)
			shadow_write(r->addr, r->value, r->size);
		else if (r->reg < 16)
			memcpy(&truth_gpr[r->reg].lo, r->value, 8);
	}
}

static void note_store(struct activation *a, struct moment *m, uint32_t store,
		       const struct dec_step *step)
{
	struct check *c;
	uint8_t all[65536];
	uint32_t size = 0;
	uint64_t addr = 0;
	const struct sp_mem *mem = sp_insn_store(&a->c->f.insns[m->insn]);

	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (!r->is_def || !r->is_mem || !r->has_value)
			continue;
		addr = size ? addr : r->addr;
		if (size + r->size > sizeof(all))
			die("a store larger than expected");
		memcpy(all + size, r->value, r->size);
		size += r->size;
	}
	if (!size)
		return; // rep with a count of 0
	c = vec_push(&a->checks);
	*c = (struct check){ .addr = addr,
			     .size = size,
			     .store = store,
			     .fs = truth_fs,
			     .is_uniform = true };
	memcpy(c->value, all, size < 64 ? size : 64);
	for (uint32_t i = mem->size; i < size; i++)
		c->is_uniform &= all[i] == all[i % mem->size];
	m->check = a->checks.size;
}

static struct err *on_step(void *ctx, const struct dec_step *step)
{
	uint64_t addr = step->insn ? step->insn->rip - bias : 0;
	struct code *c = step->insn ? code_at(addr) : NULL;
	size_t insn = c ? sp_function_insn_at(&c->f, addr) : SIZE_MAX;
	const struct sp_site *site;
	struct activation *a;
	struct moment *m;
	uint64_t *store;
	sp_set set;

	if (insn == SIZE_MAX) {
		take_truth(step);
		was_call = step->insn && (step->insn->flow == DEC_FLOW_CALL ||
					  step->insn->flow == DEC_FLOW_CALL_IND);
		return NULL;
	}
	a = current(c, insn);
	site = site_of(addr);
	if (site) {
		n.hits++;
		for (int r = 0; r < 16; r++)
			if (!a->versions.data[a->now[r]].is_known) {
				tell_truth(a, r);
				know(a, a->now[r], truth_gpr[r]);
			}
		read_back(a, site);
		if (events)
			compare_event(site, ctx);
	}
	m = vec_push(&a->path);
	m->insn = insn;
	m->use_at = a->uses.size;
	store = map_get(&store_at, addr);
	if (store && plan->stores[*store - 1].state != SP_STORE_LOST)
		note_store(a, m, *store - 1, step);
	set = touched(&c->s.step[insn], m->check);
	take_truth(step);
	for (int l = 0; l < SP_LOCATIONS; l++) {
		struct use u = { .location = l, .before = a->now[l], .after = a->now[l] };

		if (!(set >> l & 1))
			continue;
		if (c->s.step[insn].changed >> l & 1)
			u.after = a->now[l] = new_version(a);
		m = &a->path.data[a->path.size - 1];
		*vec_push(&a->uses) = u;
		m->n_uses++;
	}
	was_call = c->f.insns[insn].flow == SP_FLOW_CALL ||
		   c->f.insns[insn].flow == SP_FLOW_CALL_IND;
	// A call is still going on.
	for (int r = 0; r < 16 && !was_call; r++)
		if (c->s.step[insn].changed >> r & 1)
			tell_truth(a, r);
	if (a->path.size >= PATH_MAX_STEPS)
		shorten(a);
	return NULL;
}

static void find_bias(struct capture *c, const char *program)
{
	struct cap_core *core;
	size_t count;
	struct sp_range *ranges = sp_image_ranges(image, &count);
	uint64_t offset = sp_image_offset(image, ranges[0].start);
	const char *slash = strrchr(program, '/');

	ok(cap_core_open(c, &core));
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		const char *base = strrchr(m->name, '/');

		if (base && !strcmp(base + 1, slash ? slash + 1 : program) &&
		    offset >= m->file_offset &&
		    offset - m->file_offset < m->end - m->start)
			bias = m->start + offset - m->file_offset - ranges[0].start;
	}
	for (int r = 0; r < 16; r++)
		truth_gpr[r].lo = core->regs.gpr[r];
	cap_core_close(core);
}

/** The end of a program that was killed is an anchor: its registers are known. */
static void end_of_run(struct dec_machine *m, const struct dec_where *w)
{
	struct cap_regs regs;

	if (w->end == CAP_END_SIGNAL && stack.size && code_at(w->rip - bias)) {
		struct activation *a = &stack.data[stack.size - 1];

		ok(dec_machine_regs(m, &regs));
		for (int r = 0; r < 16; r++)
			if (!a->versions.data[a->now[r]].is_known)
				know(a, a->now[r], (struct val){ regs.gpr[r], 0 });
	}
	while (stack.size)
		leave();
}

/** The thread's fs base, which does not change once it is set. */
static void find_fs(const struct capture *c)
{
	struct dec_machine *m;
	struct dec_where w;
	struct cap_regs regs;

	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_regs(m, &regs));
	truth_fs = regs.fs_base;
	dec_machine_destroy(m);
}

static void report(void)
{
	printf("%" PRIu64 " of %" PRIu64 " stores recovered, %" PRIu64 " wrong (%" PRIu64
	       " of them without any probe); %" PRIu64 " copies located; %" PRIu64
	       " values computed, %" PRIu64 " wrong; %" PRIu64 " probe hits",
	       n.right, n.right + n.missed + n.wrong, n.wrong, n.free, n.copies, n.values,
	       n.wrong_values, n.hits);
	if (events)
		printf(", %" PRIu64 " events, %" PRIu64 " differ", n.told, n.told_wrong);
	puts("");
}

int main(int argc, char **argv)
{
	struct sp_options o = {};
	bool has_probes = false;
	struct dec_machine *m;
	struct dec_where w;
	struct capture *c;
	size_t count;
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (!strcmp(argv[at], "--frame"))
			o.wants_frame = true;
		else if (!strcmp(argv[at], "--probes"))
			has_probes = true;
	}
	if (at + 2 != argc)
		die("which PROGRAM and CAPTURE?");
	ok(sp_plan_make(argv[at], &o, &plan));
	image = plan->image;
	sp_image_ranges(image, &count);
	codes = calloc(count, sizeof(*codes));
	for (size_t i = 0; i < plan->n_stores; i++)
		map_put(&store_at, plan->stores[i].addr, i + 1);
	for (size_t i = 0; i < plan->n_sites; i++)
		map_put(&site_at, plan->sites[i].addr, i + 1);
	ok(capture_open(argv[at + 1], &c));
	find_bias(c, argv[at]);
	find_fs(c);
	if (has_probes)
		ok(cap_events_open(c, &events));
	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_trace(m, UINT64_MAX >> 1, on_step, (void *)capture_info(c), &w));
	if (w.at != DEC_AT_END)
		die("the replay diverged");
	end_of_run(m, &w);
	report();
	dec_machine_destroy(m);
	capture_close(c);
	return !n.right || n.missed || n.wrong || n.wrong_values || n.told_wrong ||
	       (has_probes && !n.told);
}
