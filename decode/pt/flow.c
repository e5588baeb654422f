// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/flow_int.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PERF_DATA "perf.data"

/* ---- pieces ------------------------------------------------------------------------------- */

struct flow_pieces {
	const struct dec_pt_flow *flow;
	struct dec_pt_source *source;
	uint64_t end; ///< of what has come, as an offset of the trace buffer
	size_t loss;  ///< the world's next one
};

/* Add the part of @p p from offset @p from up to @p to of its buffer. */
static struct err *pieces_put(struct flow_pieces *s, const struct perf_piece *p,
			      uint64_t from, uint64_t to, const char *lost)
{
	uint64_t at = p->at + (from - p->offset), n = to - from;

	if (at > s->flow->n_bytes)
		at = s->flow->n_bytes;
	if (n > s->flow->n_bytes - at)
		n = s->flow->n_bytes - at;
	return dec_pt_stream_add(&s->source->stream, s->flow->bytes + at, n, lost);
}

/* @return the buffer's next place at which something was lost, if that is in front of @p to
 * and not before @p from; else NULL. */
static const struct dec_pt_loss *pieces_loss(struct flow_pieces *s, uint64_t from,
					     uint64_t to)
{
	const struct dec_pt_world *w = &s->flow->world;

	for (; s->loss < w->losses.size; s->loss++) {
		const struct dec_pt_loss *l = &w->losses.data[s->loss];

		if (s->source->cpu != PERF_NONE ? l->cpu != s->source->cpu :
						  l->tid != s->source->tid)
			continue;
		if (l->offset < from)
			continue;
		return l->offset < to ? l : NULL;
	}
	return NULL;
}

/* Pieces of a snapshot may overlap what has come, and may leave something out. Other pieces
 * only seem to: PAD packets fill the last word of one, and the next goes on behind what
 * was traced. */
static struct err *pieces_add(struct flow_pieces *s, const struct perf_piece *p,
			      bool is_first)
{
	uint64_t from = p->offset, to = p->offset + p->bytes;
	const char *lost = NULL;
	struct err *err = NULL;

	if (!is_first && from < s->end && s->flow->info->pt.is_snapshot)
		from = s->end;
	if (!is_first && from > s->end)
		lost = "bytes of the trace buffer are missing";
	if (from >= to)
		return NULL;
	while (!err && from < to) {
		const struct dec_pt_loss *l = pieces_loss(s, from, to);
		uint64_t until = l ? l->offset : to;

		if (l)
			s->loss++;
		if (until > from || lost)
			err = pieces_put(s, p, from, until, lost);
		lost = l ? l->why : NULL;
		from = until;
		if (l && from == to)
			break;
	}
	s->end = to;
	return err;
}

static struct err *flow_pieces(struct dec_pt_flow *f, const struct perf_stream *stream,
			       struct dec_pt_source *source)
{
	struct flow_pieces s = { f, source, 0, 0 };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < stream->n_pieces; i++)
		err = pieces_add(&s, &f->info->pieces[stream->first_piece + i], i == 0);
	// What was lost behind the last byte.
	if (!err && pieces_loss(&s, s.end, UINT64_MAX))
		err = dec_pt_stream_add(&source->stream, NULL, 0,
					f->world.losses.data[s.loss].why);
	return err;
}

/* ---- streams ------------------------------------------------------------------------------ */

static void flow_clock(const struct perf_info *info, struct dec_pt_clock *ret)
{
	const struct perf_pt *pt = &info->pt;
	unsigned int family, model, stepping;
	uint64_t period = pt->mtc_freq_bits;

	*ret = (struct dec_pt_clock){ .nominal_ratio = pt->max_nonturbo_ratio,
				      .tsc_num = pt->tsc_ctc_n,
				      .tsc_den = pt->tsc_ctc_d };
	if (period)
		ret->mtc_shift = (pt->config & period) >> __builtin_ctzll(period);
	ret->has_ticks = pt->config & (pt->mtc_bit | pt->cyc_bit);
	if (info->host.cpu_id && sscanf(info->host.cpu_id, "GenuineIntel,%u,%u,%u",
					&family, &model, &stepping) == 3) {
		ret->family = family;
		ret->model = model;
		ret->stepping = stepping;
	}
}

static struct err *flow_source(struct dec_pt_flow *f, const struct perf_stream *stream)
{
	struct dec_pt_source *source = vec_push(&f->sources);
	struct err *err;

