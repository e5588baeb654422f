// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/from_capture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/perf_data.h"
#include "decode/machine/log.h"
#include "decode/pt/encode.h"
#include "decode/pt/sideband.h"

/* PMU types are the kernel's to give; this is what intel_pt has on most machines. */
#define PMU_TYPE 8

enum {
	MTC_SHIFT = 3, ///< an MTC each 320 ns
	CYC_SHIFT = 0,
};

struct encode {
	const struct capture *capture;
	const struct dec_encode_options *o;
	struct dec_encode_result *ret;
	struct perf_writer *writer;
	struct dec_sideband sideband;
	struct dec_pt_encoder *encoder;
	struct map streams;	  ///< thread -> number of its stream, plus 1
	struct log_reader reader; ///< for code that is no file's
	struct map unfiled;	  ///< address of an instruction there -> 1
	struct map probes;	  ///< address -> enum dec_pt_probe
};

/* ---- the file's head ------------------------------------------------------------------------ */

/* @return log2 of how many times 2 KiB there are between PSBs, as the CPU has it. */
static uint64_t psb_period(uint64_t bytes)
{
	uint64_t n = 0;

	while (n < 15 && (4096ull << n) <= bytes)
		n++;
	return n << __builtin_ctz(PERF_PT_PSB_PERIOD);
}

static struct perf_pt describe_pt(const struct dec_encode_options *o)
{
	struct perf_pt pt = {
		.pmu_type = PMU_TYPE,
		.config = PERF_PT_ENABLE | PERF_PT_TSC | PERF_PT_BRANCH |
			  psb_period(o->psb_bytes),
		.tsc_bit = PERF_PT_TSC,
		.noretcomp_bit = PERF_PT_NORETCOMP,
		.mtc_bit = PERF_PT_MTC,
		.cyc_bit = PERF_PT_CYC,
		.mtc_freq_bits = PERF_PT_MTC_PERIOD,
		.tsc_ctc_n = DEC_PT_TSC_NUM,
		.tsc_ctc_d = DEC_PT_TSC_DEN,
		.max_nonturbo_ratio = DEC_PT_NOMINAL_RATIO,
		.is_user_only = true,
		.clock = { .mult = 1, .is_known = true },
	};

	if (!o->compresses_returns)
		pt.config |= PERF_PT_NORETCOMP;
	if (o->has_timing)
		pt.config |= PERF_PT_MTC |
			     MTC_SHIFT << __builtin_ctz(PERF_PT_MTC_PERIOD) |
			     PERF_PT_CYC |
			     (CYC_SHIFT + 1) << __builtin_ctz(PERF_PT_CYC_THRESHOLD);
	return pt;
}

static struct err *create_writer(struct encode *e, const struct perf_writer_options *o)
{
	const struct new_file *f = e->o->file;
	int fd = fcntl(fileno(f->stream), F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? err_errno("cannot write '%s'", f->path) :
			perf_writer_create_fd(fd, f->path, o, &e->writer);
}

static struct err *create_file(struct encode *e)
{
	struct perf_writer_options o = { .pt = describe_pt(e->o),
					 .cmdline = e->o->cmdline };
	struct err *err = perf_host_init(&o.host);

	// The CPU is the software machine, which has no model.
	free(o.host.cpu_desc);
	free(o.host.cpu_id);
	o.host.cpu_desc = o.host.cpu_id = NULL;
	if (!err)
		err = create_writer(e, &o);
	perf_host_deinit(&o.host);
	return err;
}

static struct err *list_build_ids(struct encode *e)
{
	const struct cap_info *info = capture_info(e->capture);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < info->n_files; i++) {
		uint8_t id[PERF_BUILD_ID_MAX] = {};
		size_t n = dec_build_id(info->files[i].build_id, id);

		if (n)
			err = perf_writer_build_id(e->writer, info->pid,
						   info->files[i].path, id, n);
	}
	return err;
}

/* ---- the streams ----------------------------------------------------------------------------- */

static struct err *on_packets(void *ctx, uint32_t tid, const uint8_t *bytes, size_t n)
{
	struct encode *e = ctx;
	uint64_t *known = map_get(&e->streams, tid);
	struct perf_piece piece = { .tid = tid, .cpu = PERF_NONE, .offset = UINT64_MAX };

	if (e->o->tid && tid != e->o->tid)
		return NULL;
	if (!known) {
		if (map_put(&e->streams, tid, ++e->ret->n_streams))
			return &err_nomem;
		known = map_get(&e->streams, tid);
	}
	piece.stream = *known - 1;
	piece.reference = e->sideband.first_tsc ?: 1;
	e->ret->pt_bytes += n;
	return perf_writer_stream(e->writer, &piece, bytes, n);
}

static struct err *note_code(struct encode *e, const struct dec_insn *insn)
{
	if (map_get(&e->unfiled, insn->rip) ||
	    !dec_sideband_is_unfiled(&e->sideband, insn->rip))
		return NULL;
	e->ret->unfiled_bytes += insn->len;
	return map_put(&e->unfiled, insn->rip, 1) ? &err_nomem : NULL;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	uint32_t *seen = b->user;
	struct err *err = NULL;

	(void)rec;
	(void)time;
	if (!seen) {
		seen = b->user = calloc(1, sizeof(*seen));
		if (!seen)
			return &err_nomem;
	}
	for (; !err && *seen < n_ran; ++*seen)
		err = note_code(ctx, &b->insn[*seen]);
	return err;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	(void)rec;
	(void)time;
	return note_code(ctx, insn);
}

static struct err *on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { .ctx = ctx, .block = on_block, .slow = on_slow };
	struct encode *e = ctx;
	struct err *err = NULL;

	// Few programs compile: the others need no second look.
	if (e->sideband.unfiled.size)
		err = dec_log_reader_feed(&e->reader, &sink, log, bytes);
	return err ? err : dec_pt_encoder_feed(e->encoder, log, bytes);
}

