// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "base/cleanup.h"
#include "decode/machine/branch.h"
#include "decode/machine/trap.h"
#include "decode/symbols/variable.h"
#include "faultlocate/repair/recorded.h"
#include "faultlocate/repair/way.h"

enum { MOST_ENTRIES = 8, MOST_NODES = 250, MOST_INNER = 250 };
#define MOST_BEHIND 2000000000ul ///< instructions that a patched run may take

/* Registers of parameters, as calls of functions have them. */
static const int parameters[] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, CAP_R8, CAP_R9 };

enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters) };

struct at {
	uint64_t addr;
	int record;
};

struct rp_call {
	uint64_t position;
	uint32_t tid;
};

struct rp_recorded {
	struct capture *capture;
	struct dec_machine *machine;
	struct dec_symbols *symbols;
	VEC(struct dec_where) maps;
	VEC(struct rp_call) calls;
	VEC(struct at) nodes; ///< node number less 1
	struct dec_where end; ///< of the recorded run
	uint64_t position;
	struct cap_regs regs; ///< where the call begins
	uint32_t tid;
	uint64_t at; ///< an instant in it; 0: none
	char *source;
};

/* ---- the call ------------------------------------------------------------------------------------- */

static struct err *mapped(void *ctx, const struct dec_where *w)
{
	struct rp_recorded *r = ctx;

	return vec_add(&r->maps, *w) ? &err_nomem : NULL;
}

static struct err *called(void *ctx, const struct dec_trapped *t)
{
	struct rp_recorded *r = ctx;

	return vec_add(&r->calls, ((struct rp_call){ t->position, t->tid }));
}

static struct err *find_calls(struct rp_recorded *r, const char *function)
{
	uint64_t entries[MOST_ENTRIES];
	size_t n = dec_symbols_methods(r->symbols, function, entries, MOST_ENTRIES);
	struct dec_trap traps[MOST_ENTRIES] = {};
	struct err *err;

	n = n < MOST_ENTRIES ? n : MOST_ENTRIES;
	if (!n)
		return err_new(ERR_NOT_FOUND,
			       "the program has no function '%s' of its own (it may have "
			       "been inlined, or its symbols stripped)",
			       function);
	for (size_t i = 0; i < n; i++)
		traps[i] =
			(struct dec_trap){ .on = DEC_TRAP_EXECUTE, .addr = entries[i] };
	err = dec_machine_forward_each(r->machine, traps, n, UINT64_MAX, called, r);
	return err ? err : dec_machine_run(r->machine, UINT64_MAX, &r->end);
}

static struct err *go_to_call(struct rp_recorded *r, const char *function, uint64_t nth)
{
	struct dec_where w;
	struct err *err;

	if (!r->calls.size || nth > r->calls.size)
		return err_new(ERR_NOT_FOUND, "%s() was called %zu times", function,
			       r->calls.size);
	r->position = r->calls.data[(nth ? nth : r->calls.size) - 1].position;
	r->tid = r->calls.data[(nth ? nth : r->calls.size) - 1].tid;
	err = dec_machine_seek(r->machine, r->position, &w);
	if (!err && w.at == DEC_AT_DIVERGENCE)
		err = err_new(ERR_DIVERGED, "the replay leaves the recorded path: %s",
			      dec_machine_divergence(r->machine));
	return err ? err : dec_machine_regs(r->machine, &r->regs);
}

/* Has the call's frame gone? */
static bool is_left(void *ctx, struct dec_machine *m)
{
	const struct rp_recorded *r = ctx;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs);
	bool is = !err && regs.gpr[CAP_RSP] > r->regs.gpr[CAP_RSP];

	err_destroy(err);
	return is;
}

/* Has the call at which the machine stands returned at @p at? */
static struct err *has_returned(struct rp_recorded *r, uint64_t at, bool *ret)
{
	struct dec_trap trap = {
		.on = DEC_TRAP_EXECUTE, .tid = r->tid, .holds = is_left, .ctx = r
	};
	struct dec_trapped t;
	struct err *err =
		dec_machine_read(r->machine, r->regs.gpr[CAP_RSP], &trap.addr, 8);

	if (!err)
		err = dec_machine_forward(r->machine, &trap, 1, at + 1, &t);
	*ret = err || t.trap != SIZE_MAX;
	return err;
}

/* The innermost call that instant @p at is in. */
static struct err *go_to_call_at(struct rp_recorded *r, const char *function, uint64_t at)
{
	bool is_over = true;
	size_t n = r->calls.size, tried = 0;
	struct err *err = NULL;

