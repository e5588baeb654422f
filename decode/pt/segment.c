// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/segment.h"

#include <intel-pt.h>
#include <string.h>

#include "decode/pt/newer.h"
#include "decode/pt/user.h"
#include "decode/x86/insn.h"

// What libipt may keep mapped of the images, block caches included.
#define CACHE_BYTES (1ull << 30)
// From here on each run is looked at by itself: none is longer (pt_block.ninsn).
#define IDLE_SOON (DEC_PT_IDLE_INSNS - UINT16_MAX)

/* An image as libipt has it. */
struct worker_image {
	const struct dec_pt_image *image;
	struct pt_image *libipt;
	size_t n_added; ///< of its mappings
};

struct dec_pt_worker {
	const struct dec_pt_stream *stream;
	struct pt_config config;
	bool wants_runs;
	struct pt_image_section_cache *cache;
	VEC(struct worker_image) images;
	dec_pt_buffer buffer;
	struct dec_pt_user user; ///< its bytes, where the kernel is traced, too

	// Of the segment being decoded.
	const struct dec_pt_segment *seg;
	struct dec_pt_batch *batch;
	dec_pt_batch_fn full;
	void *ctx;
	struct pt_block_decoder *libipt;
	size_t turn, n_applied;
	uint64_t tsc; ///< the last one handed out
	bool is_enabled;
	bool has_begun;	  ///< the segment's own PSB group was told
	bool has_arrived; ///< where the next PSB says
	bool is_64bit;	  ///< what packets say of the code
	bool is_alien;	  ///< it is not, and would run
	bool is_idle;	  ///< see DEC_PT_IDLE_INSNS
	uint32_t idle;	  ///< instructions since one that must have consumed a packet
	uint64_t idle_at; ///< offset before the run in which that was last checked
	uint64_t ip;	  ///< the last instruction, or where one should be
	uint64_t stepped; ///< the probed one that the kernel has a copy of in its page
	bool is_behind;	  ///< it ran
};

/* ---- images ------------------------------------------------------------------------------ */

static struct err *image_failed(const struct dec_pt_map *m, int status)
{
	return err_new(ERR_UNSUPPORTED, "cannot decode code of '%s': %s", m->path,
		       pt_errstr(pt_errcode(status)));
}

static struct err *image_add(struct dec_pt_worker *w, struct worker_image *wi)
{
	const struct dec_pt_map *m = &wi->image->maps.data[wi->n_added++];
	bool is_traced = m->traced >= 0;
	char path[32];
	int isid, status;

	if (!m->data)
		return NULL; // nothing of the file lies there
	// The file that was looked at: at its path there may be another one by now.
	snprintf(path, sizeof(path), "/proc/self/fd/%d", is_traced ? m->traced : m->fd);
	isid = pt_iscache_add_file(w->cache, path, is_traced ? 0 : m->file_offset,
				   m->data_bytes, m->addr);
	if (isid < 0)
		return image_failed(m, isid);
	status = pt_image_add_cached(wi->libipt, w->cache, isid, NULL);
	return status < 0 ? image_failed(m, status) : NULL;
}

static struct dec_pt_image *image_now(const struct dec_pt_worker *w)
{
	return w->stream->turns.data[w->turn].image;
}

/* What lies in the kernel's page for probes at @p ip: libipt asks where no file is. Of a
 * copy that nobody knows what it is of (decoding began in its middle) there is as much as
 * of no-operations: those lead behind it, too, unless it is a branch. */
static int read_page(uint8_t *buffer, size_t size, const struct pt_asid *asid,
		     uint64_t ip, void *worker)
{
	const struct dec_pt_worker *w = worker;
	const struct dec_pt_image *im = w->turn == SIZE_MAX ? NULL : image_now(w);
	uint64_t at = im ? ip - im->page.addr : 0;
	struct dec_insn insn = {};

	(void)asid;
	if (!im || !dec_pt_image_is_page(im, ip))
		return -pte_nomap;
	if (size > DEC_PT_PAGE_BYTES - at)
		size = DEC_PT_PAGE_BYTES - at;
	memset(buffer, 0x90, size);
	if (at < im->page.n_back) {
		memcpy(buffer, im->page.back + at,
		       size < im->page.n_back - at ? size : im->page.n_back - at);
		return size;
	}
	if (w->stepped)
		err_destroy(dec_pt_image_insn(im, w->n_applied, w->stepped, &insn));
	at %= DEC_PT_PAGE_SLOT;
	if (at < insn.len)
		memcpy(buffer, insn.bytes + at,
		       size < insn.len - at ? size : insn.len - at);
	return size;
}

