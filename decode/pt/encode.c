// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From the machine's log to the streams: which thread runs, and what it meets.
 */

#include "decode/pt/encode.h"

#include <assert.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/log.h"
#include "decode/pt/encode_int.h"
#include "decode/x86/zydis.h"

struct dec_pt_encoder {
	struct dec_pt_options o;
	dec_pt_write_fn write;
	void *ctx;
	struct log_reader reader;
	struct pt_clock clock;
	uint64_t now; ///< position of the next instruction
	VEC(struct pt_stream *) streams;
	struct map by_tid; ///< -> index of streams
	struct pt_stream *current;
};

/* ---- streams ------------------------------------------------------------------------------ */

static void encoder_free_stream(struct pt_stream *s)
{
	vec_deinit(&s->returns);
	dec_pt_packets_deinit(s);
	free(s);
}

static struct err *encoder_add(struct dec_pt_encoder *e, uint32_t tid)
{
	struct pt_stream *s = calloc(1, sizeof(*s)), **place;
	struct err *err;

	if (!s)
		return &err_nomem;
	*s = (struct pt_stream){ .tid = tid,
				 .o = &e->o,
				 .clock = &e->clock,
				 .write = e->write,
				 .ctx = e->ctx };
	err = dec_pt_packets_init(s);
	place = err ? NULL : vec_push(&e->streams);
	if (!place || map_put(&e->by_tid, tid, e->streams.size - 1)) {
		e->streams.size -= place != NULL;
		encoder_free_stream(s);
		return err ? err : &err_nomem;
	}
	*place = s;
	return NULL;
}

/* Thread @p tid runs from here on. */
static struct err *encoder_select(struct dec_pt_encoder *e, uint32_t tid)
{
	struct err *err = NULL;

	if (!map_get(&e->by_tid, tid))
		err = encoder_add(e, tid);
	if (!err)
		e->current = e->streams.data[*map_get(&e->by_tid, tid)];
	return err;
}

/* ---- the log ------------------------------------------------------------------------------ */

static struct err *encoder_lost(void)
{
	return err_new(ERR_FORMAT, "the machine's log is damaged: nobody runs");
}

/* The running thread executed @p n instructions from @p rip on. */
static struct err *encoder_ran(struct dec_pt_encoder *e, uint64_t rip,
			       const struct dec_insn *last, uint64_t n, uint64_t time)
{
	struct err *err = e->current ? dec_pt_flow_arrive(e->current, rip, time) :
				       encoder_lost();

	e->now = time + n;
	if (err)
		return err;
	dec_pt_clock_run(&e->clock, n);
	dec_pt_flow_ran(e->current, last, n);
	return NULL;
}

/* ---- PTWRITE ------------------------------------------------------------------------------- */

/* Which instructions of a block write: bit n, instruction n. */
static struct err *encoder_find_ptwrites(const struct dec_pt_encoder *e,
					 struct log_block *b)
{
	uint64_t *which = calloc(1, sizeof(*which));

	_Static_assert(DEC_BLOCK_INSNS <= 64, "a bit for each instruction");
	b->user = which;
	for (uint32_t i = 0; which && i < b->n_insns; i++) {
		bool is_one = b->insn[i].mnemonic == ZYDIS_MNEMONIC_PTWRITE;

		for (size_t k = 0; k < e->o.n_ptwrites; k++)
			is_one |= e->o.ptwrites[k] == b->insn[i].rip;
		*which |= (uint64_t)is_one << i;
	}
	return which ? NULL : &err_nomem;
}

static struct err *encoder_ptwrites(struct dec_pt_encoder *e, struct log_block *b,
				    uint32_t n_ran, uint64_t time)
{
	struct err *err = b->user ? NULL : encoder_find_ptwrites(e, b);
	uint64_t value, which;

	if (err)
		return err;
	which = *(const uint64_t *)b->user;
	for (uint32_t i = 0; !err && i < n_ran && which >> i; i++) {
		uint64_t rip = b->insn[i].rip;

		if (which >> i & 1 &&
		    e->o.ptwrite(e->ctx, e->current->tid, time + i, rip, &value))
			err = dec_pt_flow_ptwrite(e->current, rip, value);
	}
	return err;
}

/* ---- what runs ----------------------------------------------------------------------------- */

/* The running thread executed instructions @p from up to @p to of block @p b. */
static struct err *encoder_part(struct dec_pt_encoder *e, const struct log_block *b,
				uint32_t from, uint32_t to, uint64_t time)
{
	return to > from ? encoder_ran(e, b->insn[from].rip, &b->insn[to - 1], to - from,
				       time + from) :
			   NULL;
}