	while (n && r->calls.data[n - 1].position > at)
		n--;
	for (; n && is_over && !err && tried < MOST_INNER; n--, tried++) {
		err = go_to_call(r, function, n);
		if (!err)
			err = has_returned(r, at, &is_over);
	}
	if (!err && is_over)
		return err_new(ERR_NOT_FOUND,
			       "%s() is not being executed at position %lu", function,
			       at);
	r->at = at;
	return err ? err : go_to_call(r, function, n + 1);
}

struct err *fl_rp_recorded_open(const char *capture, const char *function, uint64_t nth,
				const uint64_t *at, struct rp_recorded **ret)
{
	_cleanup_(fl_rp_recorded_destroyp) struct rp_recorded *r = calloc(1, sizeof(*r));
	struct dec_machine_options o = { .output_fd = -1, .mapped = mapped, .ctx = r };
	struct err *err = r ? capture_open(capture, &r->capture) : &err_nomem;

	if (!err)
		err = dec_machine_create(r->capture, &o, &r->machine);
	if (!err)
		err = dec_symbols_create(r->capture, &r->symbols);
	if (!err)
		err = find_calls(r, function);
	for (size_t i = 0; !err && i < r->maps.size; i++)
		err = dec_symbols_add(r->symbols, r->maps.data[i].map.file,
				      r->maps.data[i].map.addr, r->maps.data[i].map.size,
				      r->maps.data[i].map.file_offset);
	if (!err)
		err = at ? go_to_call_at(r, function,
					 *at == RP_AT_END ? r->end.position : *at) :
			   go_to_call(r, function, nth);
	if (!err)
		*ret = take_ptr(&r);
	return err;
}

void fl_rp_recorded_destroy(struct rp_recorded *r)
{
	if (!r)
		return;
	dec_machine_destroy(r->machine);
	dec_symbols_destroy(r->symbols);
	capture_close(r->capture);
	vec_deinit(&r->maps);
	vec_deinit(&r->calls);
	vec_deinit(&r->nodes);
	free(r->source);
	free(r);
}

void fl_rp_recorded_destroyp(struct rp_recorded **r)
{
	fl_rp_recorded_destroy(*r);
}

const char *fl_rp_recorded_source(struct rp_recorded *r)
{
	struct dec_place place;

	dec_symbols_place(r->symbols, r->regs.rip, &place);
	if (!place.file)
		return NULL;
	free(r->source);
	if (*place.file == '/' || !place.directory)
		r->source = strdup(place.file);
	else if (asprintf(&r->source, "%s/%s", place.directory, place.file) < 0)
		r->source = NULL;
	return r->source;
}

struct err *fl_rp_recorded_way(struct rp_recorded *r, const struct rp_program *p,
			       rp_lines *ret)
{
	struct dec_place place;
	struct dec_where w;
	struct err *err;

	*ret = (rp_lines){};
	if (!r->at)
		return NULL;
	dec_symbols_place(r->symbols, r->regs.rip, &place);
	if (!place.file)
		return err_new(ERR_NOT_FOUND, "the call has no lines: it was compiled "
					      "without -g");
	err = fl_rp_way(r->machine, r->symbols, p, place.file, r->tid, r->at, ret);
	return err ? err : dec_machine_seek(r->machine, r->position, &w);
}

/* ---- the state -------------------------------------------------------------------------------------- */

static struct err *layout_of(struct rp_recorded *r, const struct rp_record *record,
			     const struct dec_struct **ret)
{
	const char *name = record->name;

	return dec_symbols_struct(r->symbols,
				  strncmp(name, "struct ", 7) ? name : name + 7, ret);
}

/* NULL: it has no bytes of its own. */
static const struct dec_field *field_of(const struct dec_struct *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (!strcmp(s->fields[i].name, name) && !s->fields[i].bit_size &&
		    s->fields[i].size <= 8)
			return &s->fields[i];
	return NULL;
}

/* The node at @p addr: its number. RP_UNKNOWN: there cannot be one. */
static struct err *node_at(struct rp_recorded *r, const struct rp_program *p,
			   struct rp_state *s, uint64_t addr, int record, int64_t *ret)
{
	struct at at = { addr, record };
	size_t n = p->records.data[record].fields.size;
	struct rp_node node = { .record = record };
	char byte;
	struct err *err;