static struct worker_image *image_of(struct dec_pt_worker *w,
				     const struct dec_pt_image *image)
{
	struct worker_image *wi = vec_find(&w->images, known, known->image == image);

	if (!wi && (wi = vec_push(&w->images)))
		wi->image = image;
	return wi;
}

/* Have the mappings that are there at @p from in libipt's image. */
static struct err *image_apply(struct dec_pt_worker *w, struct worker_image *wi,
			       uint64_t from)
{
	size_t want = dec_pt_image_until(wi->image, from);
	struct err *err = NULL;

	if (wi->libipt && wi->n_added > want) {
		pt_image_free(take_ptr(&wi->libipt));
		wi->n_added = 0;
	}
	if (!wi->libipt) {
		wi->libipt = pt_image_alloc(NULL);
		if (!wi->libipt)
			return &err_nomem;
		if (wi->image->page.addr)
			pt_image_set_callback(wi->libipt, read_page, w);
	}
	while (!err && wi->n_added < want)
		err = image_add(w, wi);
	return err;
}

/* ---- handing out ------------------------------------------------------------------------- */

static struct err *put(struct dec_pt_worker *w, enum dec_pt_item_kind kind, uint64_t a,
		       uint64_t b, uint8_t event)
{
	return vec_add(&w->batch->items,
		       (struct dec_pt_item){ a, b, w->batch->n_runs, kind, event });
}

static struct err *put_gap(struct dec_pt_worker *w, const struct dec_pt_gap *gap)
{
	if (vec_add(&w->batch->gaps, *gap))
		return &err_nomem;
	return put(w, DEC_PT_ITEM_GAP, w->batch->gaps.size - 1, 0, 0);
}

static struct err *put_event(struct dec_pt_worker *w, enum dec_pt_event_kind kind,
			     uint64_t ip, uint64_t value)
{
	return put(w, DEC_PT_ITEM_EVENT, ip, value, kind);
}

static struct err *put_time(struct dec_pt_worker *w, uint64_t tsc)
{
	if (tsc == w->tsc)
		return NULL;
	w->tsc = tsc;
	return put(w, DEC_PT_ITEM_TIME, tsc, 0, 0);
}

/* ---- where it is ------------------------------------------------------------------------- */

static uint64_t offset_now(const struct dec_pt_worker *w)
{
	uint64_t offset = 0;

	pt_blk_get_offset(w->libipt, &offset);
	if (w->stream->has_kernel)
		offset = dec_pt_user_offset(&w->user, offset);
	return w->seg->psb.at + offset;
}

/* Tracing goes on at a new place: whose code is it, and which of it is there? Both change
 * in the kernel only, that is, while tracing is off. */
static struct err *settle(struct dec_pt_worker *w)
{
	const struct dec_pt_stream *s = w->stream;
	uint64_t from = !s->is_timed ? offset_now(w) : w->tsc ? w->tsc : UINT64_MAX;
	size_t turn = dec_pt_stream_turn(s, from);
	struct worker_image *wi = image_of(w, s->turns.data[turn].image);
	struct err *err = wi ? image_apply(w, wi, from) : &err_nomem;
	int status;

	if (err || (turn == w->turn && wi->n_added == w->n_applied))
		return err;
	w->turn = turn;
	w->n_applied = wi->n_added;
	status = pt_blk_set_image(w->libipt, wi->libipt);
	if (status < 0)
		return err_new(ERR_UNSUPPORTED, "cannot change the code to decode: %s",
			       pt_errstr(pt_errcode(status)));
	return put(w, DEC_PT_ITEM_TURN, turn, w->n_applied, 0);
}

