// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/capture.h"

#include <stdlib.h>
#include <string.h>

#include "decode/machine/log.h"
#include "faultlocate/slice/pieces.h"
#include "faultlocate/slice/trace.h"

#define PIECES_MOST 100000
#define LINE_BITS 6 ///< memory is put in place by lines of so many bytes
#define LINE (1u << LINE_BITS)
#define REGS 64
#define OTHER 0x5a ///< what was left out is this far, by exclusive or, from what it was

/** A line of memory that a piece wrote to, or several. */
typedef VEC(struct cap_write) writes;

struct making {
	struct fl_trace *trace;
	const struct fl_capture_options *options;
	struct cap_copy copy;
	struct dec_machine *machine;
	struct cap_events *events; ///< of the recording
	struct cap_event event;	   ///< its next one, unless is_over
	bool is_over;
	struct log_reader reader;
	uint64_t fs_base;
	bool is_inside;	  ///< a piece
	struct map lines; ///< that it has written to: which of their bytes
	uint64_t defined; ///< registers from 16 on that it defines
	uint64_t omitted; ///< steps so far, but for one a piece
	/** Of is_bare: bytes of each register, as effect.h has them, that are not as they were. */
	uint64_t garbage[REGS];
	/** Registers from 16 on of which `there` is what the machine has: asking for each, piece by piece, is
	 * most of what a bare capture costs. */
	uint64_t known;
	struct {
		size_t n;
		uint8_t bytes[CAP_VALUE_MAX];
	} there[REGS];
	VEC(uint64_t) addresses;
	writes writes;
	VEC(uint8_t) bytes;
	uint8_t value[REGS][CAP_VALUE_MAX];
	struct cap_value values[REGS];
};

/* ---- what a piece does --------------------------------------------------------------------- */

static struct err *touch(struct making *m, uint64_t addr, uint64_t size)
{
	for (uint64_t at = addr, n; at < addr + size; at += n) {
		uint64_t first = at % LINE, *has = map_get(&m->lines, at >> LINE_BITS);
		uint64_t bytes = ~0ull << first;

		n = LINE - first < addr + size - at ? LINE - first : addr + size - at;
		bytes &= ~0ull >> (LINE - first - n);
		if (map_put(&m->lines, at >> LINE_BITS, bytes | (has ? *has : 0)))
			return &err_nomem;
	}
	return NULL;
}

/* Registers that an instruction of the piece, or of the slice, defines: garbage, or no longer. */
static struct err *spoil(struct making *m, const struct dec_insn *insn)
{
	uint32_t i = fl_trace_intern(m->trace, insn);
	const struct effect *e = i == UINT32_MAX ? NULL : fl_trace_effect(m->trace, i);

	if (!e)
		return &err_nomem;
	for (int d = 0; d < e->n_defs; d++) {
		const struct effect_def *def = &e->def[d];

		if (def->is_mem)
			continue;
		if (def->reg >= DEC_GPRS)
			m->known &= ~(UINT64_C(1) << (def->reg - DEC_GPRS));
		if (m->is_inside)
			m->garbage[def->reg] |= def->bytes;
		else
			m->garbage[def->reg] &= ~def->bytes;
	}
	return NULL;
}

static struct err *met(struct making *m, const struct dec_insn *insn)
{
	if (m->options->is_bare) {
		struct err *err = spoil(m, insn);

		if (err)
			return err;
	}
	m->defined |= insn->other_written;
	if (dec_insn_cleared_from(insn) >= 0)
		m->defined |= 0xffff;
	m->known &= ~m->defined;
	return NULL;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct making *m = ctx;
	struct err *err = NULL;

	(void)time;
	if (!m->is_inside && !m->options->is_bare)
		return NULL;
	for (uint32_t i = 0; i < n_ran && !err; i++) {
		const struct dec_insn *insn = &b->insn[i];

		err = met(m, insn);
		for (int k = 0; k < insn->n_mem && !err && m->is_inside; k++)
			if (insn->mem[k].is_write)
				err = touch(m,
					    dec_log_address(b, i, k, rec) +
						    (insn->mem[k].is_fs ? m->fs_base : 0),
					    insn->mem[k].size);
	}
	return err;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct making *m = ctx;
	struct err *err = NULL;
	const uint8_t *data;