/* The running thread executes @p insn, at which there is a probe. */
static struct err *encoder_probe(struct dec_pt_encoder *e, const struct dec_insn *insn,
				 uint64_t probe, uint64_t time)
{
	e->now = time + 1;
	if (!e->current)
		return encoder_lost();
	dec_pt_clock_run(&e->clock, 1);
	return dec_pt_flow_probe(e->current, insn, probe, time);
}

static struct err *encoder_probed_block(struct dec_pt_encoder *e,
					const struct log_block *b, uint32_t n_ran,
					uint64_t time)
{
	struct err *err = NULL;
	uint32_t from = 0;

	for (uint32_t i = 0; !err && i < n_ran; i++) {
		const uint64_t *probe = map_get(e->o.probes, b->insn[i].rip);

		if (!probe)
			continue;
		err = encoder_part(e, b, from, i, time);
		if (!err)
			err = encoder_probe(e, &b->insn[i], *probe, time + i);
		from = i + 1;
	}
	return err ? err : encoder_part(e, b, from, n_ran, time);
}

static struct err *encoder_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				    uint32_t n_ran, uint64_t time)
{
	struct dec_pt_encoder *e = ctx;
	struct err *err;

	(void)rec;
	if (!n_ran)
		return NULL;
	err = e->o.probes ? encoder_probed_block(e, b, n_ran, time) :
			    encoder_part(e, b, 0, n_ran, time);
	return err || !e->o.ptwrite ? err : encoder_ptwrites(e, b, n_ran, time);
}

/* It executes @p insn, which may be probed. */
static struct err *encoder_one(struct dec_pt_encoder *e, const struct dec_insn *insn,
			       uint64_t time)
{
	const uint64_t *probe = e->o.probes ? map_get(e->o.probes, insn->rip) : NULL;

	return probe ? encoder_probe(e, insn, *probe, time) :
		       encoder_ran(e, insn->rip, insn, 1, time);
}

static struct err *encoder_on_slow(void *ctx, const struct dec_rec_slow *rec,
				   const struct dec_insn *insn, uint64_t time)
{
	(void)rec;
	return encoder_one(ctx, insn, time);
}

/* The running thread executes the system call instruction at @p rip. */
static struct err *encoder_call(struct dec_pt_encoder *e, uint64_t rip, uint64_t time)
{
	struct dec_insn insn = { .rip = rip, .len = 2, .flow = DEC_FLOW_SYSCALL };
	struct err *err = encoder_ran(e, rip, &insn, 1, time);

	return err ? err : dec_pt_flow_enter(e->current);
}

static struct err *encoder_on_syscall(struct dec_pt_encoder *e, const struct dec_rec *rec,
				      uint64_t time)
{
	int64_t ret = rec->value[1];
	struct dec_pt_mapping m = { .file = rec->value[9],
				    .addr = ret,
				    .size = rec->value[4],
				    .file_offset = rec->value[10] };
	struct err *err = NULL;

	if (!e->current)
		return encoder_lost();
	if (!e->current->is_in_call)
		err = encoder_call(e, rec->value[2], time);
	e->current->is_in_call = false;
	if (!err)
		err = dec_pt_clock_meet(&e->clock, rec->value[14]);
	if (err || rec->value[0] != SYS_mmap || !m.file || !(rec->value[5] & PROT_EXEC) ||
	    (ret < 0 && ret > -4096))
		return err;
	// Whoever reads must know that what comes is later than the mapping.
	e->current->is_scheduled &= !e->o.has_tsc;
	if (!e->o.map)
		return NULL;
	m.tid = e->current->tid;
	m.tsc = dec_pt_clock_tsc(&e->clock);
	return e->o.map(e->ctx, &m);
}

/* The running thread loses the CPU. */
static struct err *encoder_leave(struct dec_pt_encoder *e, const struct dec_rec *rec,
				 uint64_t time)
{
	struct pt_stream *s = e->current;
	uint64_t rip = rec->value[1];
	bool is_in_call = rec->value[2];
	struct err *err = NULL;

	if (!s || !rip)
		return NULL;
	s->is_scheduled = false;
	if (is_in_call && !s->is_in_call) {
		err = encoder_call(e, rip, time);
		s->is_in_call = true;
	} else if (s->is_enabled) {
		err = dec_pt_flow_interrupt(s, rip, time);
	}
	return err;
}