/* ---- probes ------------------------------------------------------------------------------- */

/* File @p file was mapped as code: where are its breakpoints? */
static struct err *probes_add(struct encode *e, uint32_t file, uint64_t addr,
			      uint64_t size, uint64_t file_offset)
{
	const struct cap_pt *pt = &capture_info(e->capture)->pt;

	for (size_t i = 0; i < pt->n_breakpoints; i++) {
		const struct cap_breakpoints *b = &pt->breakpoints[i];

		for (size_t k = 0; k < b->n && b->file == file; k++)
			if (b->offsets[k] - file_offset < size &&
			    map_put(&e->probes, addr + b->offsets[k] - file_offset,
				    DEC_PT_PROBE_ANY))
				return &err_nomem;
	}
	return NULL;
}

static struct err *probes_of_start(struct encode *e)
{
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(e->capture, &core);

	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->file && m->prot & PROT_EXEC)
			err = probes_add(e, m->file, m->start, m->end - m->start,
					 m->file_offset);
	}
	cap_core_close(core);
	return err;
}

static struct err *probes_of_event(void *ctx, const struct cap_event *ev)
{
	if (ev->kind != CAP_EV_SYSCALL || !ev->file ||
	    ev->regs.gpr[CAP_RAX] != SYS_mmap || !(ev->regs.gpr[CAP_RDX] & PROT_EXEC))
		return NULL;
	return probes_add(ctx, ev->file, ev->ret, ev->regs.gpr[CAP_RSI], ev->file_offset);
}

/* Where the recorder's probes were in the process's memory. */
static struct err *probes_find(struct encode *e)
{
	struct err *err = probes_of_start(e);

	return err ? err : cap_events_each(e->capture, probes_of_event, e);
}

static struct err *run(struct encode *e)
{
	struct dec_pt_options po = { .psb_bytes = e->o->psb_bytes,
				     .compresses_returns = e->o->compresses_returns,
				     .has_tsc = true,
				     .has_mtc = e->o->has_timing,
				     .mtc_shift = MTC_SHIFT,
				     .has_cyc = e->o->has_timing,
				     .cyc_shift = CYC_SHIFT,
				     .probes = e->o->has_probes ? &e->probes : NULL,
				     .probe_page =
					     capture_info(e->capture)->pt.probe_page };
	struct dec_machine_options mo = { .output_fd = -1,
					  .progress = e->o->progress,
					  .ctx = e->o->progress_ctx };
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = NULL;
	struct dec_where *w = &e->ret->where;
	struct err *err;

	err = e->o->has_probes ? probes_find(e) : NULL;
	if (!err && e->o->has_probes && (!e->probes.size || !po.probe_page))
		err = err_new(ERR_NOT_FOUND,
			      "its recording tells of no probes (record with "
			      "-e pt and -e heap or -e stores)");
	if (!err)
		err = dec_pt_encoder_create(e->capture, &po, on_packets, e, &e->encoder);
	if (!err)
		err = dec_machine_create(e->capture, &mo, &m);
	if (!err)
		err = dec_machine_run_logged(m, DEC_LOG_FLOW, on_log, e, UINT64_MAX >> 1,
					     w);
	if (!err)
		err = dec_pt_encoder_finish(e->encoder, w->rip);
	if (err || (w->at == DEC_AT_END && !w->is_cut))
		return err;
	e->ret->divergence = strdup(dec_machine_divergence(m) ?: "?");
	return e->ret->divergence ? NULL : &err_nomem;
}

/* That there is data, as the kernel says for each piece that it hands out. */
static struct err *put_aux(struct encode *e)
{
	const struct cap_info *info = capture_info(e->capture);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < e->streams.capacity; i++) {
		uint32_t tid = e->streams.slots[i].key;
		struct perf_record r = { .kind = PERF_AUX,
					 .pid = info->pid,
					 .tid = tid,
					 .time_ns = e->sideband.last_tsc + 1 };

		if (e->streams.slots[i].key == MAP_EMPTY_KEY)
			continue;
		r.aux.bytes = dec_pt_encoder_stats(e->encoder, tid)->bytes;
		err = perf_writer_record(e->writer, &r);
	}
	return err;
}

static struct err *encode(struct encode *e)
{
	struct err *err = create_file(e);

	if (!err)
		err = list_build_ids(e);
	if (!err)
		err = dec_sideband_write(e->capture, e->writer, &e->sideband);
	if (!err)
		err = run(e);
	if (!err && e->o->tid && !e->ret->n_streams)
		err = err_new(ERR_NOT_FOUND, "thread %u did not run", e->o->tid);
	if (!err)
		err = put_aux(e);
	if (!err)
		err = perf_writer_finish(e->writer, &e->ret->bytes);
	return err;
}

struct err *dec_encode(const struct capture *c, const struct dec_encode_options *o,
		       struct dec_encode_result *ret)
{
	struct encode e = { .capture = c, .o = o, .ret = ret };
	struct err *err;

	*ret = (struct dec_encode_result){};
	dec_log_reader_init(&e.reader, DEC_LOG_FLOW, 0);
	err = encode(&e);
	perf_writer_destroy(e.writer);
	dec_pt_encoder_destroy(e.encoder);
	dec_sideband_deinit(&e.sideband);
	dec_log_reader_deinit(&e.reader);
	map_deinit(&e.streams);
	map_deinit(&e.unfiled);
	map_deinit(&e.probes);
	return err;
}

void dec_encode_deinit(struct dec_encode_result *r)
{
	free(r->divergence);
	*r = (struct dec_encode_result){};
}
