// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/question.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "decode/machine/log.h"
#include "decode/machine/trace.h"
#include "decode/symbols/frame.h"
#include "decode/symbols/variable.h"
#include "faultlocate/slice/trace.h"

#define ADDRESSES 64
#define STATEMENT 100000 // steps that a statement may take, with what it calls

struct question {
	struct fl_trace *trace;
	struct dec_symbols *symbols;
	const char *const *vars;
	size_t n_vars;
	unsigned slice;
	fl_seeds *seeds;
	struct fl_question *told;
	const char *at;
};

static struct err *add_seed(struct question *q, struct fl_seed seed)
{
	seed.slice = q->slice;
	return vec_add(q->seeds, seed);
}

/* ---- when was it there? ---------------------------------------------------------------------- */

/** Looking for the time that one of some addresses was reached. */
struct search {
	struct log_reader reader;
	const uint64_t *address;
	size_t n;
	uint64_t wanted; ///< the how manyth time; 0: the last
	uint64_t seen, position;
	uint32_t tid, found_tid;
};

/** Which instructions of a block are at the addresses. */
struct places {
	uint32_t bits;
};

static struct places *places_in(const struct search *f, struct log_block *b)
{
	struct places *p = b->user;

	if (p)
		return p;
	p = b->user = calloc(1, sizeof(*p));
	for (uint32_t i = 0; p && i < b->n_insns; i++)
		for (size_t k = 0; k < f->n; k++)
			p->bits |= (uint32_t)(b->insn[i].rip == f->address[k]) << i;
	return p;
}

static void meet(struct search *f, uint64_t position)
{
	f->seen++;
	if (f->wanted && f->seen != f->wanted)
		return;
	f->position = position;
	f->found_tid = f->tid;
}

static struct err *search_block(void *ctx, struct log_block *b, const uint8_t *rec,
				uint32_t n_ran, uint64_t time)
{
	struct search *f = ctx;
	const struct places *p = places_in(f, b);

	(void)rec;
	if (!p)
		return &err_nomem;
	for (uint32_t left = p->bits; left; left &= left - 1)
		if ((uint32_t)__builtin_ctz(left) < n_ran)
			meet(f, time + __builtin_ctz(left));
	return NULL;
}

static struct err *search_insn(void *ctx, const struct dec_rec_slow *rec,
			       const struct dec_insn *insn, uint64_t time)
{
	struct search *f = ctx;

	(void)insn;
	for (size_t k = 0; k < f->n; k++)
		if (rec->rip == f->address[k])
			meet(f, time);
	return NULL;
}

static struct err *search_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct search *f = ctx;

	(void)time;
	if (rec->id == DEC_REC_THREAD)
		f->tid = rec->value[0];
	return NULL;
}

static struct err *search_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, search_block, search_insn, search_other };
	struct search *f = ctx;

	return dec_log_reader_feed(&f->reader, &sink, log, bytes);
}

/* Have blocks begin, and be told of, where is searched; or no longer. */
static struct err *watch(const struct search *f, struct dec_machine *m, bool is_on)
{
	struct err *err = NULL;

	for (size_t i = 0; i < f->n && !err; i++)
		err = dec_machine_log_regs_at(m, f->address[i], is_on);
	return err;
}

/* Find when one of the @p n addresses was reached, the @p wanted-th time (0: last). */
static struct err *find_time(struct question *q, const uint64_t *address, size_t n,
			     uint64_t wanted)
{
	struct dec_machine *m = q->trace->machine;
	struct search f = { .address = address, .n = n, .wanted = wanted };
	struct dec_where w;
	struct err *err = dec_machine_seek(m, 0, &w), *off;

	dec_log_reader_init(&f.reader, DEC_LOG_JUMPS, 0);
	f.tid = w.tid;
	if (!err)
		err = watch(&f, m, true);
	if (!err)
		err = dec_machine_run_logged(m, DEC_LOG_JUMPS, search_feed, &f,
					     q->trace->end.position, &w);
	off = watch(&f, m, false);
	dec_log_reader_deinit(&f.reader);
	if (err) {
		err_destroy(off);
		return err;
	}
	if (off)
		return off;
	if (!f.seen)
		return err_new(ERR_NOT_FOUND, "%s was never executed", q->at);
	if (wanted > f.seen)
		return err_new(ERR_NOT_FOUND, "%s was executed %lu time%s, not %lu",
			       q->at, f.seen, f.seen == 1 ? "" : "s", wanted);
	q->told->position = f.position;
	q->told->tid = f.found_tid;
	q->told->instance = wanted ?: f.seen;
	q->told->instances = f.seen;
	return NULL;
}