	for (size_t i = 0; i < r->nodes.size; i++)
		if (r->nodes.data[i].addr == addr && r->nodes.data[i].record == record) {
			*ret = (int64_t)i + 1;
			return NULL;
		}
	*ret = RP_UNKNOWN;
	err = dec_machine_read(r->machine, addr, &byte, 1);
	if (err) {
		err_destroy(err);
		return NULL;
	}
	if (r->nodes.size == MOST_NODES)
		return err_new(ERR_UNSUPPORTED,
			       "its variables lead to more than %d nodes, which nobody "
			       "draws",
			       MOST_NODES);
	node.fields = malloc((n + 1) * sizeof(int64_t));
	for (size_t k = 0; node.fields && k < n; k++)
		node.fields[k] = RP_UNKNOWN;
	if (!node.fields || vec_add(&s->nodes, node) || vec_add(&r->nodes, at)) {
		free(node.fields);
		return &err_nomem;
	}
	*ret = (int64_t)r->nodes.size;
	return NULL;
}

/* What @p bytes bytes that read @p raw are, of @p type. */
static struct err *value_of(struct rp_recorded *r, const struct rp_program *p,
			    struct rp_state *s, uint64_t raw, int type, unsigned bytes,
			    bool is_signed, int64_t *ret)
{
	unsigned shift = 64 - 8 * bytes;

	*ret = is_signed ? (int64_t)(raw << shift) >> shift :
			   (int64_t)(raw << shift >> shift);
	if (type == RP_INT || !*ret)
		return NULL;
	return node_at(r, p, s, (uint64_t)*ret, type, ret);
}

static struct err *read_value(struct rp_recorded *r, const struct rp_program *p,
			      struct rp_state *s, uint64_t addr,
			      const struct dec_field *f, int type, int64_t *ret)
{
	uint64_t raw = 0;
	struct err *err = dec_machine_read(r->machine, addr + f->offset, &raw, f->size);

	*ret = RP_UNKNOWN;
	if (err) {
		err_destroy(err); // no memory there: nothing is known
		return NULL;
	}
	return value_of(r, p, s, raw, type, f->size, f->is_signed, ret);
}

static bool has_words(int type)
{
	return type == RP_INT || type >= 0;
}

/* Where global @p name is, and what it looks like. 0: nowhere in memory. */
static uint64_t find_global(struct rp_recorded *r, const char *name,
			    struct dec_variable *ret)
{
	enum dec_var_fate fate;
	const char *others;
	uint64_t addr = 0;
	struct err *err =
		dec_symbols_variable_named(r->symbols, name, NULL, ret, &fate, &others);

	if (!err && fate == DEC_VAR_FOUND && ret->n_sites &&
	    !dec_symbols_unit_address(r->symbols, ret->sites[0].unit, ret->sites[0].addr,
				      &addr))
		addr = 0;
	err_destroy(err);
	return addr;
}

static struct err *read_globals(struct rp_recorded *r, const struct rp_program *p,
				struct rp_state *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < p->variables.size && !err; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		struct dec_variable at;
		uint64_t addr;

		s->globals.data[i] = RP_UNKNOWN;
		if (v->function != RP_NONE || !has_words(v->type))
			continue;
		addr = find_global(r, v->name, &at);
		if (addr && at.layout && at.layout->n_fields)
			err = read_value(r, p, s, addr, &at.layout->fields[0], v->type,
					 &s->globals.data[i]);
	}
	return err;
}

static struct err *read_parameters(struct rp_recorded *r, const struct rp_program *p,
				   int function, struct rp_state *s)
{
	const struct rp_function *fn = &p->functions.data[function];
	struct err *err = NULL;

	if (fn->parameters.size > PARAMETERS)
		return err_new(ERR_UNSUPPORTED, "%s() has more than 6 parameters",
			       fn->name);
	for (size_t i = 0; i < fn->parameters.size && !err; i++) {
		int var = fn->parameters.data[i], type = p->variables.data[var].type;

		err = value_of(r, p, s, r->regs.gpr[parameters[i]], type,
			       type == RP_INT ? 4 : 8, type == RP_INT,
			       &s->frame.data[var]);
	}
	return err;
}

