// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One replay of a test: the statements of the program's own that it executed; at each instruction
 * of these the values it used and defined; and, of a failing test, each instance of one. Values
 * are those of instructions: what is loaded, what is stored, what is computed in a register or
 * compared, which way a branch goes. Addresses are left alone: they mean nothing in other runs.
 */
#include <string.h>
#include <sys/syscall.h>

#include "decode/machine/trace.h"
#include "decode/x86/zydis.h"
#include "suppress-hw/rank/rank_int.h"

#define PLACES_MAX (1u << 22)
#define VALUES_MAX 4096
#define NONE UINT32_MAX

/** What is known of an instruction of this run. */
struct known {
	uint32_t statement; ///< NONE: not the program's own
	uint32_t profile;
	uint8_t width;		 ///< bytes of a register that it computes or compares
	uint32_t stretch, count; ///< how often it was reached in that stretch
};

struct profiler {
	struct rank_session *s;
	struct rank_run *run;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	const char *exe;
	uint64_t main; ///< so that instructions of other runs are recognised
	struct map known_of;
	VEC(struct known) known;
	struct rank_place
		pending; ///< defined by the instruction before; statement NONE: not
	struct rank_set set, compared;	 ///< of this step; what a branch will go by
	struct rank_operands operands;	 ///< set's
	uint32_t set_index, compared_at; ///< of the last; the statement of compared
	uint64_t
		jumps_from; ///< behind the branch that was the last instruction; 0: none was
	uint32_t jumps_profile, jumps_statement;
	bool has_too_many;
	size_t places_before; ///< of the run, before the present stretch
	bool has_remapped;    ///< since the last step
};

/* ---- statements and profiles ------------------------------------------------------------- */

static uint64_t hash_text(const char *text, uint64_t h)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * CAP_SIGNATURE_PRIME;
	return h;
}

bool rank_is_named(const char *name, const char *file, int line)
{
	_cleanup_free_ char *own = NULL;
	size_t n, m = strlen(name);

	if (asprintf(&own, "%s:%d", file, line) < 0) {
		own = NULL;
		return false;
	}
	n = strlen(own);
	return m <= n && !strcmp(own + n - m, name) && (m == n || own[n - m - 1] == '/');
}

/* The statement that is looked at is the next one; its source is kept. */
static void note_at(struct profiler *p, const struct dec_place *at)
{
	struct rank_result *ret = p->s->ret;
	_cleanup_fclose_ FILE *f = NULL;
	size_t n = 0;

	p->s->is_ambiguous = p->s->at != NONE;
	p->s->at = ret->statements.size - 1;
	if (ret->source)
		return;
	f = dec_symbols_source(p->symbols, at);
	if (f && getdelim(&ret->source, &n, 0, f) < 0) {
		free(ret->source);
		ret->source = NULL;
	}
	if (asprintf(&ret->source_path, "%s%s%s",
		     at->directory && at->file[0] != '/' ? at->directory : "",
		     at->directory && at->file[0] != '/' ? "/" : "", at->file) < 0)
		ret->source_path = NULL;
}

static uint32_t statement_at(struct profiler *p, uint64_t rip)
{
	struct rank_session *s = p->s;
	struct rank_statement *made;
	struct dec_place at = {};
	const uint64_t *known;
	const char *module;
	uint64_t key;

	// Libraries' debug information, which may be large and packed, is not even read.
	module = dec_symbols_module(p->symbols, rip);
	if (!module || !p->exe || strcmp(module, p->exe))
		return NONE;
	dec_symbols_place(p->symbols, rip, &at);
	if (!at.file || !at.line)
		return NONE;
	key = hash_text(at.file, CAP_SIGNATURE_SEED + at.line * CAP_SIGNATURE_PRIME);
	known = map_get(&s->statement_of, key);
	if (known)
		return *known;
	made = vec_push(&s->ret->statements);
	if (made && s->o->at && rank_is_named(s->o->at, at.file, at.line))
		note_at(p, &at);
	if (!made || map_put(&s->statement_of, key, s->ret->statements.size - 1))
		return NONE;
	made->file = strdup(at.file);
	made->function = strdup(at.function ?: at.outer ?: "");
	made->line = at.line;
	return s->ret->statements.size - 1;
}

static uint8_t width_of(const struct dec_insn *insn)
{
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	if (!dec_insn_zydis(insn->bytes, insn->len, &d, ops) ||
	    ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER || ops[0].size > 64)
		return 8;
	return ops[0].size / 8;
}