	if (!source)
		return &err_nomem;
	*source = (struct dec_pt_source){ .number = stream->number,
					  .tid = stream->tid,
					  .cpu = stream->cpu };
	err = stream->cpu == PERF_NONE ?
		      dec_pt_world_thread_turns(&f->world, stream->tid, &source->stream) :
		      dec_pt_world_cpu_turns(&f->world, stream->cpu, &source->stream);
	source->stream.is_timed = true;
	source->stream.has_kernel = !f->info->pt.is_user_only;
	flow_clock(f->info, &source->stream.clock);
	return err ? err : flow_pieces(f, stream, source);
}

static struct err *flow_missing(struct dec_pt_flow *f)
{
	for (size_t i = 0; i < f->files.known.size; i++) {
		const struct dec_pt_file *e = &f->files.known.data[i];

		if (e->fd >= 0)
			continue;
		if (vec_add(&f->missing, (struct dec_pt_missing){ e->path, e->why }))
			return &err_nomem;
	}
	return NULL;
}

/* ---- its life ----------------------------------------------------------------------------- */

struct err *dec_pt_flow_map(struct dec_pt_flow *f, int fd, const char *path)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return err_errno("cannot read '%s'", path);
	if (!st.st_size)
		return err_new(ERR_FORMAT, "it is empty");
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_errno("cannot map '%s'", path);
	f->bytes = p;
	f->n_bytes = st.st_size;
	return NULL;
}

/* The flight recorder's capture: what it still is good for. */
static struct err *no_pt_in_flight(const char *path, const struct cap_info *c)
{
	char history[128] = "";

	if (c->n_events)
		snprintf(history, sizeof(history),
			 "the last %" PRIu64
			 " allocator%s events (`faultline dump'), and ",
			 c->n_events, c->n_store_sites ? " and store" : "");
	return err_new(
		ERR_NOT_FOUND,
		"it holds no Intel PT, which alone tells what ran before its end, and "
		"with which values. What it tells is %sthe end itself (`gdb %s "
		"%s/end.core'). Why there is no PT: %s",
		history, c->exe ?: "PROGRAM", path,
		c->pt.why_not ?: "-e named other events only");
}

static struct err *no_pt(const char *path, const struct cap_info *c)
{
	if (c && c->mode == CAP_MODE_FLIGHT)
		return no_pt_in_flight(path, c);
	if (c)
		return err_new(
			ERR_NOT_FOUND,
			"it holds no Intel PT; `faultline encode %s' makes it from a "
			"replay. Why there is none: %s",
			path, c->pt.why_not ?: "-e pt was not given to `record'");
	return err_new(
		ERR_UNSUPPORTED,
		"it holds no Intel PT: no event of the intel_pt PMU is in it (record "
		"with `perf record -e intel_pt//u')");
}

static struct err *flow_open_file(struct dec_pt_flow *f, const char *path)
{
	struct stat st;
	struct err *err;
	_cleanup_free_ char *inside = NULL;

	if (!stat(path, &st) && S_ISDIR(st.st_mode) && !perf_data_is(path)) {
		err = capture_open(path, &f->capture);
		if (err)
			return err;
		if (asprintf(&inside, "%s/%s", path, PERF_DATA) < 0)
			return &err_nomem;
		if (access(inside, F_OK))
			return no_pt(path, capture_info(f->capture));
	}
	err = inside ? perf_reader_open_in(f->capture, inside, &f->reader) :
		       perf_reader_open(path, &f->reader);
	if (err)
		return err;
	f->info = perf_reader_info(f->reader);
	return f->info->has_pt ? dec_pt_flow_map(f, perf_reader_fd(f->reader), path) :
				 no_pt(path, NULL);
}

/* ---- probes ------------------------------------------------------------------------------- */

/* Packets that are made of a replay, as a clock tells that no machine has, know of probes
 * only if that was asked for. */
static bool has_probes(const struct dec_pt_flow *f)
{
	const struct perf_clock *c = &f->info->pt.clock;

	if (!c->is_known || c->mult != 1 || c->shift || c->zero)
		return true;
	for (size_t i = 0; i < f->info->n_cmdline; i++)
		if (!strcmp(f->info->cmdline[i], "--probes"))
			return true;
	return false;
}