/* ---- what is asked about ------------------------------------------------------------------------ */

static int register_named(const char *name)
{
	name += *name == '%' || *name == '$';
	for (int r = 0; r < DEC_GPRS; r++)
		if (!strcmp(name, dec_reg_gpr_name(r)))
			return r;
	for (int r = DEC_REG_VEC; r <= DEC_REG_FLAGS; r++) {
		char text[DEC_REG_NAME];

		if (!strcmp(name, dec_reg_name(r, text)))
			return r;
	}
	return -1;
}

/* A variable that is no program's: a register, or `*ADDRESS,BYTES`. @return whether it is one. */
static bool add_plain(struct question *q, const char *var, struct err **err)
{
	uint64_t at = q->told->position, size = 8;
	int reg = register_named(var);
	char *end;

	if (reg >= 0) {
		*err = add_seed(q, (struct fl_seed){ .kind = FL_SEED_REG,
						     .position = at,
						     .reg = reg,
						     .bytes = ~UINT64_C(0) });
		return true;
	}
	if (*var != '*' || !isdigit((unsigned char)var[1]))
		return false;
	reg = 0;
	at = strtoul(var + 1, &end, 0);
	if (*end == ',')
		size = strtoul(end + 1, &end, 0);
	if (*end || !size)
		*err = err_new(ERR_USAGE, "'%s' is no memory: *ADDRESS or *ADDRESS,BYTES",
			       var);
	else
		*err = add_seed(q, (struct fl_seed){ .kind = FL_SEED_MEM,
						     .position = q->told->position,
						     .addr = at,
						     .size = size });
	return true;
}

/* ---- a statement's instructions ---------------------------------------------------------------- */

/** The statement, as it is executed. */
struct statement {
	struct question *q;
	struct dec_place place;
	int depth;		///< of calls that it makes
	uint64_t gpr[CAP_GPRS]; ///< before the step at hand
	bool has_gpr;
	uint64_t found;	   ///< bit n: vars[n] was there
	VEC(char *) names; ///< that were
};

static struct err statement_ends = { .code = ERR_INTERRUPTED };

static bool is_same(const struct dec_place *a, const struct dec_place *b)
{
	return a->line == b->line && a->file && b->file && !strcmp(a->file, b->file);
}

static bool cannot_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

/* Is variable @p name the one that is asked for as @p var, or a part of it? */
static bool is_part(const char *name, const char *var)
{
	size_t n = strlen(var);

	return !strncmp(name, var, n) && (!name[n] || strchr(".[-", name[n]));
}

static struct err *note_name(struct statement *st, const char *name)
{
	char *copy;

	for (size_t i = 0; i < st->names.size; i++)
		if (!strcmp(st->names.data[i], name))
			return NULL;
	copy = strdup(name);
	return copy ? vec_add(&st->names, copy) : &err_nomem;
}

static struct err *look_at(struct statement *st, const struct dec_step *step,
			   const struct dec_ref *ref)
{
	struct dec_frame frame = { .rip = step->insn->rip, .read = cannot_read };
	struct dec_spot spot = { .is_mem = ref->is_mem,
				 .reg = ref->reg,
				 .addr = ref->addr };
	char name[DEC_NAME_BYTES];
	struct dec_type type;
	struct err *err = NULL;

	if (!ref->is_mem && ref->reg >= CAP_GPRS)
		return NULL;
	memcpy(frame.gpr, st->gpr, sizeof(frame.gpr));
	if (!dec_symbols_variable(st->q->symbols, &frame, &spot, name, &type))
		return NULL;
	for (size_t i = 0; i < st->q->n_vars && !err; i++) {
		struct fl_seed seed = { .kind = ref->is_def ? FL_SEED_INSN :
						ref->is_mem ? FL_SEED_MEM :
							      FL_SEED_REG,
					.position = step->position,
					.reg = ref->reg,
					.bytes = 0xff,
					.addr = ref->addr,
					.size = ref->size };

		if (!is_part(name, st->q->vars[i]))
			continue;
		st->found |= UINT64_C(1) << (i & 63);
		err = add_seed(st->q, seed);
	}
	return err ?: note_name(st, name);
}

