// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * -e stores: the plan for each file (storeplan/), its probes, and what they tell. The
 * number of a site, which is also the probe's cookie, counts over all files of a session;
 * in a bundle its index counts over the files of that process.
 */
#define LOG_ROOM "record"
#include "pt-collect/probes/stores.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "pt-collect/log/writes.h"

/** A file and its plan, which is made once in a session. */
struct planned {
	char *path;
	struct stat st;
	uint32_t first; ///< number of its first site
	size_t n_sites, n_probed;
	/** Of those n_probed that the kernel does not refuse: file offsets; cookies. */
	uint64_t *offsets, *cookies;
	struct planned_site {
		uint64_t offset; ///< in the file
		bool is_emulated;
	} * sites;
	struct err *failure; ///< there is no plan
};

struct ptc_store_plans {
	VEC(struct planned *) files;
	uint32_t n_sites;
};

/** The sites of a file in one process. */
struct placed {
	const struct planned *file;
	uint32_t first; ///< index into the process's sites
};

struct ptc_stores {
	VEC(struct placed) files;
	VEC(struct cap_store_site) sites;
	VEC(char *) gaps; ///< texts, while nothing is written
};

void ptc_stores_destroy(struct ptc_stores *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->gaps.size; i++)
		free(s->gaps.data[i]);
	vec_deinit(&s->gaps);
	vec_deinit(&s->sites);
	vec_deinit(&s->files);
	free(s);
}

const struct cap_store_site *ptc_stores_sites(const struct ptc_probes *x, size_t *n)
{
	*n = x->stores ? x->stores->sites.size : 0;
	return x->stores ? x->stores->sites.data : NULL;
}

void ptc_stores_renumber(struct ptc_probes *x, const struct cap_core *core)
{
	for (size_t i = 0; x->stores && i < x->stores->files.size; i++) {
		const struct placed *f = &x->stores->files.data[i];
		uint32_t file = 0;

		for (size_t m = 0; m < core->n_mappings && !file; m++)
			if (!strcmp(core->mappings[m].name, f->file->path))
				file = core->mappings[m].file;
		for (size_t k = 0; k < f->file->n_sites; k++)
			x->stores->sites.data[f->first + k].file = file;
	}
}

/** What a capture lacks; the flight recorder's are told in each snapshot. */
static void tell_gap(struct ptc_probes *x, const char *text)
{
	char **slot;

	if (!x->all->in_flight) {
		ptc_log_gap(x->log, x->tracee->pid, "%s", text);
		return;
	}
	log_warn("%s", text);
	slot = x->stores ? vec_push(&x->stores->gaps) : NULL;
	if (slot && !(*slot = strdup(text)))
		x->stores->gaps.size--;
}

void ptc_stores_tell_gaps(struct ptc_probes *x)
{
	for (size_t i = 0; x->stores && i < x->stores->gaps.size; i++)
		ptc_log_gap(x->log, x->tracee->pid, "%s", x->stores->gaps.data[i]);
}

/* ---- plans ----------------------------------------------------------------------------- */

static void planned_destroy(struct planned *f)
{
	if (!f)
		return;
	err_destroy(f->failure);
	free(f->path);
	free(f->offsets);
	free(f->cookies);
	free(f->sites);
	free(f);
}

static void planned_destroyp(struct planned **f)
{
	planned_destroy(*f);
}

void ptc_store_plans_destroy(struct ptc_store_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < plans->files.size; i++)
		planned_destroy(plans->files.data[i]);
	vec_deinit(&plans->files);
	free(plans);
}

static struct err *tell_reads(struct ptc_probing *all, uint64_t number,
			      const struct sp_site *site)
{
	struct rec_store_site to = {};

	_Static_assert(REC_STORE_READS == SP_READS && REC_NO_GPR == SP_NONE, "same");
	for (int i = 0; i < site->n_reads; i++) {
		const struct sp_read *r = &site->reads[i];

		to.reads[i] = (struct rec_store_read){
			.base = r->base,
			.index = r->index,
			.scale = r->scale,
			.flags = (r->is_absolute ? REC_READ_RIP : 0) |
				 (r->is_fs ? REC_READ_FS : 0),
			.size = r->size,
			.disp = r->is_absolute ? r->disp - (int64_t)site->addr : r->disp,
		};
	}
	return site->n_reads ? ptc_bpf_store_reads(all->bpf, number, &to) : NULL;
}

/** Number the sites of @p plan. */
static struct err *take_sites(struct ptc_probing *all, struct planned *f,
			      const struct sp_plan *plan)
{
	struct err *err = NULL;

	f->first = all->plans->n_sites;
	if (plan->n_sites > REC_STORE_SITES - f->first)
		return err_new(ERR_UNSUPPORTED,
			       "more than %u store probes with those in %s",
			       REC_STORE_SITES, f->path);
	f->offsets = calloc(plan->n_sites + 1, sizeof(*f->offsets));
	f->cookies = calloc(plan->n_sites + 1, sizeof(*f->cookies));
	f->sites = calloc(plan->n_sites + 1, sizeof(*f->sites));
	if (!f->offsets || !f->cookies || !f->sites)
		return &err_nomem;
	for (size_t i = 0; i < plan->n_sites && !err; i++) {
		const struct sp_site *site = &plan->sites[i];

		f->offsets[i] = site->file_offset;
		f->cookies[i] = (f->first + i) |
				(site->n_reads ? REC_STORE_READS_MEMORY : 0);
		f->sites[i] =
			(struct planned_site){ site->file_offset, site->is_emulated };
		err = tell_reads(all, f->first + i, site);
	}
	f->n_sites = f->n_probed = plan->n_sites;
	all->plans->n_sites += plan->n_sites;
	return err;
}

