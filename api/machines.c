// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "api/api.h"

#include <string.h>

#include "decode/machine/machine.h"
#include "decode/machine/trap.h"
#include "decode/symbols/symbols.h"
#include "decode/symbols/variable.h"

struct flt_machine {
	struct dec_machine *machine;
	struct dec_symbols *symbols;
};

/* ---- life ----------------------------------------------------------------------------------- */

static struct err *mapped(void *ctx, const struct dec_where *w)
{
	struct flt_machine *m = ctx;

	return dec_symbols_add(m->symbols, w->map.file, w->map.addr, w->map.size,
			       w->map.file_offset);
}

static struct err *start(const struct capture *c, struct flt_machine *m)
{
	const struct dec_machine_options o = { .output_fd = -1,
					       .mapped = mapped,
					       .ctx = m };
	struct err *err = api_program();

	if (!err)
		err = dec_symbols_create(c, &m->symbols);
	return err ?: dec_machine_create(c, &o, &m->machine);
}

enum flt_status flt_machine_start(struct flt_capture *c, struct flt_machine **ret)
{
	struct flt_machine *m = calloc(1, sizeof(*m));
	struct err *err = m ? start(c->capture, m) : &err_nomem;

	if (err)
		flt_machine_stop(m);
	else
		*ret = m;
	return api_status(err);
}

void flt_machine_stop(struct flt_machine *m)
{
	if (!m)
		return;
	dec_machine_destroy(m->machine);
	dec_symbols_destroy(m->symbols);
	free(m);
}

/* ---- moving --------------------------------------------------------------------------------- */

static struct err *diverged(struct flt_machine *m, const struct dec_where *w)
{
	if (w->at != DEC_AT_DIVERGENCE)
		return NULL;
	return err_new(ERR_DIVERGED, "the replay left the recorded path: %s",
		       dec_machine_divergence(m->machine));
}

static void tell_stop(const struct dec_where *w, const struct dec_trapped *t, void *ret,
		      size_t ret_bytes)
{
	struct flt_stop stop = {
		.position = w->position,
		.instructions = w->instructions,
		.rip = w->rip,
		// The machine's 0 is the first event, or none.
		.event = w->seq || w->at_ns ? w->seq : UINT64_MAX,
		.at_ns = w->at_ns,
		.tid = w->tid,
		.is_end = w->at == DEC_AT_END,
		.trap = UINT32_MAX,
	};

	if (t && t->trap != SIZE_MAX) {
		stop.trap = t->trap;
		stop.on = t->on;
		stop.addr = t->addr;
		stop.size = t->size;
		stop.number = t->number;
		stop.is_by_kernel = t->is_by_kernel;
	}
	api_tell(ret, ret_bytes, &stop, sizeof(stop));
}

enum flt_status flt_machine_seek(struct flt_machine *m, uint64_t position,
				 struct flt_stop *ret, size_t ret_bytes)
{
	struct dec_where w;
	struct err *err = dec_machine_seek(m->machine, position, &w);

	if (!err)
		err = diverged(m, &w);
	if (!err)
		tell_stop(&w, NULL, ret, ret_bytes);
	return api_status(err);
}

typedef VEC(struct dec_trap) trap_list;

static struct err *take_traps(const struct flt_trap *traps, size_t n, trap_list *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(ret, (struct dec_trap){ .on = traps[i].on,
						      .addr = traps[i].addr,
						      .size = traps[i].size,
						      .number = traps[i].number,
						      .tid = traps[i].tid });
	return err;
}

static enum flt_status go(struct flt_machine *m, bool is_back, uint64_t limit,
			  const struct flt_trap *traps, size_t n, struct flt_stop *ret,
			  size_t ret_bytes)
{
	trap_list list = {};
	struct dec_trapped t;
	struct err *err = take_traps(traps, n, &list);

	if (!err)
		err = is_back ? dec_machine_back(m->machine, list.data, n, limit, &t) :
				dec_machine_forward(m->machine, list.data, n, limit, &t);
	vec_deinit(&list);
	if (!err)
		err = diverged(m, &t.where);
	if (!err)
		tell_stop(&t.where, &t, ret, ret_bytes);
	return api_status(err);
}

enum flt_status flt_machine_run(struct flt_machine *m, uint64_t until,
				const struct flt_trap *traps, size_t n,
				struct flt_stop *ret, size_t ret_bytes)
{
	return go(m, false, until, traps, n, ret, ret_bytes);
}

enum flt_status flt_machine_back(struct flt_machine *m, uint64_t since,
				 const struct flt_trap *traps, size_t n,
				 struct flt_stop *ret, size_t ret_bytes)
{
	return go(m, true, since, traps, n, ret, ret_bytes);
}