static struct known *known_at(struct profiler *p, const struct dec_insn *insn)
{
	uint64_t rip = insn->rip;
	const uint64_t *at = map_get(&p->known_of, rip), *profile;
	struct known *k;
	uint64_t key = rip - p->main;

	if (at)
		return &p->known.data[*at];
	k = vec_push(&p->known);
	if (!k || map_put(&p->known_of, rip, p->known.size - 1))
		return NULL;
	k->statement = statement_at(p, rip);
	k->stretch = NONE;
	k->width = width_of(insn);
	if (k->statement == NONE)
		return k;
	profile = map_get(&p->s->profile_of, key);
	if (profile) {
		k->profile = *profile;
		return k;
	}
	k->profile = p->s->profiles.size;
	if (!vec_push(&p->s->profiles) || map_put(&p->s->profile_of, key, k->profile))
		return NULL;
	return k;
}

static struct err *mark_executed(struct rank_run *run, uint32_t statement)
{
	if (statement >= run->n_executed) {
		size_t n = 2 * (statement + 64);
		uint8_t *more = realloc(run->executed, n);

		if (!more)
			return &err_nomem;
		memset(more + run->n_executed, 0, n - run->n_executed);
		run->executed = more;
		run->n_executed = n;
	}
	run->executed[statement] = 1;
	return NULL;
}

static struct err *add_value(struct rank_profile *profile, uint64_t value)
{
	for (size_t i = profile->values.size; i-- > 0;)
		if (profile->values.data[i] == value)
			return NULL;
	return profile->values.size < VALUES_MAX ? vec_add(&profile->values, value) :
						   NULL;
}

/* ---- places --------------------------------------------------------------------------------- */

bool rank_is_address(uint64_t value, uint8_t bytes)
{
	uint64_t top = value >> 40;

	return bytes == 8 && (top == 0x55 || top == 0x56 || (top >= 0x7e && top <= 0x7f));
}

static struct err *add_place(struct profiler *p, const struct rank_place *place)
{
	struct err *err = NULL;

	if (p->s->o->method == RANK_PREDICATES && place->kind != RANK_VALUE_BRANCH)
		return NULL;
	if (p->s->o->at && place->statement != p->s->at)
		return NULL;
	if (place->kind == RANK_VALUE_MEMORY || place->kind == RANK_VALUE_REGISTER) {
		if (rank_is_address(place->value, place->bytes))
			return NULL;
		err = add_value(&p->s->profiles.data[place->profile], place->value);
	}
	if (err || !p->run->is_failed)
		return err;
	if (p->run->places.size >= PLACES_MAX) {
		p->has_too_many = true;
		return NULL;
	}
	return vec_add(&p->run->places, *place);
}

static uint64_t value_of(const struct dec_ref *ref)
{
	uint64_t v = 0;

	memcpy(&v, ref->value, ref->size < 8 ? ref->size : 8);
	return v;
}

static const struct dec_ref *find_ref(const struct dec_step *step, bool is_def,
				      bool is_mem)
{
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (r->is_def == is_def && r->is_mem == is_mem && r->has_value &&
		    r->size <= 8 &&
		    (is_mem ||
		     (r->reg < DEC_GPRS && r->reg != CAP_RSP && r->reg != CAP_RBP)))
			return r;
	}
	return NULL;
}

static bool is_copy(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_MOV ||
	       insn->mnemonic == ZYDIS_MNEMONIC_MOVSXD ||
	       insn->mnemonic == ZYDIS_MNEMONIC_CDQE ||
	       insn->mnemonic == ZYDIS_MNEMONIC_CDQ ||
	       insn->mnemonic == ZYDIS_MNEMONIC_CQO;
}