/* ---- events and runs ---------------------------------------------------------------------- */

static struct err *on_overflow(struct dec_pt_worker *w, const struct pt_event *ev)
{
	uint64_t at = offset_now(w);
	struct dec_pt_gap gap = { DEC_PT_GAP_OVERFLOW,
				  at,
				  at,
				  ev->ip_suppressed ? 0 : ev->variant.overflow.ip,
				  "the tracer lost packets",
				  NULL,
				  0 };
	struct err *err = settle(w);

	w->is_enabled = !ev->ip_suppressed;
	return err ? err : put_gap(w, &gap);
}

static struct err *on_enabled(struct dec_pt_worker *w, uint64_t ip)
{
	struct err *err = settle(w);

	w->is_enabled = true;
	return err ? err : put_event(w, DEC_PT_EV_ENABLED, ip, 0);
}

/* @p at: of an interruption. */
static struct err *on_disabled(struct dec_pt_worker *w, const struct pt_event *ev,
			       uint64_t ip, uint64_t at)
{
	w->is_enabled = false;
	if (w->is_behind && map_get(&image_now(w)->breaks, w->ip))
		w->stepped = w->ip;
	return put_event(w, DEC_PT_EV_DISABLED, ev->ip_suppressed ? 0 : ip, at);
}

/* A status update is at the place that its PSB group names. Each group with a place has a
 * MODE.Exec; the segment's own comes first (libipt may have read beyond the next group by
 * then, so that its offset does not tell). */
static void on_mode(struct dec_pt_worker *w, const struct pt_event *ev)
{
	w->is_64bit = ev->variant.exec_mode.mode == ptem_64bit;
	if (!ev->status_update || !w->is_enabled || ev->ip_suppressed)
		return;
	if (w->seg->psb.has_ip && !w->has_begun)
		w->has_begun = true;
	else if (w->seg->has_next && w->seg->next.has_ip)
		w->has_arrived = offset_now(w) >= w->seg->end;
}

static struct err *on_event(struct dec_pt_worker *w, const struct pt_event *ev)
{
	struct err *err = ev->has_tsc ? put_time(w, ev->tsc) : NULL;

	if (err)
		return err;
	if (ev->type == ptev_exec_mode)
		on_mode(w, ev);
	if (ev->status_update)
		return NULL;
	switch (ev->type) {
	case ptev_enabled:
		return on_enabled(w, ev->variant.enabled.ip);
	case ptev_disabled:
		return on_disabled(w, ev, ev->variant.disabled.ip, 0);
	case ptev_async_disabled:
		return on_disabled(w, ev, ev->variant.async_disabled.ip,
				   ev->variant.async_disabled.at);
	case ptev_async_branch:
		return put_event(w, DEC_PT_EV_BRANCH,
				 ev->ip_suppressed ? 0 : ev->variant.async_branch.to,
				 ev->variant.async_branch.from);
	case ptev_overflow:
		return on_overflow(w, ev);
	case ptev_ptwrite:
		return put_event(w, DEC_PT_EV_PTWRITE,
				 ev->ip_suppressed ? 0 : ev->variant.ptwrite.ip,
				 ev->variant.ptwrite.payload);
	default:
		return NULL;
	}
}

static const uint8_t last_of[] = {
	[ptic_error] = DEC_PT_LAST_UNKNOWN, [ptic_other] = DEC_PT_LAST_OTHER,
	[ptic_call] = DEC_PT_LAST_CALL,	    [ptic_return] = DEC_PT_LAST_RETURN,
	[ptic_jump] = DEC_PT_LAST_JUMP,	    [ptic_cond_jump] = DEC_PT_LAST_COND,
	[ptic_far_call] = DEC_PT_LAST_FAR,  [ptic_far_return] = DEC_PT_LAST_FAR,
	[ptic_far_jump] = DEC_PT_LAST_FAR,  [ptic_ptwrite] = DEC_PT_LAST_OTHER,
};