static struct err *statement_step(void *ctx, const struct dec_step *step)
{
	struct statement *st = ctx;
	bool is_mine = step->insn && step->tid == st->q->told->tid;
	struct dec_place place;
	struct err *err = NULL;

	if (!is_mine)
		return NULL;
	if (!st->depth) {
		dec_symbols_place(st->q->symbols, step->insn->rip, &place);
		if (st->place.line ? !is_same(&place, &st->place) :
				     step->position > st->q->told->position)
			return &statement_ends;
		if (!st->q->n_vars)
			err = add_seed(st->q,
				       (struct fl_seed){ .kind = FL_SEED_INSN,
							 .position = step->position });
		for (size_t i = 0; i < step->n_refs && st->q->n_vars && !err; i++)
			err = look_at(st, step, &step->refs[i]);
	}
	if (step->insn->flow == DEC_FLOW_CALL || step->insn->flow == DEC_FLOW_CALL_IND)
		st->depth++;
	else if (step->insn->flow == DEC_FLOW_RET && --st->depth < 0)
		return err ?: &statement_ends;
	if (step->gpr)
		memcpy(st->gpr, step->gpr, sizeof(st->gpr));
	return err;
}

/* Variables that the statement has nothing to do with: say which it has. */
static struct err *check_found(const struct statement *st, uint64_t plain)
{
	char text[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < st->names.size && n < sizeof(text) - DEC_NAME_BYTES; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
			      text_line(st->names.data[i]));
	for (size_t i = 0; i < st->q->n_vars && i < 64; i++)
		if (!((st->found | plain) >> i & 1))
			return err_new(ERR_NOT_FOUND, "%s does not use '%s'%s%s",
				       st->q->at, text_line(st->q->vars[i]),
				       *text ? ": it uses " : "", text);
	return NULL;
}

/* Take the statement that begins at the instance found. */
static struct err *take_statement(struct question *q)
{
	struct statement st = { .q = q };
	uint64_t end = q->told->position + STATEMENT, plain = 0;
	struct dec_machine *m = q->trace->machine;
	struct cap_regs regs;
	struct dec_where w;
	struct err *err = dec_machine_seek(m, q->told->position, &w);

	if (!err)
		err = dec_machine_regs(m, &regs);
	if (err)
		return err;
	memcpy(st.gpr, regs.gpr, sizeof(st.gpr));
	q->told->rip = w.rip;
	q->told->tid = w.tid;
	dec_symbols_place(q->symbols, w.rip, &st.place);
	for (size_t i = 0; i < q->n_vars && i < 64 && !err; i++)
		if (add_plain(q, q->vars[i], &err))
			plain |= UINT64_C(1) << i;
	end = end < q->trace->end.position ? end : q->trace->end.position;
	if (!err)
		err = dec_machine_trace(m, end, statement_step, &st, &w);
	if (err == &statement_ends)
		err = NULL;
	if (!err)
		err = check_found(&st, plain);
	for (size_t i = 0; i < st.names.size; i++)
		free(st.names.data[i]);
	vec_deinit(&st.names);
	return err;
}

/* ---- the crash ----------------------------------------------------------------------------------- */

static bool is_fault(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL ||
	       signo == SIGFPE || signo == SIGTRAP;
}

/* The instruction that faulted did not run: what it would have used. */
static struct err *take_fault(struct question *q, const struct dec_insn *insn)
{
	struct effect *e = fl_effect_of(insn);
	struct err *err = e ? NULL : &err_nomem;