	(void)time;
	dec_log_follow_fs(rec, insn, &m->fs_base);
	if (m->is_inside || m->options->is_bare)
		err = met(m, insn);
	while (m->is_inside && !err && (ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_def && ref->is_mem && ref->bytes)
			err = touch(m, ref->addr, ref->bytes);
	return err;
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct making *m = ctx;

	(void)time;
	m->known = 0; // it may be another thread's
	if (rec->id == DEC_REC_STATE) {
		m->fs_base = rec->value[17];
		memset(m->garbage, 0, CAP_GPRS * sizeof(*m->garbage));
	} else if (rec->id == DEC_REC_SYSCALL) {
		m->fs_base = rec->value[13];
		m->garbage[CAP_RAX] = m->garbage[CAP_RCX] = m->garbage[CAP_R11] = 0;
	}
	return NULL;
}

static struct err *on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, on_block, on_slow, on_other };

	return dec_log_reader_feed(&((struct making *)ctx)->reader, &sink, log, bytes);
}

/* ---- its event ------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of bare captures: the bytes that were written, of @p n lines from @p addr, become others. */
static struct err *spoil_memory(struct making *m, uint64_t addr, size_t n, uint8_t *to)
{
	struct err *err = NULL;

	for (size_t from = 0, end; from < n * LINE && !err; from = end + 1) {
		for (end = from; end < n * LINE; end++) {
			uint64_t has = *map_get(&m->lines, (addr + end) >> LINE_BITS);

			if (!(has >> end % LINE & 1))
				break;
			to[end] ^= OTHER;
		}
		if (end > from)
			err = vec_add(&m->writes,
				      (struct cap_write){ addr + from, end - from,
							  to + from });
	}
	return err;
}

/* What is now in the lines that were written to; neighbours together. */
static struct err *gather_memory(struct making *m)
{
	uint64_t *line;
	struct err *err = NULL;

	m->addresses.size = m->writes.size = m->bytes.size = 0;
	for (size_t i = 0; i < m->lines.capacity && !err; i++)
		if (m->lines.slots[i].key != MAP_EMPTY_KEY)
			err = vec_add(&m->addresses, m->lines.slots[i].key);
	if (err)
		return err;
	vec_sort(&m->addresses, by_address);
	if (vec_reserve(&m->bytes, m->addresses.size * LINE))
		return &err_nomem;
	line = m->addresses.data;
	for (size_t i = 0, n; i < m->addresses.size && !err; i += n) {
		uint8_t *to = m->bytes.data + i * LINE;
		uint64_t addr = line[i] << LINE_BITS;

		for (n = 1; i + n < m->addresses.size && line[i + n] == line[i] + n;)
			n++;
		err = dec_machine_read(m->machine, addr, to, n * LINE);
		if (!err && m->options->is_bare)
			err = spoil_memory(m, addr, n, to);
		else if (!err)
			err = vec_add(&m->writes,
				      (struct cap_write){ addr, n * LINE, to });
	}
	map_deinit(&m->lines);
	return err;
}

/* Of bare captures: make others of the bytes of @p reg that the slice knows nothing of. */
static void spoil_register(const struct making *m, int reg, uint8_t *value, size_t n)
{
	for (size_t b = 0; b < n && reg != CAP_RSP; b++)
		if (m->garbage[reg] >> b & 1)
			value[b] ^= OTHER;
}

/* The flags, likewise; *@p ret_kept: those of them that are the slice's. */
static void spoil_flags(const struct making *m, uint64_t *rflags, uint16_t *ret_kept)
{
	static const uint8_t bit[] = {
		[EFFECT_CF] = 0, [EFFECT_PF] = 2, [EFFECT_AF] = 4,
		[EFFECT_ZF] = 6, [EFFECT_SF] = 7, [EFFECT_OF] = 11
	};

	for (size_t i = 0; i < sizeof(bit); i++) {
		uint64_t is_garbage = m->garbage[DEC_REG_FLAGS] >> i & 1;

		*rflags ^= is_garbage << bit[i];
		*ret_kept |= !is_garbage << bit[i];
	}
}

/* What is in register @p reg, from 16 on, into @p value. */
static struct err *read_register(struct making *m, int reg, uint8_t *value, size_t *ret_n)
{
	uint64_t bit = UINT64_C(1) << (reg - DEC_GPRS);
	struct err *err = NULL;