/* The instruction number @p n behind the one at @p ip; 0 when it is not known. */
static uint64_t walk(const struct dec_pt_worker *w, uint64_t ip, uint32_t n)
{
	struct dec_insn insn;

	for (; n; n--) {
		_cleanup_err_ struct err *err =
			dec_pt_image_insn(image_now(w), w->n_applied, ip, &insn);

		if (err)
			return 0;
		ip = dec_pt_image_behind(&insn);
	}
	return ip;
}

/* So many instructions, and none that consumes a packet for certain. If none was consumed
 * before the last run, @p b, the flow is cut off, at an instruction that does not depend on
 * how libipt cuts runs: that depends on what it has decoded before. @p before: the offset
 * then. @p r: the same run. */
static void on_idle(struct dec_pt_worker *w, struct dec_pt_run *r,
		    const struct pt_block *b, uint64_t before)
{
	uint32_t over = w->idle - DEC_PT_IDLE_INSNS, n = b->ninsn - over;

	if (before != w->idle_at) {
		w->idle_at = before;
		w->idle = over;
		w->ip = b->end_ip;
		return;
	}
	w->is_idle = true;
	w->batch->instructions -= over;
	if (n)
		w->ip = walk(w, b->ip, n - 1);
	if (!w->wants_runs)
		return;
	r->n_insns = n;
	r->end_ip = w->ip;
	r->last = DEC_PT_LAST_UNKNOWN;
	w->batch->n_runs -= !n;
}

/* A TIP packet named no address. libipt stays at the branch then, and says so or does not,
 * by whether it has come across the branch before: the branch awaits the next one. */
static int on_no_ip(const struct dec_pt_worker *w)
{
	uint64_t bytes = w->config.end - w->config.begin, offset = 0;

	pt_blk_get_offset(w->libipt, &offset);
	return offset < bytes ? 0 : pts_eos;
}

/* Decode runs until there is an event, or nothing more, or no room. All that is done for
 * each run is done here, with what it needs at hand: libipt takes some 40 ns for one. */
static void runs_decode(struct dec_pt_worker *w, int *status)
{
	struct dec_pt_batch *batch = w->batch;
	struct dec_pt_run *run = batch->runs + batch->n_runs, *first = run,
			  *end = batch->runs + batch->max_runs;
	uint64_t insns = 0, runs = 0, before = w->idle > IDLE_SOON ? offset_now(w) : 0;
	uint32_t idle = w->idle, step = w->wants_runs;
	struct pt_block b = {};
	uint8_t last;
	int s;

	do {
		s = pt_blk_next(w->libipt, &b, sizeof(b));
		if (s == -pte_noip)
			s = on_no_ip(w);
		// A failed call, too, may have decoded some.
		if (!b.ninsn)
			continue;
		last = last_of[b.iclass];
		run->ip = b.ip;
		run->end_ip = b.end_ip;
		run->n_insns = b.ninsn;
		run->last = last;
		run += step;
		runs++;
		insns += b.ninsn;
		idle += b.ninsn;
		if (idle > IDLE_SOON)
			break;
		if (last == DEC_PT_LAST_COND || last == DEC_PT_LAST_RETURN)
			idle = 0;
	} while (s == 0 && run < end);
	*status = s;
	batch->n_runs += run - first;
	batch->instructions += insns;
	batch->all_runs += runs;
	w->idle = idle;
	if (idle > DEC_PT_IDLE_INSNS)
		on_idle(w, batch->runs + batch->n_runs - step, &b, before);
	else
		w->ip = b.ninsn ? b.end_ip : b.ip;
	w->is_behind = b.ninsn;
	last = last_of[b.iclass];
	if (b.ninsn && (last == DEC_PT_LAST_COND || last == DEC_PT_LAST_RETURN))
		w->idle = 0;
}

/* Decode from the PSB to the segment's end, or until something is wrong.
 * @p status: libipt's, < 0. */
static struct err *segment_decode(struct dec_pt_worker *w, int *status)
{
	struct err *err = NULL;
	struct pt_event ev;

