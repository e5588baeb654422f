// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * All functions of a file: build, analyse, choose, and keep what came out.
 */
#include <fnmatch.h>
#include <string.h>

#include "storeplan/sp_sites.h"
#include "storeplan/storeplan.h"

struct maker {
	const struct sp_options *o;
	struct sp_plan *p;
	VEC(struct sp_function_plan) functions;
	VEC(struct sp_store) stores;
	VEC(struct sp_site) sites;
};

void sp_plan_destroy(struct sp_plan *p)
{
	if (!p)
		return;
	free(p->functions);
	free(p->stores);
	free(p->sites);
	sp_image_close(p->image);
	free(p);
}

void sp_plan_destroyp(struct sp_plan **p)
{
	sp_plan_destroy(*p);
}

static void set_reads(const struct sp_sites *pl, const struct sites_probe *probe,
		      struct sp_site *site)
{
	for (size_t i = 0; i < probe->reads.size; i++) {
		const struct sites_store *s = &pl->stores.data[probe->reads.data[i]];
		const struct sp_mem *m = sp_insn_store(&pl->f->insns[s->insn]);

		site->reads[site->n_reads++] = (struct sp_read){
			.base = m->is_absolute ? SP_NONE : m->base,
			.index = m->is_absolute ? SP_NONE : m->index,
			.scale = m->scale,
			.is_fs = m->is_fs,
			.is_absolute = m->is_absolute,
			.size = m->size,
			.disp = m->disp + s->read_shift,
		};
	}
}

static struct err *keep_sites(struct maker *k, const struct sp_sites *pl)
{
	for (size_t i = 0; i < pl->probes.size; i++) {
		const struct sites_probe *probe = &pl->probes.data[i];
		const struct sp_insn *in = &pl->f->insns[probe->insn];
		struct sp_site *site = vec_push(&k->sites);

		if (!site)
			return &err_nomem;
		*site = (struct sp_site){
			.addr = in->at,
			.file_offset = sp_image_offset(k->p->image, in->at),
			.function = k->functions.size - 1,
			.is_emulated = in->is_emulated,
			.mnemonic = sp_insn_name(in),
			.often = pl->f->blocks[pl->f->block_of[probe->insn]].often,
		};
		set_reads(pl, probe, site);
	}
	return NULL;
}

static struct err *keep_stores(struct maker *k, const struct sp_sites *pl)
{
	for (size_t i = 0; i < pl->stores.size; i++) {
		const struct sites_store *s = &pl->stores.data[i];
		const struct sp_insn *in = &pl->f->insns[s->insn];

		if (vec_add(&k->stores,
			    (struct sp_store){
				    .addr = in->at,
				    .function = k->functions.size - 1,
				    .state = s->state,
				    .is_frame = pl->s->step[s->insn].is_frame_store,
				    .is_emulated = in->is_emulated,
				    .is_unprobable = in->is_unprobable,
				    .read_at = s->read_at == UINT32_MAX ?
						       0 :
						       pl->f->insns[s->read_at].at,
				    .often =
					    pl->f->blocks[pl->f->block_of[s->insn]].often,
			    }))
			return &err_nomem;
	}
	return NULL;
}

/** Stores into the frame that are not asked for: how many, and of how many is the value
 * known all the same? */
static void count_frame(const struct sp_sites *pl, const struct sp_options *o,
			struct sp_function_plan *f)
{
	for (size_t i = 0; i < pl->f->n_insns; i++) {
		const struct sp_insn *in = &pl->f->insns[i];
		const struct sp_step *st = &pl->s->step[i];

		if (!sp_insn_store(in) || in->is_push || in->flow != SP_FLOW_NEXT ||
		    sp_sites_is_wanted(in, st, o) ||
		    pl->f->blocks[pl->f->block_of[i]].is_idle)
			continue;
		f->n_frame++;
		f->n_frame_known += st->has_value && !(st->needs & ~pl->known.at[i]);
	}
}

static struct err *plan_function(struct maker *k, const struct sp_function *f)
{
	struct sp_function_plan *fp = vec_push(&k->functions);
	struct sp_steps steps = {};
	struct sp_sites pl = {};
	struct err *err;