static struct err *look_at(struct profiler *p, const struct dec_step *step,
			   const struct known *k)
{
	const struct dec_insn *insn = step->insn;
	const struct dec_ref *ref;
	struct rank_place place = { .statement = k->statement,
				    .profile = k->profile,
				    .position = step->position,
				    .rip = insn->rip,
				    .nth = k->count,
				    .stretch = k->stretch,
				    .set = p->set_index,
				    .role = RANK_ROLES };
	struct err *err;
	bool is_def = false;

	if (insn->flow == DEC_FLOW_JCC) {
		place.kind = RANK_VALUE_BRANCH;
		return add_place(p, &place);
	}
	if (insn->flow != DEC_FLOW_NEXT || insn->gpr_written & 1u << CAP_RSP)
		return NULL;
	if ((ref = find_ref(step, true, true))) {
		is_def = true;
		place.kind = RANK_VALUE_STORE;
		place.bytes = ref->size;
		place.value = value_of(ref);
		err = add_place(p, &place);
		if (err)
			return err;
	} else if (!(ref = find_ref(step, false, true))) {
		// Computed in a register, or compared.
		is_def = insn->gpr_written;
		ref = find_ref(step, is_def, false);
		if (!ref || (is_def && is_copy(insn) && insn->gpr_read))
			return NULL;
	}
	place.kind = ref->is_mem ? RANK_VALUE_MEMORY : RANK_VALUE_REGISTER;
	place.reg = ref->reg;
	place.addr = ref->addr;
	place.bytes = ref->is_mem ? ref->size : k->width;
	place.value = value_of(ref);
	place.role = rank_set_role(&p->operands, is_def, ref->is_mem, ref->reg);
	if (!is_def)
		return add_place(p, &place);
	p->pending = place;
	return NULL;
}

/* ---- sets of values --------------------------------------------------------------------------- */

/* Which way a branch went is seen at the next instruction. */
static struct err *note_ranges(struct profiler *p, const struct dec_step *step,
			       const struct known *k)
{
	struct err *err = NULL;

	if (p->jumps_from) {
		struct rank_set way = { .instruction = p->jumps_profile,
					.has = 1u << RANK_DEF };

		way.value[RANK_DEF] = step->insn->rip != p->jumps_from;
		err = rank_ranges_note(p->s, p->run, p->jumps_statement, &way);
		p->jumps_from = 0;
	}
	if (step->insn->flow == DEC_FLOW_JCC) {
		p->jumps_from = step->insn->rip + step->insn->len;
		p->jumps_profile = k->profile;
		p->jumps_statement = k->statement;
	}
	rank_set_make(step, k->profile, &p->set, &p->operands);
	// That it is executed at all is one, too.
	p->set.has |= 1u << (RANK_ROLES - 1);
	return err ?: rank_ranges_note(p->s, p->run, k->statement, &p->set);
}

/* What a branch goes by was compared before it, in the same statement. */
static struct err *keep_set(struct profiler *p, const struct dec_step *step,
			    const struct known *k)
{
	bool is_branch = step->insn->flow == DEC_FLOW_JCC;

	p->set_index = UINT32_MAX;
	if (p->s->o->method == RANK_RANGES)
		return note_ranges(p, step, k);
	if (!p->s->o->at || k->statement != p->s->at)
		return NULL;
	if (is_branch) {
		if (p->compared_at != k->statement)
			return NULL;
		p->set = p->compared;
		p->set.instruction = k->profile;
		p->set.is_branch = true;
		p->operands.n = 0;
	} else {
		rank_set_make(step, k->profile, &p->set, &p->operands);
		p->set.is_failed = p->run->is_failed;
	}
	if (step->insn->writes_flags) {
		p->compared = p->set;
		p->compared.has &= ~(1u << RANK_DEF);
		p->compared.value[RANK_DEF] = 0;
		p->compared_at = k->statement;
	}
	return p->set.has ? rank_set_keep(p->s, &p->set, &p->set_index) : NULL;
}

/* ---- steps ------------------------------------------------------------------------------------ */

static bool begins_stretch(const struct profiler *p, uint64_t position)
{
	size_t n = p->run->begins.size;
	uint64_t length = n ? position - p->run->begins.data[n - 1] : 0;
	bool is_worth_it = p->run->places.size - p->places_before >= RANK_STRETCH_PLACES;

	return !n || p->has_remapped || length >= RANK_STRETCH_MOST ||
	       (length >= RANK_STRETCH && is_worth_it);
}

static struct err *find_stretch(struct profiler *p, uint64_t position, uint32_t *ret)
{
	struct err *err = NULL;

	if (begins_stretch(p, position)) {
		p->places_before = p->run->places.size;
		err = vec_add(&p->run->begins, position);
	}
	p->has_remapped = false;
	*ret = p->run->begins.size - 1;
	return err;
}

static bool is_remapping(uint64_t nr)
{
	// What comes to where nothing was, as of mmap and brk, can be taken back.
	return nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_mremap ||
	       nr == SYS_madvise;
}