static struct err *make_plan(struct ptc_probing *all, struct planned *f)
{
	_cleanup_(sp_plan_destroyp) struct sp_plan *plan = NULL;
	struct err *err = sp_plan_make(f->path, &all->stores->plan, &plan);
	struct sp_cost cost;

	if (err)
		return err;
	cost = sp_plan_cost(plan, UINT32_MAX);
	log_info("%zu stores in %s: %zu follow from the path, %zu probes for the others "
		 "(%zu emulated, %zu single-stepped)",
		 plan->n_stores, f->path, sp_plan_count(plan, UINT32_MAX, SP_STORE_FREE),
		 plan->n_sites, cost.n_emulated, cost.n_stepped);
	return take_sites(all, f, plan);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/** @p ret: may be one that failed. */
static struct err *plan_of(struct ptc_probing *all, const char *path,
			   struct planned **ret)
{
	_cleanup_(planned_destroyp) struct planned *f = calloc(1, sizeof(*f));
	struct planned **slot;

	if (!all->plans)
		all->plans = calloc(1, sizeof(*all->plans));
	if (!f || !all->plans)
		return &err_nomem;
	if (stat(path, &f->st))
		return err_errno("cannot find '%s', to probe its stores", path);
	for (size_t i = 0; i < all->plans->files.size; i++)
		if (is_same_file(&all->plans->files.data[i]->st, &f->st)) {
			*ret = all->plans->files.data[i];
			return NULL;
		}
	f->path = strdup(path);
	slot = f->path ? vec_push(&all->plans->files) : NULL;
	if (!slot)
		return &err_nomem;
	f->failure = make_plan(all, f);
	*ret = *slot = take_ptr(&f);
	return NULL;
}

/* ---- probes ---------------------------------------------------------------------------- */

static bool is_wanted(const struct ptc_probes *x, const char *path, bool is_exe)
{
	const char *files = x->all->stores->files;

	return is_exe || (files && (!fnmatch(files, path, 0) ||
				    !fnmatch(files, basename(path), 0)));
}

/** The kernel is asked once for what it refuses: it takes its time to say so. */
static struct err *probe(struct ptc_probes *x, const char *path, struct planned *f)
{
	_cleanup_free_ bool *is_refused = calloc(f->n_probed + 1, sizeof(*is_refused));
	size_t kept = 0;

	if (!is_refused)
		return &err_nomem;
	ptc_bpf_probe_stores(x->all->bpf, x->tracee->pid, path, f->offsets, f->cookies,
			     f->n_probed, is_refused);
	for (size_t i = 0; i < f->n_probed; i++) {
		f->offsets[kept] = f->offsets[i];
		f->cookies[kept] = f->cookies[i];
		kept += !is_refused[i];
	}
	f->n_probed = kept;
	return kept < f->n_sites ?
		       err_new(ERR_OS, "the kernel refuses %zu of %zu store probes in %s",
			       f->n_sites - kept, f->n_sites, path) :
		       NULL;
}

static struct err *place(struct ptc_probes *x, const char *path, uint32_t file,
			 struct planned *f)
{
	struct ptc_stores *s = x->stores;
	struct placed *slot = vec_push(&s->files);

	if (!slot)
		return &err_nomem;
	*slot = (struct placed){ f, s->sites.size };
	if (f->failure)
		return err_new(f->failure->code, "%s", f->failure->message);
	for (size_t i = 0; i < f->n_sites; i++) {
		struct cap_store_site *site = vec_push(&s->sites);

		if (!site)
			return &err_nomem;
		*site = (struct cap_store_site){ .file = file,
						 .file_offset = f->sites[i].offset,
						 .is_emulated = f->sites[i].is_emulated };
	}
	return probe(x, path, f);
}

static struct err *stores_mapped(struct ptc_probes *x, const char *path, uint32_t file)
{
	struct planned *f = NULL;
	struct err *err;

	if (!x->stores)
		x->stores = calloc(1, sizeof(*x->stores));
	if (!x->stores)
		return &err_nomem;
	err = plan_of(x->all, path, &f);
	if (err)
		return err;
	for (size_t i = 0; i < x->stores->files.size; i++)
		if (x->stores->files.data[i].file == f)
			return NULL; // Another segment of a file we know.
	return place(x, path, file, f);
}

void ptc_stores_mapped(struct ptc_probes *x, const char *path, uint32_t file, bool is_exe)
{
	_cleanup_err_ struct err *err = NULL;

	if (!x->all->stores->is_wanted || !is_wanted(x, path, is_exe))
		return;
	err = stores_mapped(x, path, file);
	if (err)
		tell_gap(x, err->message);
}

/** The site's index in its process. */
static bool find_site(const struct ptc_stores *s, uint32_t number, uint32_t *index)
{
	for (size_t i = 0; s && i < s->files.size; i++) {
		const struct placed *f = &s->files.data[i];

		if (number - f->file->first >= f->file->n_sites)
			continue;
		*index = f->first + (number - f->file->first);
		return true;
	}
	return false;
}

bool ptc_stores_event(const struct ptc_probes *x, struct ptc_writes *reads,
		      const struct rec_store *s, struct cap_event *ret)
{
	*ret = (struct cap_event){ .kind = CAP_EV_PROBE,
				   .tid = s->head.tid,
				   .at_ns = s->head.at_ns,
				   .probe_gprs = UINT16_MAX };
	if (!find_site(x->stores, s->site, &ret->probe_site))
		return false;
	ret->regs.rip = s->rip;
	memcpy(ret->regs.gpr, s->gpr, sizeof(s->gpr));
	ptc_writes_give(reads, ret);
	return true;
}