	for (int i = 0; e && i < e->n_uses && !err; i++)
		if (!e->use[i].is_mem)
			err = add_seed(q, (struct fl_seed){ .kind = FL_SEED_REG,
							    .position = q->told->position,
							    .reg = e->use[i].reg,
							    .bytes = e->use[i].bytes });
	free(e);
	// And why it was reached.
	return err   ?:
		       add_seed(q, (struct fl_seed){ .kind = FL_SEED_FLOW,
						     .position = q->told->position - 1 });
}

static struct err *take_crash(struct question *q)
{
	const struct dec_where *end = &q->trace->end;
	struct dec_insn insn;

	if (end->at == DEC_AT_DIVERGENCE)
		return err_new(ERR_DIVERGED,
			       "the replay leaves the recorded path before the program's "
			       "end: `faultline replay --explain' says why");
	if (end->is_cut)
		return err_new(ERR_TRUNCATED, "the capture breaks off before the end: %s",
			       text_line(dec_machine_divergence(q->trace->machine)));
	if (end->at != DEC_AT_END || end->end != CAP_END_SIGNAL || !end->position)
		return err_new(ERR_USAGE,
			       "no signal ended the program: there is no crash to "
			       "make a slice of; give --at FILE:LINE");
	*q->told = (struct fl_question){ .position = end->position,
					 .rip = end->rip,
					 .tid = end->tid };
	if (q->n_vars)
		return err_new(ERR_USAGE, "--at crash takes no variables");
	if (is_fault(end->end_value) && fl_trace_decode(q->trace, end->rip, &insn))
		return take_fault(q, &insn);
	// Where no code is, and where a call ended the program, the last one is to blame.
	q->told->position--;
	return add_seed(q, (struct fl_seed){ .kind = FL_SEED_INSN,
					     .position = end->position - 1 });
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == 0;
}

uint64_t fl_question_position(const char *at)
{
	return is_number(at) ? strtoul(at, NULL, 10) : 0;
}

static struct err *no_line(struct question *q, const char *file, int line)
{
	int before, after;

	if (!dec_symbols_near_lines(q->symbols, file, line, &before, &after))
		return err_new(ERR_NOT_FOUND,
			       "no source file '%s' in the program's line information",
			       text_line(file));
	return err_new(ERR_NOT_FOUND,
		       "%s:%d has no statement; the nearest are in line %d",
		       text_line(file), line, before ?: after);
}

/* The addresses that @p what, which is changed, means. */
static struct err *find_addresses(struct question *q, char *what, uint64_t *address,
				  size_t *n)
{
	char *colon = strrchr(what, ':');

	if (colon && colon != what && is_number(colon + 1)) {
		*colon = 0;
		*n = dec_symbols_line_addrs(q->symbols, what, atoi(colon + 1), address,
					    ADDRESSES);
		if (!*n)
			return no_line(q, what, atoi(colon + 1));
	} else {
		*n = dec_symbols_methods(q->symbols, what, address, ADDRESSES);
		if (!*n)
			return err_new(ERR_NOT_FOUND, "no function '%s'",
				       text_line(what));
	}
	*n = *n < ADDRESSES ? *n : ADDRESSES;
	return NULL;
}

struct err *fl_question_ask(struct fl_trace *t, struct dec_symbols *symbols,
			    const char *at, const char *const *vars, size_t n_vars,
			    unsigned slice, fl_seeds *seeds, struct fl_question *ret)
{
	struct question q = { t, symbols, vars, n_vars, slice, seeds, ret, at };
	_cleanup_free_ char *what = strdup(at);
	char *hash = what ? strchr(what, '#') : NULL;
	uint64_t address[ADDRESSES], wanted = 0;
	struct dec_where w;
	struct err *err;
	size_t n;

	*ret = (struct fl_question){};
	if (!what)
		return &err_nomem;
	if (!strcmp(at, "crash"))
		return take_crash(&q);
	if (is_number(at)) {
		ret->position = strtoul(at, NULL, 10);
		if (ret->position >= t->end.position)
			return err_new(ERR_USAGE,
				       "position %lu is behind the end of the run, which "
				       "is at %lu",
				       ret->position, t->end.position);
		if (n_vars)
			return take_statement(&q);
		err = dec_machine_seek(t->machine, ret->position, &w);
		if (err)
			return err;
		ret->tid = w.tid;
		ret->rip = w.rip;
		return add_seed(&q, (struct fl_seed){ .kind = FL_SEED_INSN,
						      .position = ret->position });
	}
	if (hash && is_number(hash + 1)) {
		wanted = strtoul(hash + 1, NULL, 10);
		*hash = 0;
	}
	err = find_addresses(&q, what, address, &n);
	if (!err)
		err = find_time(&q, address, n, wanted);
	return err ?: take_statement(&q);
}