/* Nodes are added while their fields are read. */
static struct err *read_nodes(struct rp_recorded *r, const struct rp_program *p,
			      struct rp_state *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->nodes.size && !err; i++) {
		const struct rp_record *record =
			&p->records.data[s->nodes.data[i].record];
		const struct dec_struct *layout;

		err = layout_of(r, record, &layout);
		for (size_t k = 0; k < record->fields.size && !err; k++) {
			const struct rp_field *f = &record->fields.data[k];
			const struct dec_field *at = field_of(layout, f->name);
			int64_t value = RP_UNKNOWN;

			if (at && has_words(f->type))
				err = read_value(r, p, s, r->nodes.data[i].addr, at,
						 f->type, &value);
			s->nodes.data[i].fields[k] = value;
		}
	}
	return err;
}

struct err *fl_rp_recorded_state(struct rp_recorded *r, const struct rp_program *p,
				 int function, struct rp_state *ret)
{
	struct err *err = fl_rp_state_init(ret, p);

	r->nodes.size = 0;
	if (!err)
		err = read_parameters(r, p, function, ret);
	if (!err)
		err = read_globals(r, p, ret);
	return err ? err : read_nodes(r, p, ret);
}

/* ---- going on ----------------------------------------------------------------------------------------- */

static struct err *set_reg(struct rp_recorded *r, int reg, uint64_t value)
{
	uint8_t bytes[64] = {};
	struct dec_thread t;
	struct err *err = NULL;

	memcpy(bytes, &value, sizeof(value));
	for (size_t i = 0; !err; i++) {
		err = dec_machine_thread(r->machine, i, &t);
		if (!err && t.is_running)
			return dec_machine_set_reg(r->machine, t.tid, reg, bytes);
	}
	return err;
}

/* The program's allocator, not the dynamic linker's own. */
static struct err *find_allocator(struct rp_recorded *r, const char *name, uint64_t *ret)
{
	uint64_t entries[MOST_ENTRIES];
	size_t n = dec_symbols_entries(r->symbols, name, entries, MOST_ENTRIES);

	for (size_t i = 0; i < n && i < MOST_ENTRIES; i++) {
		const char *module = dec_symbols_module(r->symbols, entries[i]);

		*ret = entries[i];
		if (module && !strstr(module, "/ld-"))
			return NULL;
	}
	return err_new(ERR_NOT_FOUND, "the program has no %s()", name);
}

/* Call a function of the program, astray; it returns to where the machine stood. */
static struct err *call(struct rp_recorded *r, const char *name, uint64_t argument,
			uint64_t *ret)
{
	uint64_t entry = 0, rsp = (r->regs.gpr[CAP_RSP] & ~15ul) - 8;
	struct dec_where w = {};
	struct cap_regs regs;
	struct err *err = find_allocator(r, name, &entry);

	if (!err)
		err = dec_machine_write(r->machine, rsp, &r->regs.rip, 8);
	if (!err)
		err = set_reg(r, CAP_RSP, rsp);
	if (!err)
		err = set_reg(r, CAP_RDI, argument);
	if (!err)
		err = set_reg(r, DEC_REG_RIP, entry);
	if (!err)
		err = dec_machine_break(r->machine, r->regs.rip, true);
	if (!err)
		err = dec_machine_run(r->machine, r->position + MOST_BEHIND, &w);
	if (!err && w.at != DEC_AT_BREAK)
		err = err_new(ERR_DIVERGED, "%s() does not return", name);
	if (!err)
		err = dec_machine_break(r->machine, r->regs.rip, false);
	if (!err)
		err = dec_machine_regs(r->machine, &regs);
	if (!err)
		*ret = regs.gpr[CAP_RAX];
	return err;
}

static uint64_t address_of(const struct rp_recorded *r, int64_t value, int type)
{
	return type == RP_INT || value < 1 ? (uint64_t)value :
					     r->nodes.data[value - 1].addr;
}

static struct err *make_nodes(struct rp_recorded *r, const struct rp_program *p,
			      const struct rp_state *after)
{
	struct err *err = NULL;

	for (size_t i = r->nodes.size; i < after->nodes.size && !err; i++) {
		struct at at = { 0, after->nodes.data[i].record };
		const struct dec_struct *layout;

		err = layout_of(r, &p->records.data[at.record], &layout);
		if (!err)
			err = call(r, "malloc", layout->size, &at.addr);
		if (!err && vec_add(&r->nodes, at))
			err = &err_nomem;
	}
	return err;
}