static struct err *encoder_on_thread(struct dec_pt_encoder *e, const struct dec_rec *rec,
				     uint64_t time)
{
	struct err *err = encoder_leave(e, rec, time);

	if (!err && rec->value[1])
		err = dec_pt_clock_meet(&e->clock, rec->value[3]);
	return err ? err : encoder_select(e, rec->value[0]);
}

static struct err *encoder_on_state(struct dec_pt_encoder *e, const struct dec_rec *rec,
				    uint64_t time)
{
	struct dec_insn insn = { .rip = rec->value[16] - rec->value[18],
				 .len = rec->value[18],
				 .flow = DEC_FLOW_NEXT };
	struct err *err = NULL;

	if (!e->current)
		return encoder_lost();
	switch ((enum dec_state_why)rec->value[20]) {
	case DEC_STATE_INSN: // rdtsc, cpuid, rdrand
		err = encoder_one(e, &insn, time);
		break;
	case DEC_STATE_SIGNAL:
		if (e->current->is_enabled)
			err = dec_pt_flow_interrupt(e->current, rec->value[21], time);
		break;
	case DEC_STATE_REP:
		dec_pt_flow_again(e->current);
		return NULL;	// the event is still to come
	case DEC_STATE_OMITTED: // nobody encodes those
	case DEC_STATE_NOW:
	case DEC_STATE_CALL:
		break;
	}
	return err ? err : dec_pt_clock_meet(&e->clock, rec->value[22]);
}

static struct err *encoder_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	switch (rec->id) {
	case DEC_REC_SYSCALL:
		return encoder_on_syscall(ctx, rec, time);
	case DEC_REC_STATE:
		return encoder_on_state(ctx, rec, time);
	case DEC_REC_THREAD:
		return encoder_on_thread(ctx, rec, time);
	default:
		return NULL;
	}
}

/* ---- its life ------------------------------------------------------------------------------ */

struct err *dec_pt_encoder_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { ctx, encoder_on_block, encoder_on_slow,
				 encoder_on_other };
	struct dec_pt_encoder *e = ctx;

	return dec_log_reader_feed(&e->reader, &sink, log, bytes);
}

struct err *dec_pt_encoder_lose(struct dec_pt_encoder *e, uint64_t n_insns)
{
	return e->current ? dec_pt_flow_lose(e->current, e->now + n_insns) :
			    encoder_lost();
}

void dec_pt_encoder_add(struct dec_pt_encoder *e, enum dec_pt_extra extra)
{
	if (e->current)
		e->current->extras |= 1u << extra;
}

struct err *dec_pt_encoder_finish(struct dec_pt_encoder *e, uint64_t rip)
{
	struct err *err = NULL;

	if (e->current && e->current->is_enabled) {
		e->current->lose_until = 0;
		err = dec_pt_flow_interrupt(e->current, rip, e->now);
	}
	for (size_t i = 0; !err && i < e->streams.size; i++)
		err = dec_pt_packets_flush(e->streams.data[i]);
	return err;
}

const struct dec_pt_stats *dec_pt_encoder_stats(const struct dec_pt_encoder *e,
						uint32_t tid)
{
	const uint64_t *at = map_get(&e->by_tid, tid);

	return at ? &e->streams.data[*at]->stats : NULL;
}

struct err *dec_pt_encoder_create(const struct capture *c, const struct dec_pt_options *o,
				  dec_pt_write_fn fn, void *ctx,
				  struct dec_pt_encoder **ret)
{
	struct dec_pt_encoder *e = calloc(1, sizeof(*e));
	struct err *err;

	if (!e)
		return &err_nomem;
	assert(o->psb_bytes && "a stream has PSBs");
	assert((!o->has_mtc || o->has_tsc) && "ticks are counted from a TSC");
	e->o = *o;
	e->write = fn;
	e->ctx = ctx;
	dec_log_reader_init(&e->reader, DEC_LOG_FLOW, 0);
	err = dec_pt_clock_init(&e->clock, c);
	if (err) {
		dec_pt_encoder_destroy(e);
		return err;
	}
	*ret = e;
	return NULL;
}

void dec_pt_encoder_destroy(struct dec_pt_encoder *e)
{
	if (!e)
		return;
	dec_log_reader_deinit(&e->reader);
	dec_pt_clock_deinit(&e->clock);
	for (size_t i = 0; i < e->streams.size; i++)
		encoder_free_stream(e->streams.data[i]);
	vec_deinit(&e->streams);
	map_deinit(&e->by_tid);
	free(e);
}