	if (!(m->known & bit))
		err = dec_machine_reg(m->machine, reg, m->there[reg].bytes,
				      &m->there[reg].n);
	if (err)
		return err;
	*ret_n = m->there[reg].n;
	memcpy(value, m->there[reg].bytes, *ret_n);
	// All that runs is seen only where the slice is judged.
	m->known |= m->options->is_bare ? bit : 0;
	return NULL;
}

/* The registers that the piece has defined, and those that are not what they were. */
static struct err *gather_registers(struct making *m, bool is_spoilt,
				    struct cap_event *ev)
{
	struct err *err = dec_machine_regs(m->machine, &ev->regs);

	for (int reg = 0; reg < CAP_GPRS && is_spoilt; reg++) {
		spoil_register(m, reg, (uint8_t *)&ev->regs.gpr[reg], 8);
		// What the slice has made is not put right.
		if (!m->garbage[reg] && reg != CAP_RSP)
			ev->kept_gprs |= 1u << reg;
	}
	if (is_spoilt)
		spoil_flags(m, &ev->regs.rflags, &ev->kept_flags);
	for (int reg = DEC_GPRS; reg < REGS && !err; reg++) {
		struct cap_value *v = &m->values[ev->n_values];
		uint8_t *value = m->value[ev->n_values];
		size_t n;

		if (reg == DEC_REG_FLAGS ||
		    !(m->defined >> (reg - DEC_GPRS) & 1 || m->garbage[reg]))
			continue;
		err = read_register(m, reg, value, &n);
		if (err || !n)
			continue;
		if (reg < DEC_REG_FLAGS && is_spoilt)
			spoil_register(m, reg, value, n);
		*v = (struct cap_value){ reg, n, value };
		ev->n_values++;
	}
	ev->values = m->values;
	return err;
}

/* ---- the log --------------------------------------------------------------------------------- */

static struct err *next_event(struct making *m)
{
	struct err *err = cap_events_next(m->events, &m->event, &m->is_over);

	// Where it breaks off so does the replay, and the trace ended there.
	if (err && (err->code == ERR_TRUNCATED || err->code == ERR_FORMAT)) {
		err_destroy(take_ptr(&err));
		m->is_over = true;
	}
	return err;
}

/* Carry over the recording's events up to @p seq. */
static struct err *events_until(struct making *m, uint64_t seq)
{
	struct err *err = NULL;

	while (!err && !m->is_over && m->event.seq <= seq) {
		struct cap_event ev = m->event;

		if (ev.kind == CAP_EV_SYSCALL &&
		    ev.file <= capture_info(m->copy.from)->n_files)
			ev.file = m->copy.file[ev.file];
		err = cap_writer_event(m->copy.to, &ev);
		if (!err)
			err = next_event(m);
	}
	return err;
}

static struct err *go(struct making *m, uint64_t position, struct dec_where *w)
{
	struct err *err = dec_machine_run(m->machine, position, w);

	if (!err && (w->at != DEC_AT_POSITION || w->position != position))
		err = err_new(
			ERR_UNSUPPORTED,
			"the run cannot be led to position %lu once more: it is at %lu",
			position, w->position);
	return err;
}

static struct err *write_piece(struct making *m, const struct pieces *all,
			       const struct piece *p)
{
	struct cap_event ev = { .kind = CAP_EV_OMITTED,
				.position = p->from - m->omitted,
				.n_steps = p->to - p->from };
	struct dec_where w;
	struct err *err = go(m, p->from, &w);

	if (!err && p->from >= all->first_event)
		err = events_until(m, w.seq);
	ev.tid = w.tid;
	ev.at_ns = w.at_ns;
	m->is_inside = true;
	m->defined = 0;
	if (!err)
		err = go(m, p->to, &w);
	m->is_inside = false;
	if (!err)
		err = gather_memory(m);
	if (!err)
		err = gather_registers(m, m->options->is_bare && !p->is_before_kernel,
				       &ev);
	ev.writes = m->writes.data;
	ev.n_writes = m->writes.size;
	m->omitted += ev.n_steps - 1;
	return err ?: cap_writer_event(m->copy.to, &ev);
}