static struct err *write_field(struct rp_recorded *r, uint64_t addr,
			       const struct dec_field *f, int64_t value, int type)
{
	uint64_t raw = address_of(r, value, type), is = 0;

	if (value == RP_UNKNOWN)
		return NULL;
	err_destroy(dec_machine_read(r->machine, addr + f->offset, &is, f->size));
	if (!memcmp(&is, &raw, f->size))
		return NULL; // it may be where nobody writes
	return dec_machine_write(r->machine, addr + f->offset, &raw, f->size);
}

static struct err *write_nodes(struct rp_recorded *r, const struct rp_program *p,
			       const struct rp_state *after)
{
	struct err *err = NULL;
	uint64_t ignored;

	for (size_t i = 0; i < after->nodes.size && !err; i++) {
		const struct rp_node *n = &after->nodes.data[i];
		const struct rp_record *record = &p->records.data[n->record];
		const struct dec_struct *layout;

		err = layout_of(r, record, &layout);
		for (size_t k = 0; k < record->fields.size && !err; k++) {
			const struct rp_field *f = &record->fields.data[k];
			const struct dec_field *at = field_of(layout, f->name);

			if (at && has_words(f->type))
				err = write_field(r, r->nodes.data[i].addr, at,
						  n->fields[k], f->type);
		}
		if (!err && n->is_freed)
			err = call(r, "free", r->nodes.data[i].addr, &ignored);
	}
	return err;
}

static struct err *write_globals(struct rp_recorded *r, const struct rp_program *p,
				 const struct rp_state *after)
{
	struct err *err = NULL;

	for (size_t i = 0; i < p->variables.size && !err; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		struct dec_variable at;
		uint64_t addr;

		if (v->function != RP_NONE || !has_words(v->type))
			continue;
		addr = find_global(r, v->name, &at);
		if (addr && at.layout && at.layout->n_fields)
			err = write_field(r, addr, &at.layout->fields[0],
					  after->globals.data[i], v->type);
	}
	return err;
}

/* As its return would leave it. */
static struct err *leave_call(struct rp_recorded *r, const struct rp_program *p,
			      int function, const struct rp_state *after)
{
	const struct rp_function *fn = &p->functions.data[function];
	uint64_t rsp = r->regs.gpr[CAP_RSP], rip, result = 0;
	struct err *err = dec_machine_read(r->machine, rsp, &rip, 8);

	if (fn->result != RP_NONE)
		result = address_of(r, after->frame.data[fn->result], fn->result_type);
	if (!err)
		err = set_reg(r, CAP_RSP, rsp + 8);
	if (!err)
		err = set_reg(r, CAP_RAX, result);
	return err ? err : set_reg(r, DEC_REG_RIP, rip);
}

static void tell_end(const struct rp_recorded *r, const struct dec_outcome *o, FILE *out)
{
	const char *recorded = r->end.end == CAP_END_EXIT   ? "exits with" :
			       r->end.end == CAP_END_SIGNAL ? "ends by signal" :
							      "ends, code";

	switch (o->fate) {
	case DEC_FATE_EXIT:
		fprintf(out, "with the patch the program exits with %d", o->value);
		break;
	case DEC_FATE_SIGNAL:
		fprintf(out, "with the patch signal %d kills the program", o->value);
		break;
	case DEC_FATE_LIMIT:
		fputs("with the patch the program runs on and on", out);
		break;
	default:
		fprintf(out,
			"with the patch the program's run ends where nothing is known%s%s",
			o->text[0] ? ": " : "", o->text);
	}
	fprintf(out, "; recorded, it %s %d\n", recorded, r->end.end_value);
}

struct err *fl_rp_recorded_go_on(struct rp_recorded *r, const struct rp_program *p,
				 int function, const struct rp_state *after, FILE *out)
{
	size_t known = r->nodes.size;
	struct dec_outcome o = {};
	struct dec_where w;
	struct err *err = dec_machine_stray(r->machine), *back;

	if (err)
		return err;
	err = make_nodes(r, p, after);
	if (!err)
		err = write_nodes(r, p, after);
	if (!err)
		err = write_globals(r, p, after);
	if (!err)
		err = leave_call(r, p, function, after);
	if (!err)
		err = dec_machine_run(r->machine, r->position + MOST_BEHIND, &w);
	if (!err)
		err = dec_machine_outcome(r->machine, &o);
	if (!err && w.at != DEC_AT_END)
		o.fate = DEC_FATE_LIMIT;
	back = dec_machine_return(r->machine, r->position, &w);
	r->nodes.size = known;
	if (!err)
		tell_end(r, &o, out);
	if (!err)
		return back;
	err_destroy(back);
	return err;
}