/* ---- what is left out -------------------------------------------------------------------------------- */

/* Code that follows @p entry and has the same symbol. */
static uint64_t end_of(struct dec_symbols *symbols, uint64_t entry)
{
	struct dec_place first, place;
	uint64_t at = entry + 1;

	dec_symbols_place_bare(symbols, entry, &first);
	while (at - entry < 1u << 20) {
		dec_symbols_place_bare(symbols, at, &place);
		if (!place.outer || !first.outer || strcmp(place.outer, first.outer) ||
		    place.offset != at - entry + first.offset)
			break;
		at++;
	}
	return at;
}

static struct err *prune_functions(struct dec_symbols *symbols, const uint64_t *entry,
				   size_t n, fl_prunes *prunes)
{
	struct err *err = NULL;

	for (size_t i = 0; i < n && i < ADDRESSES && !err; i++)
		err = vec_add(prunes, (struct fl_prune){ FL_PRUNE_CODE, entry[i],
							 end_of(symbols, entry[i]) });
	return err;
}

static struct err *prune_variable(struct dec_symbols *symbols, const char *name,
				  fl_prunes *prunes)
{
	enum dec_var_fate fate;
	struct dec_variable var;
	const char *others;
	uint64_t addr;
	struct err *err =
		dec_symbols_variable_named(symbols, name, NULL, &var, &fate, &others);

	if (err)
		return err;
	if (fate != DEC_VAR_FOUND || var.is_local || var.is_per_thread || !var.n_sites ||
	    !dec_symbols_unit_address(symbols, var.sites[0].unit, var.sites[0].addr,
				      &addr))
		return err_new(
			ERR_USAGE,
			"nothing to prune is called '%s': no register, function or "
			"global variable",
			text_line(name));
	return vec_add(prunes, (struct fl_prune){ FL_PRUNE_MEM, addr, addr + var.size });
}

struct err *fl_question_prune(struct dec_symbols *symbols, const char *what,
			      fl_prunes *prunes)
{
	int reg = register_named(what);
	uint64_t entry[ADDRESSES], from, to;
	size_t n;
	char *end;

	if (reg >= 0)
		return vec_add(prunes,
			       (struct fl_prune){ .kind = FL_PRUNE_REG, .from = reg });
	if (*what == '@' && is_number(what + 1)) {
		from = strtoul(what + 1, NULL, 10);
		return vec_add(prunes, (struct fl_prune){ FL_PRUNE_AT, from, from + 1 });
	}
	from = isdigit((unsigned char)*what) ? strtoul(what, &end, 0) : 0;
	if (from && end[0] == '.' && end[1] == '.') {
		to = strtoul(end + 2, &end, 0);
		if (!*end && to > from)
			return vec_add(prunes,
				       (struct fl_prune){ FL_PRUNE_MEM, from, to });
	}
	n = dec_symbols_methods(symbols, what, entry, ADDRESSES);
	return n ? prune_functions(symbols, entry, n, prunes) :
		   prune_variable(symbols, what, prunes);
}

static bool is_linker(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	return slash && (!strncmp(slash, "/ld-", 4) || !strncmp(slash, "/ld.so", 6));
}