	if (!fp)
		return &err_nomem;
	*fp = (struct sp_function_plan){ .name = f->name,
					 .start = f->start,
					 .unsound = f->unsound,
					 .first_store = k->stores.size,
					 .first_site = k->sites.size };
	if (f->unsound || !f->n_insns)
		return NULL;
	err = sp_steps_make(k->p->image, f, &steps);
	err = err ?: sp_sites_choose(f, &steps, k->o, &pl);
	if (err) {
		sp_steps_deinit(&steps);
		return err;
	}
	count_frame(&pl, k->o, fp);
	err = keep_stores(k, &pl);
	err = err ?: keep_sites(k, &pl);
	fp->n_stores = k->stores.size - fp->first_store;
	fp->n_sites = k->sites.size - fp->first_site;
	sp_sites_deinit(&pl);
	sp_steps_deinit(&steps);
	return err;
}

static struct err *plan_range(struct maker *k, size_t range, const struct sp_range *r)
{
	_cleanup_(sp_function_deinit) struct sp_function f = {};
	struct err *err;

	if (k->o->function && (!r->name || fnmatch(k->o->function, r->name, 0)))
		return NULL;
	err = sp_function_build(k->p->image, range, &f);
	return err ?: plan_function(k, &f);
}

static struct err *plan_file(struct maker *k, const char *path)
{
	struct err *err = sp_image_open(path, &k->p->image);
	struct sp_range *ranges;
	size_t n;

	err = err ?: sp_function_group(k->p->image);
	err = err ?: sp_function_find_ends(k->p->image);
	if (err)
		return err;
	ranges = sp_image_ranges(k->p->image, &n);
	for (size_t i = 0; !err && i < n; i++)
		if (ranges[i].owner == i)
			err = plan_range(k, i, &ranges[i]);
	if (!err && k->o->function && !k->functions.size)
		return err_new(ERR_NOT_FOUND, "no function '%s' in '%s'", k->o->function,
			       path);
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct sp_site *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

struct err *sp_plan_make(const char *path, const struct sp_options *o,
			 struct sp_plan **ret)
{
	_cleanup_(sp_plan_destroyp) struct sp_plan *p = calloc(1, sizeof(*p));
	struct maker k = { .o = o, .p = p };
	struct err *err;

	if (!p)
		return &err_nomem;
	err = plan_file(&k, path);
	p->functions = k.functions.data;
	p->stores = k.stores.data;
	p->sites = k.sites.data;
	p->n_functions = k.functions.size;
	p->n_stores = k.stores.size;
	p->n_sites = k.sites.size;
	if (err)
		return err;
	if (p->n_sites)
		qsort(p->sites, p->n_sites, sizeof(*p->sites), by_address);
	*ret = take_ptr(&p);
	return NULL;
}

/* ---- counting --------------------------------------------------------------------------- */

static void add_cost(struct sp_cost *c, bool is_emulated, double often)
{
	c->n_emulated += is_emulated;
	c->n_stepped += !is_emulated;
	c->us += often * (is_emulated ? SP_EMULATED_US : SP_STEPPED_US);
}

struct sp_cost sp_plan_cost(const struct sp_plan *p, uint32_t f)
{
	struct sp_cost c = {};

	for (size_t i = 0; i < p->n_sites; i++)
		if (f == UINT32_MAX || p->sites[i].function == f)
			add_cost(&c, p->sites[i].is_emulated, p->sites[i].often);
	return c;
}

struct sp_cost sp_plan_naive(const struct sp_plan *p, uint32_t f)
{
	struct sp_cost c = {};

	for (size_t i = 0; i < p->n_stores; i++) {
		const struct sp_store *s = &p->stores[i];

		if (f != UINT32_MAX && s->function != f)
			continue;
		if (s->is_unprobable)
			c.n_refused++;
		else
			add_cost(&c, s->is_emulated, s->often);
	}
	return c;
}

size_t sp_plan_count(const struct sp_plan *p, uint32_t f, enum sp_store_state s)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_stores; i++)
		n += p->stores[i].state == s &&
		     (f == UINT32_MAX || p->stores[i].function == f);
	return n;
}