static struct err *on_step(void *ctx, const struct dec_step *step)
{
	struct profiler *p = ctx;
	struct known *k;
	struct err *err = NULL;
	uint32_t stretch;

	if (!step->insn)
		return NULL;
	err = find_stretch(p, step->position, &stretch);
	if (err)
		return err;
	k = known_at(p, step->insn);
	if (!k)
		return &err_nomem;
	if (k->statement == NONE) {
		p->pending.statement = NONE;
		return NULL;
	}
	if (k->stretch != stretch) {
		k->stretch = stretch;
		k->count = 0;
	}
	k->count++;
	if (p->pending.statement != NONE) {
		p->pending.rip = step->insn->rip;
		p->pending.nth = k->count;
		p->pending.stretch = stretch;
		err = add_place(p, &p->pending);
		p->pending.statement = NONE;
	}
	if (!err)
		err = mark_executed(p->run, k->statement);
	if (!err)
		err = keep_set(p, step, k);
	return err ?: look_at(p, step, k);
}

static struct err *on_record(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct profiler *p = ctx;
	struct rank_run *run = p->run;
	uint64_t before =
		run->printed.size ? run->printed.data[run->printed.size - 1].bytes : 0;

	if (rec->id == DEC_REC_SYSCALL && is_remapping(rec->value[0]))
		p->has_remapped = true;
	if (rec->id != DEC_REC_SYSCALL || (int64_t)rec->value[1] <= 0 ||
	    rec->value[3] != 1 ||
	    (rec->value[0] != SYS_write && rec->value[0] != SYS_writev))
		return NULL;
	return vec_add(&run->printed,
		       (struct rank_printed){ time, before + rec->value[1] });
}

static struct err *mapped(void *ctx, const struct dec_where *w)
{
	struct profiler *p = ctx;

	return dec_symbols_add(p->symbols, w->map.file, w->map.addr, w->map.size,
			       w->map.file_offset);
}

static struct err *trace(struct profiler *p, const struct capture *c)
{
	struct dec_machine_options mo = { .output_fd = -1, .mapped = mapped, .ctx = p };
	struct dec_trace t = { .step = on_step, .other = on_record, .ctx = p };
	struct dec_where w;
	struct err *err = dec_symbols_create(c, &p->symbols);

	if (!err)
		err = dec_machine_create(c, &mo, &p->machine);
	if (err)
		return err;
	dec_symbols_sources(p->symbols, p->s->o->sources);
	p->exe = capture_info(c)->exe;
	dec_symbols_entries(p->symbols, "main", &p->main, 1);
	err = dec_machine_trace_for(p->machine, UINT64_MAX, &t, &w);
	if (err)
		return err;
	if (w.at == DEC_AT_DIVERGENCE)
		return err_new(ERR_DIVERGED, "%s", dec_machine_divergence(p->machine));
	if (w.is_cut)
		return err_new(ERR_TRUNCATED, "it breaks off before the program's end");
	p->run->length = w.position;
	return NULL;
}

/* What its recording lacks may be what matters: one of them is named. */
static struct err *note_gaps(struct rank_session *s, const struct rank_run *run,
			     const struct capture *c)
{
	const struct cap_info *info = capture_info(c);

	s->n_incomplete += info->n_missing != 0;
	if (!info->n_missing || s->gap)
		return NULL;
	return asprintf(&s->gap, "'%s': %s", run->test->name, info->missing[0]) < 0 ?
		       &err_nomem :
		       NULL;
}

struct err *rank_profile(struct rank_session *s, struct rank_run *run)
{
	struct profiler p = {
		.s = s, .run = run, .pending = { .statement = NONE }, .compared_at = NONE
	};
	struct capture *c = NULL;
	struct err *err = capture_open(run->dir, &c);

	if (!err)
		err = note_gaps(s, run, c);
	if (!err)
		err = trace(&p, c);
	dec_machine_destroy(p.machine);
	dec_symbols_destroy(p.symbols);
	capture_close(c);
	map_deinit(&p.known_of);
	vec_deinit(&p.known);
	if (err)
		return err_prefix(err, "the capture of test '%s'", run->test->name);
	return p.has_too_many ?
		       lines_add(&s->ret->notes,
				 "test '%s' is long: only its first %u values can "
				 "be replaced",
				 run->test->name, PLACES_MAX) :
		       NULL;
}
