// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Nothing is known of a block's last branch until the next block begins, so that packets
 * are made on arrival: pt_arrive() knows where control came from (`last`) and where it
 * is. Kernel entries are not traced: a system call is TIP.PGD, an interruption is FUP
 * and TIP.PGD, and the instruction that comes next, wherever it is, TIP.PGE. Where a
 * signal landed is not in the log but in the capture's events, read beside it.
 */

#include "decode/dec_pt_encode.h"

#include <assert.h>
#include <intel-pt.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/dec_log.h"

enum {
	PT_CALLS = 64,	  ///< calls a decoder remembers
	PT_TNT_SHORT = 6, ///< bits
	PT_TNT_LONG = 47,
	PT_BUFFER_BYTES = 65536,
};

/* The last instruction that ran. */
struct pt_last {
	uint64_t rip, target;
	uint8_t len, flow;
};

struct dec_pt_encoder {
	struct dec_pt_options o;
	dec_pt_write_fn write;
	void *ctx;
	struct log_reader reader;
	struct cap_events *events;
	uint64_t at_ns;	  ///< of the last event
	bool skips_state; ///< the next STATE record belongs to a system call
	bool has_begun;
	bool is_enabled; ///< between TIP.PGE and TIP.PGD
	bool is_losing;
	uint64_t lose_until; ///< position
	uint64_t now;
	struct pt_last last;
	uint64_t tnt; ///< pending bits, the youngest lowest
	unsigned int n_tnt;
	uint64_t last_ip;	 ///< for IP compression
	uint64_t call[PT_CALLS]; ///< ring of return addresses
	unsigned int top, n_calls;
	uint64_t psb_at; ///< bytes of the stream before the last PSB
	struct pt_encoder *libipt;
	struct dec_pt_stats stats;
	uint8_t buffer[PT_BUFFER_BYTES];
};

/* ---- packets ---------------------------------------------------------------------------- */

static struct err *pt_failed(int status)
{
	return err_new(ERR_UNSUPPORTED, "cannot encode a PT packet: %s",
		       pt_errstr(pt_errcode(status)));
}

static struct err *pt_flush(struct dec_pt_encoder *e)
{
	uint64_t n = 0;
	int status = pt_enc_get_offset(e->libipt, &n);
	struct err *err;

	if (status < 0)
		return pt_failed(status);
	err = n ? e->write(e->ctx, e->buffer, n) : NULL;
	if (err)
		return err;
	status = pt_enc_sync_set(e->libipt, 0);
	return status < 0 ? pt_failed(status) : NULL;
}

static struct err *pt_put(struct dec_pt_encoder *e, const struct pt_packet *p)
{
	int status = pt_enc_next(e->libipt, p);

	if (status == -pte_eos) {
		struct err *err = pt_flush(e);

		if (err)
			return err;
		status = pt_enc_next(e->libipt, p);
	}
	if (status < 0)
		return pt_failed(status);
	e->stats.bytes += status;
	return NULL;
}

static struct err *pt_put_plain(struct dec_pt_encoder *e, enum pt_packet_type type)
{
	struct pt_packet p = { .type = type };

	return pt_put(e, &p);
}

/* Bits that fill no long packet are shortest as short ones. */
static struct err *pt_put_tnt(struct dec_pt_encoder *e)
{
	struct err *err = NULL;

	while (!err && e->n_tnt) {
		bool is_split = e->n_tnt > PT_TNT_SHORT && e->n_tnt <= 7 * PT_TNT_SHORT;
		unsigned int n = is_split ? PT_TNT_SHORT : e->n_tnt;
		struct pt_packet p = { .type = n > PT_TNT_SHORT ? ppt_tnt_64 :
								  ppt_tnt_8 };

		// The oldest bits go first.
		p.payload.tnt.bit_size = n;
		p.payload.tnt.payload = (e->tnt >> (e->n_tnt - n)) & ((1ull << n) - 1);
		e->n_tnt -= n;
		*(n > PT_TNT_SHORT ? &e->stats.tnt_long : &e->stats.tnt_short) += 1;
		err = pt_put(e, &p);
	}
	e->tnt = 0;
	return err;
}

static struct err *pt_bit(struct dec_pt_encoder *e, bool is_taken)
{
	e->tnt = e->tnt << 1 | is_taken;
	e->n_tnt++;
	e->stats.tnt_bits++;
	return e->n_tnt == PT_TNT_LONG ? pt_put_tnt(e) : NULL;
}