	*status = pt_blk_sync_set(w->libipt, 0);
	while (!err && *status >= 0 && !w->has_arrived && !w->is_idle && !w->is_alien) {
		if (*status & pts_event_pending) {
			*status = pt_blk_event(w->libipt, &ev, sizeof(ev));
			err = *status < 0 ? NULL : on_event(w, &ev);
		} else if (*status & pts_eos) {
			*status = -pte_eos;
		} else if (w->is_enabled && !w->is_64bit) {
			w->is_alien = true;
		} else {
			runs_decode(w, status);
			if (w->batch->n_runs == w->batch->max_runs)
				err = w->full(w->ctx, w->batch);
		}
	}
	return err;
}

/* ---- the end of a segment ----------------------------------------------------------------- */

/* No code is known where the flow leads: name the file, if there is one. */
static void gap_code(struct dec_pt_worker *w, struct dec_pt_gap *gap)
{
	gap->kind = DEC_PT_GAP_CODE;
	gap->why = "no code is known there";
	if (w->is_behind)
		gap->ip = walk(w, w->ip, 1);
	gap->file = dec_pt_image_missing(image_now(w), w->n_applied, gap->ip, &gap->why);
}

/* Did the flow come to where the next PSB says it is? That PSB group tells of its own
 * damage, in its own turn. */
static bool is_in_place(const struct dec_pt_worker *w)
{
	if (!w->seg->has_next || !w->seg->next.is_sound)
		return true;
	return w->seg->next.has_ip ? w->has_arrived : !w->is_enabled;
}

static struct err *segment_end(struct dec_pt_worker *w, int status)
{
	uint64_t at = offset_now(w), end = w->seg->end;
	struct dec_pt_gap gap = { .from_byte = at < end ? at : end,
				  .to_byte = end,
				  .ip = w->ip,
				  .why = pt_errstr(pt_errcode(status)) };

	if (w->has_arrived)
		return NULL;
	if (w->is_idle) {
		gap.kind = DEC_PT_GAP_IDLE;
		gap.from_byte = w->idle_at;
		gap.why = "the code runs on, the packets do not";
	} else if (w->is_alien) {
		gap.kind = DEC_PT_GAP_ERROR;
		gap.why = "packets say that the code is not 64-bit";
	} else if (status == -pte_nomap) {
		gap_code(w, &gap);
	} else if (status != -pte_eos && at < end) {
		gap.kind = DEC_PT_GAP_ERROR;
		if (status == -pte_bad_insn && w->is_behind)
			gap.ip = walk(w, w->ip, 1);
	} else if (!is_in_place(w)) {
		gap.kind = DEC_PT_GAP_PLACE;
		gap.why = "the flow does not lead to where the next PSB is";
	} else {
		return NULL;
	}
	return put_gap(w, &gap);
}

/* ---- its life ----------------------------------------------------------------------------- */

static void segment_begin(struct dec_pt_worker *w, const struct dec_pt_segment *seg,
			  struct dec_pt_batch *batch, dec_pt_batch_fn full, void *ctx)
{
	w->seg = seg;
	w->batch = batch;
	w->full = full;
	w->ctx = ctx;
	w->turn = w->n_applied = SIZE_MAX;
	w->tsc = 0;
	w->is_enabled = seg->psb.has_ip;
	w->has_begun = w->has_arrived = w->is_idle = false;
	w->is_64bit = w->is_alien = false;
	w->idle = 0;
	w->idle_at = seg->psb.at;
	w->ip = w->stepped = 0;
	w->is_behind = false;
}

/* One decoder a segment: libipt cannot be told that the bytes end elsewhere. */
static struct err *segment_open(struct dec_pt_worker *w)
{
	const struct dec_pt_psb *next = &w->seg->next;
	uint64_t until = w->seg->has_next && next->is_sound && !next->is_early ?
				 next->end :
				 w->seg->end;
	const uint8_t *bytes =
		dec_pt_stream_bytes(w->stream, w->seg->psb.at, until, &w->buffer);
	struct err *err = NULL;