/* The run ends before step @p end, which is none of its own. */
static struct err *write_end(struct making *m, uint64_t end)
{
	struct cap_event ev = { .kind = CAP_EV_OMITTED, .position = end - m->omitted };
	struct dec_where w;
	struct err *err = go(m, end, &w);

	ev.tid = w.tid;
	ev.at_ns = w.at_ns;
	if (!err && w.syscalls)
		err = events_until(m, w.seq);
	if (!err)
		err = dec_machine_regs(m->machine, &ev.regs);
	return err ?: cap_writer_event(m->copy.to, &ev);
}

static struct err *write_events(struct making *m, const struct pieces *all, uint64_t end)
{
	struct err *err = cap_events_open(m->copy.from, &m->events), *off;
	struct dec_where w;

	if (!err)
		err = next_event(m);
	if (!err)
		err = dec_machine_seek(m->machine, 0, &w);
	dec_log_reader_init(&m->reader, DEC_LOG_ADDRESSES, 0);
	if (!err)
		err = dec_machine_log(m->machine, DEC_LOG_ADDRESSES, on_log, m);
	for (size_t i = 0; i < all->list.size && !err; i++) {
		err = write_piece(m, all, &all->list.data[i]);
		if (!err && m->options->progress)
			m->options->progress(m->options->ctx, all->list.data[i].to);
	}
	off = dec_machine_log(m->machine, DEC_LOG_NONE, NULL, NULL);
	dec_log_reader_deinit(&m->reader);
	if (!err)
		err = take_ptr(&off);
	err_destroy(off);
	if (!err && end < fl_trace_end(m->trace)->position)
		return write_end(m, end);
	return err ?: events_until(m, UINT64_MAX);
}

/* ---- the capture ------------------------------------------------------------------------------- */

static struct err *write_capture(struct making *m, const struct pieces *all, uint64_t end,
				 const char *dir)
{
	struct cap_info info = *capture_info(m->copy.from);
	struct cap_core *core = NULL;
	struct err *err = cap_writer_create(dir, &m->copy.to);

	if (!err)
		err = cap_core_open(m->copy.from, &core);
	if (!err)
		err = cap_copy_files(&m->copy);
	if (!err)
		err = cap_copy_core(&m->copy, core);
	if (!err)
		err = write_events(m, all, end);
	info.slice_of = (char *)m->options->of;
	info.end_core = (struct cap_end_core){};
	info.pt = (struct cap_pt){};
	if (end < fl_trace_end(m->trace)->position)
		info.end = CAP_END_DETACHED;
	if (!err)
		err = cap_copy_finish(&m->copy, &info);
	if (core)
		cap_core_close(core);
	return err;
}

static void making_deinit(struct making *m)
{
	dec_machine_destroy(m->machine);
	cap_events_close(m->events);
	cap_writer_destroy(m->copy.to);
	free(m->copy.file);
	map_deinit(&m->lines);
	vec_deinit(&m->addresses);
	vec_deinit(&m->writes);
	vec_deinit(&m->bytes);
	free(m);
}

struct err *fl_slice_capture(struct fl_trace *t, const struct fl_slice *s,
			     const struct fl_capture_options *o, const char *dir,
			     struct fl_captured *ret)
{
	struct making *m = calloc(1, sizeof(*m));
	uint64_t end = fl_trace_end(t)->position;
	struct pieces all = {};
	struct err *err;

	if (!m)
		return &err_nomem;
	if (o->end && o->end < end)
		end = o->end;
	m->trace = t;
	m->options = o;
	m->copy.from = t->capture;
	err = dec_machine_create(t->capture, NULL, &m->machine);
	if (!err)
		err = dec_machine_checkpoint(m->machine);
	if (!err)
		err = fl_pieces_find(m->machine, s, end, o->is_bare ? 1 : o->least,
				     o->is_bare ? SIZE_MAX : PIECES_MOST, &all);
	if (!err)
		err = write_capture(m, &all, end, dir);
	if (err && m->copy.to)
		cap_writer_remove(take_ptr(&m->copy.to));
	*ret = (struct fl_captured){ .n_steps = end,
				     .n_slice = all.n_slice,
				     .n_executed = end - m->omitted - all.list.size,
				     .n_pieces = all.list.size };
	fl_pieces_deinit(&all);
	making_deinit(m);
	return err;
}