/* ---- looking -------------------------------------------------------------------------------- */

static struct err *find_thread(struct flt_machine *m, uint32_t tid,
			       struct dec_thread *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; !err; i++) {
		err = dec_machine_thread(m->machine, i, ret);
		if (!err && ret->tid == tid)
			return NULL;
	}
	err_destroy(err);
	return err_new(ERR_RANGE, "there is no thread %u at this position", tid);
}

enum flt_status flt_machine_regs(struct flt_machine *m, uint32_t tid,
				 struct flt_regs *ret, size_t ret_bytes)
{
	struct dec_thread thread;
	struct flt_regs regs;
	struct err *err = tid ? find_thread(m, tid, &thread) :
				dec_machine_regs(m->machine, &thread.regs);

	if (err)
		return api_status(err);
	api_regs(&regs, &thread.regs);
	api_tell(ret, ret_bytes, &regs, sizeof(regs));
	return FLT_OK;
}

enum flt_status flt_machine_read(struct flt_machine *m, uint64_t addr, void *buf,
				 size_t size)
{
	return api_status(dec_machine_read(m->machine, addr, buf, size));
}

/* ERR_RANGE is the end of a list. */
static enum flt_status listed(struct err *err)
{
	if (!err || err->code != ERR_RANGE)
		return api_status(err);
	err_destroy(err);
	return FLT_END;
}

enum flt_status flt_machine_thread(struct flt_machine *m, size_t i,
				   struct flt_thread *ret, size_t ret_bytes)
{
	struct dec_thread t;
	struct flt_thread thread;
	struct err *err = dec_machine_thread(m->machine, i, &t);

	if (err)
		return listed(err);
	thread = (struct flt_thread){ .tid = t.tid, .is_running = t.is_running };
	memcpy(thread.name, t.name, sizeof(thread.name));
	api_tell(ret, ret_bytes, &thread, sizeof(thread));
	return FLT_OK;
}

enum flt_status flt_machine_mapping(struct flt_machine *m, size_t i,
				    struct flt_mapping *ret, size_t ret_bytes)
{
	struct dec_range range;
	struct flt_mapping mapping;
	struct err *err = dec_machine_range(m->machine, i, &range);

	if (err)
		return listed(err);
	mapping = (struct flt_mapping){ .start = range.start,
					.end = range.end,
					.prot = range.prot,
					.is_shared = range.is_shared };
	api_tell(ret, ret_bytes, &mapping, sizeof(mapping));
	return FLT_OK;
}

const char *flt_machine_notes(struct flt_machine *m)
{
	return dec_machine_notes(m->machine) ?: "";
}

/* ---- names ---------------------------------------------------------------------------------- */

enum flt_status flt_machine_place(struct flt_machine *m, uint64_t rip,
				  struct flt_place *ret, size_t ret_bytes)
{
	struct dec_place p;
	struct flt_place place;

	dec_symbols_place(m->symbols, rip, &p);
	place = (struct flt_place){ .function = p.function,
				    .symbol = p.outer,
				    .offset = p.offset,
				    .file = p.file,
				    .line = p.line,
				    .module = p.module };
	api_tell(ret, ret_bytes, &place, sizeof(place));
	return FLT_OK;
}

enum flt_status flt_machine_function(struct flt_machine *m, const char *name,
				     uint64_t *ret)
{
	if (dec_symbols_methods(m->symbols, name, ret, 1))
		return FLT_OK;
	return api_status(
		err_new(ERR_NOT_FOUND, "there is no function '%s' so far", name));
}

static struct err *find_variable(struct flt_machine *m, const char *name, uint64_t *ret,
				 uint64_t *ret_bytes)
{
	struct dec_variable v;
	enum dec_var_fate fate;
	const char *others = NULL;
	struct err *err =
		dec_symbols_variable_named(m->symbols, name, NULL, &v, &fate, &others);

	if (err)
		return err;
	if (fate == DEC_VAR_FOUND && !v.is_local && v.n_sites &&
	    dec_symbols_unit_address(m->symbols, v.sites[0].unit, v.sites[0].addr, ret)) {
		*ret_bytes = v.size;
		return NULL;
	}
	if (fate == DEC_VAR_SEVERAL)
		return err_new(ERR_AMBIGUOUS, "there are several variables '%s': %s",
			       name, others);
	return err_new(ERR_NOT_FOUND,
		       fate == DEC_VAR_UNKNOWN ?
			       "there is no variable '%s'" :
			       "variable '%s' is not always in one place",
		       name);
}

enum flt_status flt_machine_variable(struct flt_machine *m, const char *name,
				     uint64_t *ret, uint64_t *ret_bytes)
{
	return api_status(find_variable(m, name, ret, ret_bytes));
}
