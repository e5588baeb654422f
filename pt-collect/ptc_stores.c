// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * -e stores: the plan for each file (storeplan/), its probes, and what they tell. The
 * number of a site is its index over all files, which is also the probe's cookie.
 */
#define LOG_ROOM "record"
#include "pt-collect/ptc_stores.h"

#include <fnmatch.h>
#include <string.h>

#include "pt-collect/ptc_bpf.h"
#include "pt-collect/ptc_writes.h"

struct ptc_stores {
	VEC(struct cap_store_site) sites;
	VEC(uint16_t) gprs;	      ///< by site: wanted
	VEC(uint32_t) files;	      ///< seen
	struct map places;	      ///< addresses at which probes were hit
	struct map last_rip, last_sp; ///< by thread: of its last hit
};

void ptc_stores_destroy(struct ptc_stores *s)
{
	if (!s)
		return;
	vec_deinit(&s->sites);
	vec_deinit(&s->gprs);
	vec_deinit(&s->files);
	map_deinit(&s->places);
	map_deinit(&s->last_rip);
	map_deinit(&s->last_sp);
	free(s);
}

const struct cap_store_site *ptc_stores_sites(const struct ptc_process *p, size_t *n)
{
	*n = p->stores ? p->stores->sites.size : 0;
	return p->stores ? p->stores->sites.data : NULL;
}

static struct err *tell_reads(struct ptc_process *p, uint64_t number,
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
	return site->n_reads ? ptc_bpf_store_reads(p->session->bpf, number, &to) : NULL;
}

static struct err *add_site(struct ptc_process *p, const struct sp_site *site,
			    uint32_t file)
{
	struct ptc_stores *s = p->stores;
	struct cap_store_site *slot;
	uint16_t *gprs;

	if (s->sites.size == REC_STORE_SITES)
		return err_new(ERR_UNSUPPORTED, "more than %u store probes",
			       REC_STORE_SITES);
	gprs = vec_push(&s->gprs);
	slot = gprs ? vec_push(&s->sites) : NULL;
	if (!slot)
		return &err_nomem;
	*gprs = site->gprs;
	*slot = (struct cap_store_site){ .file = file,
					 .file_offset = site->file_offset,
					 .is_emulated = site->is_emulated };
	return tell_reads(p, s->sites.size - 1, site);
}

static struct err *place(struct ptc_process *p, const char *path, uint32_t file,
			 const struct sp_plan *plan)
{
	_cleanup_free_ uint64_t *offsets = calloc(plan->n_sites + 1, 8);
	_cleanup_free_ uint64_t *numbers = calloc(plan->n_sites + 1, 8);
	struct sp_cost cost = sp_plan_cost(plan, UINT32_MAX);
	size_t n_refused;

	if (!offsets || !numbers)
		return &err_nomem;
	for (size_t i = 0; i < plan->n_sites; i++) {
		struct err *err = add_site(p, &plan->sites[i], file);

		if (err)
			return err;
		offsets[i] = plan->sites[i].file_offset;
		numbers[i] = (p->stores->sites.size - 1) |
			     (plan->sites[i].n_reads ? REC_STORE_READS_MEMORY : 0);
	}
	n_refused = ptc_bpf_probe_stores(p->session->bpf, p->pid, path, offsets, numbers,
					 plan->n_sites);
	log_info("%zu stores in %s: %zu follow from the path, %zu probes for the others "
		 "(%zu emulated, %zu single-stepped)",
		 plan->n_stores, path, sp_plan_count(plan, UINT32_MAX, SP_STORE_FREE),
		 plan->n_sites, cost.n_emulated, cost.n_stepped);
	return n_refused ?
		       err_new(ERR_OS, "the kernel refuses %zu of %zu store probes in %s",
			       n_refused, plan->n_sites, path) :
		       NULL;
}

static bool is_wanted(const struct ptc_process *p, const char *path, bool is_exe)
{
	const char *slash = strrchr(path, '/'), *files = p->session->stores->files;

	return is_exe || (files && (!fnmatch(files, path, 0) ||
				    !fnmatch(files, slash ? slash + 1 : path, 0)));
}

static struct err *stores_mapped(struct ptc_process *p, const char *path, uint32_t file)
{
	_cleanup_(sp_plan_destroyp) struct sp_plan *plan = NULL;
	struct err *err;
	uint32_t *slot;

	if (!p->stores)
		p->stores = calloc(1, sizeof(*p->stores));
	if (!p->stores)
		return &err_nomem;
	for (size_t i = 0; i < p->stores->files.size; i++)
		if (p->stores->files.data[i] == file)
			return NULL; // Another segment of a file we know.
	slot = vec_push(&p->stores->files);
	if (!slot)
		return &err_nomem;
	*slot = file;
	err = sp_plan_make(path, &p->session->stores->plan, &plan);
	return err ?: place(p, path, file, plan);
}

void ptc_stores_mapped(struct ptc_process *p, const char *path, uint32_t file,
		       bool is_exe)
{
	_cleanup_err_ struct err *err = NULL;

	if (!p->session->stores->is_wanted || !is_wanted(p, path, is_exe))
		return;
	err = stores_mapped(p, path, file);
	if (err)
		ptc_log_gap(p, p->pid, "%s", err->message);
}

/** A thread that loses the CPU in the kernel's handler of a breakpoint, before the probe has
 * run, stands one byte behind the probed instruction's beginning. So does one that has just
 * executed a push of one byte, but that one has moved rsp since its last hit. (Behind a nop
 * it makes no difference.) */
void ptc_stores_switched(struct ptc_process *p, struct rec_switch *s)
{
	uint64_t at = s->regs.rip - 1, tid = s->head.tid, *rip, *sp;

	if (!p->stores || s->flags & REC_SWITCH_IN_CALL ||
	    !map_get(&p->stores->places, at))
		return;
	rip = map_get(&p->stores->last_rip, tid);
	sp = map_get(&p->stores->last_sp, tid);
	if (!rip || !sp || *rip != at || s->regs.gpr[CAP_RSP] != *sp - 8)
		s->regs.rip = at;
}

static void remember_hit(struct ptc_stores *s, const struct rec_store *hit)
{
	// Without memory a thread's place may be a byte off: that is all.
	if (!map_get(&s->places, hit->rip))
		map_put(&s->places, hit->rip, 1);
	map_put(&s->last_rip, hit->head.tid, hit->rip);
	map_put(&s->last_sp, hit->head.tid, hit->gpr[CAP_RSP]);
}

void ptc_stores_hit(struct ptc_process *p, struct ptc_thread *t,
		    const struct rec_store *s)
{
	struct cap_event ev = { .kind = CAP_EV_PROBE,
				.tid = s->head.tid,
				.at_ns = s->head.at_ns,
				.probe_site = s->site };

	if (p->stores && s->site < p->stores->gprs.size)
		ev.probe_gprs = p->stores->gprs.data[s->site];
	if (p->stores && p->has_threads)
		remember_hit(p->stores, s);
	ev.regs.rip = s->rip;
	memcpy(ev.regs.gpr, s->gpr, sizeof(s->gpr));
	ptc_writes_give(&t->now, &ev);
	ptc_log(p, &ev);
	ptc_writes_clear(&t->now);
}