/* The fewest bytes that make @p ip of the last one. */
static enum pt_ip_compression pt_compression(uint64_t last, uint64_t ip)
{
	if (last >> 16 == ip >> 16)
		return pt_ipc_update_16;
	if (last >> 32 == ip >> 32)
		return pt_ipc_update_32;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		return pt_ipc_sext_48;
	return last >> 48 == ip >> 48 ? pt_ipc_update_48 : pt_ipc_full;
}

static struct err *pt_put_ip(struct dec_pt_encoder *e, enum pt_packet_type type,
			     uint64_t ip)
{
	static const uint8_t bits[] = { [pt_ipc_update_16] = 16,
					[pt_ipc_update_32] = 32,
					[pt_ipc_sext_48] = 48,
					[pt_ipc_update_48] = 48,
					[pt_ipc_full] = 64 };
	struct pt_packet p = { .type = type };
	struct err *err = pt_put_tnt(e);

	if (err)
		return err;
	p.payload.ip.ipc = pt_compression(e->last_ip, ip);
	p.payload.ip.ip = ip & (UINT64_MAX >> (64 - bits[p.payload.ip.ipc]));
	e->last_ip = ip;
	*(type == ppt_fup ? &e->stats.fup :
	  type == ppt_tip ? &e->stats.tip :
			    &e->stats.pge) += 1;
	return pt_put(e, &p);
}

/* What user-only tracing says of an entry to the kernel: no address. */
static struct err *pt_disable(struct dec_pt_encoder *e)
{
	struct pt_packet p = { .type = ppt_tip_pgd };
	struct err *err;

	e->is_enabled = false;
	if (e->is_losing)
		return NULL;
	p.payload.ip.ipc = pt_ipc_suppressed;
	err = pt_put_tnt(e);
	e->stats.pgd++;
	return err ? err : pt_put(e, &p);
}

static struct err *pt_put_mode(struct dec_pt_encoder *e)
{
	struct pt_packet p = { .type = ppt_mode };

	p.payload.mode.leaf = pt_mol_exec;
	p.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	return pt_put(e, &p);
}

static struct err *pt_put_tsc(struct dec_pt_encoder *e)
{
	struct pt_packet p = { .type = ppt_tsc };

	p.payload.tsc.tsc = e->at_ns & ((1ull << 56) - 1);
	return e->o.has_tsc ? pt_put(e, &p) : NULL;
}

/* PSB+: all that a decoder needs that begins here. */
static struct err *pt_put_psb(struct dec_pt_encoder *e, uint64_t rip)
{
	struct err *err = pt_put_tnt(e);

	e->psb_at = e->stats.bytes;
	e->last_ip = 0;
	e->n_calls = 0;
	e->stats.psb++;
	if (!err)
		err = pt_put_plain(e, ppt_psb);
	if (!err)
		err = pt_put_tsc(e);
	if (!err && e->is_enabled)
		err = pt_put_mode(e);
	if (!err && e->is_enabled)
		err = pt_put_ip(e, ppt_fup, rip);
	return err ? err : pt_put_plain(e, ppt_psbend);
}

/* ---- control flow ----------------------------------------------------------------------- */

static void pt_remember_call(struct dec_pt_encoder *e)
{
	// A call of the next instruction only wants to know where it is.
	if (e->last.flow == DEC_FLOW_CALL && e->last.target == e->last.rip + e->last.len)
		return;
	e->call[e->top] = e->last.rip + e->last.len;
	e->top = (e->top + 1) % PT_CALLS;
	if (e->n_calls < PT_CALLS)
		e->n_calls++;
}

static struct err *pt_return(struct dec_pt_encoder *e, uint64_t rip)
{
	unsigned int top = (e->top + PT_CALLS - 1) % PT_CALLS;

	if (!e->o.compresses_returns || !e->n_calls || e->call[top] != rip)
		return pt_put_ip(e, ppt_tip, rip);
	e->top = top;
	e->n_calls--;
	e->stats.returns_compressed++;
	return pt_bit(e, true);
}

static struct err *pt_broken(const struct pt_last *l, uint64_t rip)
{
	return err_new(ERR_FORMAT,
		       "the machine's log is damaged: no way leads from %#lx to "
		       "%#lx",
		       l->rip, rip);
}

/* Control went from the last instruction to @p rip. */
static struct err *pt_branch(struct dec_pt_encoder *e, uint64_t rip)
{
	const struct pt_last *l = &e->last;