	if (!bytes)
		return &err_nomem;
	w->config.begin = (uint8_t *)bytes;
	w->config.end = (uint8_t *)bytes + (until - w->seg->psb.at);
	if (w->stream->has_kernel) {
		err = dec_pt_user_filter(&w->user, &w->config, bytes,
					 until - w->seg->psb.at);
		if (err)
			return err;
		w->config.begin = w->user.bytes;
		w->config.end = w->user.bytes + w->user.n;
		w->batch->kernel_visits += w->user.n_visits;
	}
	w->libipt = pt_blk_alloc_decoder(&w->config);
	if (!w->libipt)
		return &err_nomem;
	if (w->seg->psb.has_tsc)
		err = put_time(w, w->seg->psb.tsc);
	return err ? err : settle(w);
}

struct err *dec_pt_worker_decode(struct dec_pt_worker *w,
				 const struct dec_pt_segment *seg,
				 struct dec_pt_batch *batch, dec_pt_batch_fn full,
				 void *ctx)
{
	struct err *err = NULL;
	int status = 0;

	segment_begin(w, seg, batch, full, ctx);
	if (seg->before.why)
		err = put_gap(w, &seg->before);
	if (err || seg->psb.at >= w->stream->size)
		return err;
	err = segment_open(w);
	if (!err)
		err = segment_decode(w, &status);
	if (!err)
		err = segment_end(w, status);
	if (w->libipt)
		pt_blk_free_decoder(take_ptr(&w->libipt));
	return err;
}

static void worker_configure(struct dec_pt_worker *w,
			     const struct dec_pt_decode_options *o)
{
	const struct dec_pt_clock *c = &w->stream->clock;
	struct pt_config *config = &w->config;

	pt_config_init(config);
	dec_pt_newer_configure(config);
	config->flags.variant.block.end_on_call = o->ends_at_calls;
	config->flags.variant.block.end_on_jump = o->ends_at_jumps;
	config->mtc_freq = c->mtc_shift;
	config->nom_freq = c->nominal_ratio;
	config->cpuid_0x15_eax = c->tsc_den;
	config->cpuid_0x15_ebx = c->tsc_num;
	if (c->family) {
		config->cpu = (struct pt_cpu){ .vendor = pcv_intel,
					       .family = c->family,
					       .model = c->model,
					       .stepping = c->stepping };
		pt_cpu_errata(&config->errata, &config->cpu);
	}
	// Wrong nowhere: where tracing is on, no TIP.PGE follows at once.
	config->errata.bdm70 = 1;
	// Other packets of time come with an event each.
	config->flags.variant.block.enable_tick_events = c->has_ticks;
}

struct err *dec_pt_worker_create(const struct dec_pt_stream *s,
				 const struct dec_pt_decode_options *o, bool wants_runs,
				 struct dec_pt_worker **ret)
{
	struct dec_pt_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return &err_nomem;
	w->stream = s;
	w->wants_runs = wants_runs;
	worker_configure(w, o);
	w->cache = pt_iscache_alloc(NULL);
	if (!w->cache || pt_iscache_set_limit(w->cache, CACHE_BYTES) < 0) {
		dec_pt_worker_destroy(w);
		return &err_nomem;
	}
	*ret = w;
	return NULL;
}

void dec_pt_worker_destroy(struct dec_pt_worker *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->images.size; i++)
		pt_image_free(w->images.data[i].libipt);
	vec_deinit(&w->images);
	vec_deinit(&w->buffer);
	dec_pt_user_deinit(&w->user);
	if (w->cache)
		pt_iscache_free(w->cache);
	free(w);
}

struct err *dec_pt_batch_init(struct dec_pt_batch *b, uint32_t max_runs)
{
	*b = (struct dec_pt_batch){ .max_runs = max_runs };
	b->runs = malloc(max_runs * sizeof(*b->runs));
	return b->runs ? NULL : &err_nomem;
}

void dec_pt_batch_clear(struct dec_pt_batch *b)
{
	b->items.size = b->gaps.size = 0;
	b->n_runs = 0;
	b->instructions = b->all_runs = b->kernel_visits = 0;
}

void dec_pt_batch_deinit(struct dec_pt_batch *b)
{
	free(b->runs);
	vec_deinit(&b->items);
	vec_deinit(&b->gaps);
}