/* Where each breakpoint of @p b lay in @p image, by the mappings of its file. */
static struct err *image_breaks(struct dec_pt_image *image, const char *path,
				const struct cap_breakpoints *b)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < image->maps.size; i++) {
		const struct dec_pt_map m = image->maps.data[i];

		// What start.core has of the file lies there under its name, too.
		if (strcmp(m.path, path) != 0 || m.fd < 0 || m.is_core)
			continue;
		for (size_t k = 0; !err && k < b->n; k++)
			if (b->offsets[k] - m.file_offset < m.size)
				err = dec_pt_image_break(image, path,
							 m.addr + b->offsets[k] -
								 m.file_offset);
	}
	return err;
}

/* The recorder tells of the probes of the process that the capture is of. */
static struct err *flow_breaks(struct dec_pt_flow *f)
{
	const struct cap_info *info = f->capture ? capture_info(f->capture) : NULL;
	struct err *err = NULL;

	if (!info || !info->pt.n_breakpoints || !has_probes(f))
		return NULL;
	for (size_t i = 0; !err && i < f->world.eras.size; i++) {
		struct dec_pt_image *image = f->world.eras.data[i].image;

		if (f->world.eras.data[i].pid != info->pid)
			continue;
		image->page.addr = info->pt.probe_page;
		image->page.n_back = info->pt.n_back;
		memcpy(image->page.back, info->pt.back, sizeof(image->page.back));
		for (size_t k = 0; !err && k < info->pt.n_breakpoints; k++) {
			const struct cap_breakpoints *b = &info->pt.breakpoints[k];

			err = image_breaks(image, info->files[b->file - 1].path, b);
		}
	}
	return err;
}

static struct err *flow_fill(struct dec_pt_flow *f, const char *symfs)
{
	struct err *err;

	dec_pt_files_init(&f->files, f->capture, f->info, symfs);
	err = dec_pt_world_init(&f->world, f->reader, &f->files);
	if (!err)
		err = flow_breaks(f);
	if (!err && vec_reserve(&f->sources, f->info->n_streams))
		err = &err_nomem;
	for (size_t i = 0; !err && i < f->info->n_streams; i++)
		err = flow_source(f, &f->info->streams[i]);
	return err ? err : flow_missing(f);
}

struct err *dec_pt_flow_open(const char *path, const char *symfs,
			     struct dec_pt_flow **ret)
{
	_cleanup_(dec_pt_flow_closep) struct dec_pt_flow *f = calloc(1, sizeof(*f));
	struct err *err;

	if (!f)
		return &err_nomem;
	f->files.vdso = -1;
	err = flow_open_file(f, path);
	if (!err)
		err = flow_fill(f, symfs);
	if (err)
		return err;
	*ret = take_ptr(&f);
	return NULL;
}

void dec_pt_flow_close(struct dec_pt_flow *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->sources.size; i++)
		dec_pt_stream_deinit(&f->sources.data[i].stream);
	vec_deinit(&f->sources);
	vec_deinit(&f->missing);
	dec_pt_world_deinit(&f->world);
	dec_pt_files_deinit(&f->files);
	if (f->bytes)
		munmap((void *)f->bytes, f->n_bytes);
	perf_reader_close(f->reader);
	capture_close(f->capture);
	free(f);
}

void dec_pt_flow_closep(struct dec_pt_flow **f)
{
	dec_pt_flow_close(*f);
}

/* ---- what it knows ------------------------------------------------------------------------- */

const struct perf_info *dec_pt_flow_info(const struct dec_pt_flow *f)
{
	return f->info;
}

const struct dec_pt_source *dec_pt_flow_sources(const struct dec_pt_flow *f, size_t *n)
{
	*n = f->sources.size;
	return f->sources.data;
}

const struct dec_pt_thread *dec_pt_flow_threads(const struct dec_pt_flow *f, size_t *n)
{
	*n = f->world.threads.size;
	return f->world.threads.data;
}

int dec_pt_flow_file(const struct dec_pt_flow *f, const char *path)
{
	const struct dec_pt_file *e =
		vec_find(&f->files.known, k, k->fd >= 0 && !strcmp(k->path, path));

	return e ? e->fd : -1;
}

const struct dec_pt_thread *dec_pt_flow_thread(const struct dec_pt_flow *f, uint32_t tid)
{
	return vec_find(&f->world.threads, t, t->tid == tid);
}

const struct dec_pt_missing *dec_pt_flow_missing(const struct dec_pt_flow *f, size_t *n)
{
	*n = f->missing.size;
	return f->missing.data;
}

uint64_t dec_pt_flow_ns(const struct dec_pt_flow *f, uint64_t tsc)
{
	const struct perf_clock *clock = &f->info->pt.clock;

	return tsc && clock->is_known ? perf_clock_ns(clock, tsc) : 0;
}