	switch (l->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		if (rip != l->target && rip != l->rip + l->len)
			return pt_broken(l, rip);
		return pt_bit(e, rip == l->target);
	case DEC_FLOW_CALL_IND:
		pt_remember_call(e);
		return pt_put_ip(e, ppt_tip, rip);
	case DEC_FLOW_JMP_IND:
		return pt_put_ip(e, ppt_tip, rip);
	case DEC_FLOW_RET:
		return pt_return(e, rip);
	case DEC_FLOW_CALL:
		pt_remember_call(e);
		return rip == l->target ? NULL : pt_broken(l, rip);
	case DEC_FLOW_JMP:
		return rip == l->target ? NULL : pt_broken(l, rip);
	default:
		return rip == l->rip + l->len ? NULL : pt_broken(l, rip);
	}
}

static struct err *pt_enable(struct dec_pt_encoder *e, uint64_t rip)
{
	struct err *err = NULL;

	e->n_calls = 0;
	if (!e->stats.psb)
		err = pt_put_psb(e, 0);
	if (!err)
		err = pt_put_mode(e);
	if (!err)
		err = pt_put_ip(e, ppt_tip_pge, rip);
	e->is_enabled = true;
	return err;
}

/* The overflow is over. An address in full: the last one may be among what was lost. */
static struct err *pt_recover(struct dec_pt_encoder *e, uint64_t rip)
{
	struct err *err = pt_put_plain(e, ppt_ovf);

	e->is_losing = false;
	e->last_ip = 0;
	e->n_calls = 0;
	e->stats.ovf++;
	e->stats.resumed_at = e->now;
	if (err)
		return err;
	return e->is_enabled ? pt_put_ip(e, ppt_fup, rip) : pt_enable(e, rip);
}

/* The instruction at @p rip, number @p time, is the next to run. */
static struct err *pt_arrive(struct dec_pt_encoder *e, uint64_t rip, uint64_t time)
{
	struct err *err;

	e->now = time;
	if (e->is_losing) {
		if (time >= e->lose_until)
			return pt_recover(e, rip);
		e->is_enabled = true;
		return NULL;
	}
	err = e->is_enabled ? pt_branch(e, rip) : pt_enable(e, rip);
	if (!err && e->stats.bytes - e->psb_at >= e->o.psb_bytes)
		err = pt_put_psb(e, rip);
	return err;
}

static void pt_ran(struct dec_pt_encoder *e, const struct dec_insn *last, uint64_t n)
{
	e->last = (struct pt_last){ last->rip, last->target, last->len, last->flow };
	e->now += n;
	e->stats.instructions += n;
}

/* ---- the log ------------------------------------------------------------------------------ */

static struct err *pt_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			       uint32_t n_ran, uint64_t time)
{
	struct dec_pt_encoder *e = ctx;
	struct err *err;

	(void)rec;
	if (!n_ran)
		return NULL;
	err = pt_arrive(e, b->rip, time);
	if (!err)
		pt_ran(e, &b->insn[n_ran - 1], n_ran);
	return err;
}

static struct err *pt_on_slow(void *ctx, const struct dec_rec_slow *rec,
			      const struct dec_insn *insn, uint64_t time)
{
	struct err *err = pt_arrive(ctx, rec->rip, time);

	if (!err)
		pt_ran(ctx, insn, 1);
	return err;
}

/* Read on to the event that the log's record is about. */
static struct err *pt_event(struct dec_pt_encoder *e, enum cap_event_kind kind,
			    struct cap_event *ev)
{
	bool is_end = false;
	struct err *err;

	do {
		err = cap_events_next(e->events, ev, &is_end);
		if (err)
			return err;
		if (is_end)
			return err_new(ERR_FORMAT,
				       "the machine's log is damaged: it tells of "
				       "more events than the capture");
		e->at_ns = ev->at_ns;
	} while (ev->kind != kind || (kind == CAP_EV_SIGNAL && !ev->has_after));
	return NULL;
}