struct err *fl_question_cut_linker(struct fl_trace *t, struct dec_symbols *symbols,
				   fl_prunes *prunes)
{
	struct err *err = NULL;

	for (size_t i = 0; i < t->modules.size && !err; i++) {
		const struct dec_range *m = &t->modules.data[i];

		if (is_linker(dec_symbols_module(symbols, m->start)))
			err = vec_add(prunes, (struct fl_prune){ FL_PRUNE_STORES,
								 m->start, m->end });
	}
	return err;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* @return how many of three numbers follow @p word's first two bytes, with colons between. */
static int word_numbers(const char *word, uint64_t n[3])
{
	char end;

	for (int i = 3; i; i--) {
		int got = i == 3 ? sscanf(word + 2, "%li:%li:%li%c", &n[0], &n[1], &n[2],
					  &end) :
			  i == 2 ? sscanf(word + 2, "%li:%li%c", &n[0], &n[1], &end) :
				   sscanf(word + 2, "%li%c", &n[0], &end);

		if (got == i)
			return i;
	}
	return 0;
}

/* r:POSITION:NAME:BYTES */
static struct err *word_register(const char *word, fl_seeds *seeds)
{
	struct fl_seed seed = { .kind = FL_SEED_REG };
	uint64_t bytes;
	char name[16];
	int reg = -1;

	if (sscanf(word + 2, "%lu:%15[a-z0-9]:%lu", &seed.position, name, &bytes) == 3 &&
	    bytes && bytes <= 64)
		reg = register_named(name);
	if (reg < 0)
		return err_new(ERR_USAGE, "'%s' is no register at a position", word);
	seed.reg = reg;
	seed.bytes = ~UINT64_C(0) >> (64 - bytes);
	return vec_add(seeds, seed);
}

static struct err *word_prune(const char *word, fl_prunes *prunes)
{
	static const char kinds[] = { [FL_PRUNE_REG] = 'R',
				      [FL_PRUNE_MEM] = 'M',
				      [FL_PRUNE_STORES] = 'S',
				      [FL_PRUNE_CODE] = 'C' };
	struct fl_prune p = {};
	uint64_t n[3];

	while (p.kind < sizeof(kinds) && kinds[p.kind] != *word)
		p.kind++;
	if (p.kind == FL_PRUNE_REG && word[1] == ':' && register_named(word + 2) >= 0) {
		p.from = register_named(word + 2);
		return vec_add(prunes, p);
	}
	if (p.kind == FL_PRUNE_REG || p.kind == sizeof(kinds) ||
	    word_numbers(word, n) != 2 || n[0] >= n[1])
		return err_new(ERR_USAGE, "'%s' is nothing to ask of a slice", word);
	p.from = n[0];
	p.to = n[1];
	return vec_add(prunes, p);
}

static struct err *take_word(struct fl_trace *t, const char *word, fl_seeds *seeds,
			     fl_prunes *prunes, uint64_t *begin)
{
	uint64_t n[3];
	int got = word[0] && word[1] == ':' ? word_numbers(word, n) : 0;

	if (!strcmp(word, "crash"))
		return fl_question_ask(t, NULL, word, NULL, 0, 0, seeds,
				       &(struct fl_question){});
	if (word[0] && word[1] == ':' && *word == 'r')
		return word_register(word, seeds);
	if (*word == 'i' && got == 1)
		return vec_add(seeds, (struct fl_seed){ .kind = FL_SEED_INSN,
							.position = n[0] });
	if (*word == 'm' && got == 3 && n[2] && n[2] <= 1u << 20 && n[1] + n[2] > n[1])
		return vec_add(seeds, (struct fl_seed){ .kind = FL_SEED_MEM,
							.position = n[0],
							.addr = n[1],
							.size = n[2] });
	if (*word == 'b' && got == 1) {
		*begin = n[0];
		return NULL;
	}
	return word_prune(word, prunes);
}

struct err *fl_question_words(struct fl_trace *t, const char *words, fl_seeds *seeds,
			      fl_prunes *prunes, uint64_t *begin)
{
	_cleanup_free_ char *copy = strdup(words);
	struct err *err = copy ? NULL : &err_nomem;
	char *rest = copy, *word;

	while (!err && (word = strsep(&rest, " ")))
		if (*word)
			err = take_word(t, word, seeds, prunes, begin);
	return err;
}