static struct err *pt_on_syscall(struct dec_pt_encoder *e, const struct dec_rec *rec,
				 uint64_t time)
{
	struct dec_insn insn = { .rip = rec->value[2],
				 .len = 2,
				 .flow = DEC_FLOW_SYSCALL };
	int64_t ret = rec->value[1];
	struct err *err = pt_arrive(e, insn.rip, time);
	struct cap_event ev;

	if (err)
		return err;
	pt_ran(e, &insn, 1);
	err = pt_disable(e);
	if (!err)
		err = pt_event(e, CAP_EV_SYSCALL, &ev);
	if (err)
		return err;
	e->skips_state = ev.has_after;
	if (!e->o.image || rec->value[0] != SYS_mmap || !rec->value[9] ||
	    !(rec->value[5] & PROT_EXEC) || (ret < 0 && ret > -4096))
		return NULL;
	return dec_pt_image_map(e->o.image, rec->value[9], ret, rec->value[4],
				rec->value[10], e->stats.bytes);
}

/* A signal's handler begins. */
static struct err *pt_on_signal(struct dec_pt_encoder *e, uint64_t time)
{
	struct cap_event ev;
	struct err *err = pt_event(e, CAP_EV_SIGNAL, &ev);
	uint64_t rip;
	int32_t code;

	if (err || !e->is_enabled)
		return err;
	// FUP names the instruction that did not end; a breakpoint's rip is behind it.
	memcpy(&code, ev.siginfo + 8, sizeof(code));
	rip = ev.regs.rip - (ev.signo == SIGTRAP && code == SI_KERNEL);
	err = pt_arrive(e, rip, time);
	if (!err && !e->is_losing)
		err = pt_put_ip(e, ppt_fup, rip);
	return err ? err : pt_disable(e);
}

static struct err *pt_on_state(struct dec_pt_encoder *e, const struct dec_rec *rec,
			       uint64_t time)
{
	struct dec_insn insn = { .len = rec->value[18], .flow = DEC_FLOW_NEXT };
	struct err *err;

	if (insn.len) { // rdtsc, cpuid
		insn.rip = rec->value[16] - insn.len;
		err = pt_arrive(e, insn.rip, time);
		if (!err)
			pt_ran(e, &insn, 1);
		return err;
	}
	if (!e->has_begun || e->skips_state) {
		e->has_begun = true;
		e->skips_state = false;
		return NULL;
	}
	return pt_on_signal(e, time);
}

static struct err *pt_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	if (rec->id == DEC_REC_SYSCALL)
		return pt_on_syscall(ctx, rec, time);
	return rec->id == DEC_REC_STATE ? pt_on_state(ctx, rec, time) : NULL;
}

/* ---- its life ------------------------------------------------------------------------------ */

struct err *dec_pt_encoder_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { ctx, pt_on_block, pt_on_slow, pt_on_other };
	struct dec_pt_encoder *e = ctx;

	return log_reader_feed(&e->reader, &sink, log, bytes);
}

struct err *dec_pt_encoder_lose(struct dec_pt_encoder *e, uint64_t n_insns)
{
	struct err *err = pt_put_tnt(e);

	e->is_losing = true;
	e->lose_until = e->now + n_insns;
	return err;
}

struct err *dec_pt_encoder_finish(struct dec_pt_encoder *e, uint64_t rip,
				  struct dec_pt_stats *ret)
{
	struct err *err = NULL;

	if (e->is_enabled) {
		e->lose_until = 0;
		err = pt_arrive(e, rip, e->now);
		if (!err)
			err = pt_put_ip(e, ppt_fup, rip);
		if (!err)
			err = pt_disable(e);
	}
	if (!err)
		err = pt_flush(e);
	if (!err && ret)
		*ret = e->stats;
	return err;
}

struct err *dec_pt_encoder_create(const struct capture *c, const struct dec_pt_options *o,
				  dec_pt_write_fn fn, void *ctx,
				  struct dec_pt_encoder **ret)
{
	struct dec_pt_encoder *e = calloc(1, sizeof(*e));
	struct pt_config config;
	struct err *err;

	if (!e)
		return &err_nomem;
	assert(o->psb_bytes && "a stream has PSBs");
	e->o = *o;
	e->write = fn;
	e->ctx = ctx;
	log_reader_init(&e->reader, DEC_LOG_FLOW, 0);
	pt_config_init(&config);
	config.begin = e->buffer;
	config.end = e->buffer + sizeof(e->buffer);
	e->libipt = pt_alloc_encoder(&config);
	err = e->libipt ? cap_events_open(c, &e->events) : &err_nomem;
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
	log_reader_deinit(&e->reader);
	if (e->events)
		cap_events_close(e->events);
	if (e->libipt)
		pt_free_encoder(e->libipt);
	free(e);
}
