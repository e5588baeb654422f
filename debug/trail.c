// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Who made a value: `monitor writes', `monitor defines', `monitor origin'.
 */
#include <string.h>
#include <sys/syscall.h>

#include "debug/stub.h"
#include "decode/explain/follow.h"
#include "decode/machine/inputs.h"

#define SHOWN_MOST 4096 ///< bytes of a value
#define PATH_SHOWN 256

/** Positions that are looked at: [since, until). */
struct span {
	uint64_t since, until;
};

/* Where a trail began: the session comes back. */
struct home {
	uint64_t position;
	bool is_before_handler;
};

static struct err *leave_home(struct dbg_session *s, const struct span *span,
			      struct home *ret)
{
	*ret = (struct home){ s->where.position, s->is_before_handler };
	return span->until < s->where.position ? dbg_seek(s, span->until) : NULL;
}

static struct err *come_home(struct dbg_session *s, const struct home *h, struct err *err)
{
	struct err *back = dbg_seek(s, h->position);

	s->is_before_handler = h->is_before_handler;
	if (!err)
		return back;
	err_destroy(back);
	return err;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct err *list_writes(struct dbg_session *s, uint64_t addr, uint64_t size,
			       uint64_t most, const struct span *span,
			       struct dbg_text *to)
{
	struct err *err = NULL;
	uint8_t bytes[SHOWN_MOST];

	for (uint64_t i = 0; i < most && !err; i++) {
		struct dec_trapped t;
		struct dec_where w;

		err = dbg_last_write(s, addr, size, span->since, &t);
		if (err || t.trap == SIZE_MAX)
			break;
		dbg_print(to, "%lu %u %#lx ", t.position, t.tid, t.where.rip);
		err = dec_machine_seek(s->machine, t.position + 1, &w);
		if (!err)
			dbg_put_hex(to, bytes, dbg_session_read(s, addr, bytes, size));
		dbg_print(to, "%s\n", t.is_by_kernel ? " kernel" : "");
		if (!err)
			err = dbg_seek(s, t.position);
	}
	return err;
}

struct err *dbg_trail_writes(struct dbg_session *s, const char *words,
			     struct dbg_text *to)
{
	struct span span = { 0, UINT64_MAX };
	uint64_t addr, size, most;
	struct home home;
	struct err *err;

	if (sscanf(words, "%li %li %li %li %li", &addr, &size, &most, &span.since,
		   &span.until) < 3 ||
	    !size || size > SHOWN_MOST || addr + size < addr)
		return err_new(ERR_USAGE,
			       "writes takes an address, 1 to %d bytes, how many writes",
			       SHOWN_MOST);
	err = leave_home(s, &span, &home);
	if (!err)
		err = list_writes(s, addr, size, most, &span, to);
	return come_home(s, &home, err);
}

/* ---- registers ------------------------------------------------------------------------------- */

bool dbg_trail_register(const char *name, uint8_t *ret)
{
	char buf[DEC_REG_NAME];

	for (unsigned i = 0; i < DEC_REG_FLAGS; i++)
		if (!strcmp(dec_reg_name(i, buf), name)) {
			*ret = i;
			return true;
		}
	return false;
}

static struct err *list_definitions(struct dbg_session *s, struct dec_location *l,
				    uint64_t most, const struct span *span,
				    struct dbg_text *to)
{
	_cleanup_(dec_past_destroyp) struct dec_past *p = NULL;
	uint64_t before = s->where.position;
	struct err *err = dec_past_over(s->machine, &p);

	for (uint64_t i = 0; i < most && !err; i++) {
		const struct dec_past_step *step;
		const struct dec_past_ref *r;
		bool is_far;

		err = dec_past_writer(p, l, before, &step, &is_far);
		if (is_far)
			dbg_print(to, "far\n");
		if (err || !step || step->position < span->since)
			break;
		before = step->position;
		for (uint32_t k = 0; (r = dec_past_ref(p, step, k)); k++) {
			const uint8_t *v = dec_past_value(p, r);

			if (!r->is_def || r->is_mem || r->reg != l->reg)
				continue;
			dbg_print(to, "%lu %u %#lx ", before, step->tid,
				  dec_past_rip(p, step));
			if (v)
				dbg_put_hex(to, v, r->size < 64 ? r->size : 64);
			dbg_print(to, "%s\n", dec_past_insn(p, step) ? "" : " kernel");
			break;
		}
	}
	return err;
}

struct err *dbg_trail_defines(struct dbg_session *s, const char *words,
			      struct dbg_text *to)
{
	struct dec_location l = { .size = 8 };
	struct span span = { 0, UINT64_MAX };
	char name[DEC_REG_NAME];
	uint64_t most;
	struct home home;
	struct err *err;

	if (sscanf(words, "%7s %u %li %li %li", name, &l.tid, &most, &span.since,
		   &span.until) < 3 ||
	    !dbg_trail_register(name, &l.reg))
		return err_new(ERR_USAGE, "defines takes a register, a thread, how many");
	err = leave_home(s, &span, &home);
	if (!err)
		err = list_definitions(s, &l, most, &span, to);
	return come_home(s, &home, err);
}

/* ---- origins --------------------------------------------------------------------------------- */

/** Who asks the machine for older writes. */
struct asker {
	struct dbg_session *s;
	struct err *err;
};

/* dec_past_known_fn */
static enum dec_past_known ask(void *ctx, const struct dec_location *l, uint64_t before,
			       uint64_t *time)
{
	struct asker *a = ctx;
	struct dec_trapped t;
	struct dec_where w;

	if (a->err)
		return DEC_PAST_NEVER;
	a->err = dec_machine_seek(a->s->machine, before, &w);
	if (!a->err)
		a->err = dec_machine_last_write(a->s->machine, l->addr, l->size, 0, &t);
	if (a->err || t.trap == SIZE_MAX)
		return DEC_PAST_NEVER;
	*time = t.position;
	return DEC_PAST_AT;
}

static void put_location(struct dbg_text *to, const struct dec_location *l)
{
	char name[DEC_REG_NAME];

	if (l->is_mem)
		dbg_print(to, " m %#lx %u", l->addr, l->size);
	else
		dbg_print(to, " r %s %u", dec_reg_name(l->reg, name), l->size);
}

static void put_hop(struct dbg_text *to, const struct dec_hop *h)
{
	static const char *const kinds[] = {
		[DEC_HOP_COPY] = "copy",	 [DEC_HOP_OFFSET] = "offset",
		[DEC_HOP_INDEX] = "index",	 [DEC_HOP_CONSTANT] = "constant",
		[DEC_HOP_COMPUTED] = "computed", [DEC_HOP_KERNEL] = "kernel",
		[DEC_HOP_PIECE] = "piece",
	};

	dbg_print(to, "%s %lu %u %#lx", kinds[h->kind], h->position, h->tid, h->rip);
	if (h->has_value)
		dbg_print(to, " %#lx", h->value);
	else
		dbg_print(to, " -");
	put_location(to, &h->to);
	dbg_print(to, "\n");
}

/** A call that wrote a byte: which, and where in its file that was. */
struct reading {
	uint64_t seq;
	struct cap_event event;
	bool has_event, has_offset;
	uint64_t offset, opened; ///< before the call; by which event
	struct dec_inputs inputs;
};

static struct err *learn(void *ctx, const struct cap_event *ev)
{
	struct reading *r = ctx;
	struct inputs_open *open;

	if (ev->seq > r->seq || r->has_event)
		return NULL;
	if (ev->seq < r->seq)
		return dec_inputs_learn(&r->inputs, ev);
	r->event = *ev;
	r->has_event = true;
	open = dec_inputs_open(&r->inputs, ev->regs.gpr[CAP_RDI]);
	if (!open)
		return NULL;
	r->opened = open->seq;
	r->offset = open->offset;
	r->has_offset = !r->inputs.files.data[open->file].is_stream;
	return NULL;
}

/* Where the path is that the call of event @p seq opened. */
static struct err *put_path(struct dbg_session *s, uint64_t seq, struct dbg_text *to)
{
	const struct dbg_event *e = seq < s->events.size ? &s->events.data[seq] : NULL;
	char path[PATH_SHOWN + 1] = "";
	struct dec_thread t;
	struct err *err;
	size_t n = 0;

	if (!seq || !e || e->kind != CAP_EV_SYSCALL ||
	    (e->number != SYS_openat && e->number != SYS_open))
		return NULL;
	err = dbg_seek_event(s, seq, 0);
	if (!err)
		err = dbg_session_thread(s, e->tid, &t);
	if (err)
		return err;
	n = dbg_session_read(s, t.regs.gpr[e->number == SYS_open ? CAP_RDI : CAP_RSI],
			     path, PATH_SHOWN);
	path[n] = 0;
	dbg_print(to, " path ");
	dbg_put_hex(to, path, strlen(path));
	return NULL;
}

/* What the kernel's write at @p hop was an answer to. */
static struct err *put_call(struct dbg_session *s, const struct dec_hop *hop,
			    struct dbg_text *to)
{
	struct reading r = {};
	struct dec_where w;
	struct err *err = dec_machine_seek(s->machine, hop->position + 1, &w);

	if (!err)
		err = dec_inputs_init(&r.inputs);
	r.seq = w.seq;
	if (!err)
		err = cap_events_readable(s->capture, learn, &r);
	dec_inputs_deinit(&r.inputs);
	if (err || !r.has_event || r.event.kind != CAP_EV_SYSCALL)
		return err;
	dbg_print(to, "call %ld %ld", (long)r.event.regs.gpr[CAP_RAX],
		  (long)r.event.regs.gpr[CAP_RDI]);
	if (r.event.regs.gpr[CAP_RAX] == SYS_pread64)
		r.offset = r.event.regs.gpr[CAP_R10];
	if (hop->to.is_mem && (r.event.regs.gpr[CAP_RAX] == SYS_read ||
			       r.event.regs.gpr[CAP_RAX] == SYS_pread64)) {
		dbg_print(to, " byte %lu", hop->to.addr - r.event.regs.gpr[CAP_RSI]);
		if (r.has_offset)
			dbg_print(to, " offset %lu",
				  r.offset + hop->to.addr - r.event.regs.gpr[CAP_RSI]);
		err = put_path(s, r.opened, to);
	}
	dbg_print(to, "\n");
	return err;
}

/* @return whether the kernel had put it on the stack before the program began. */
static bool is_of_start(const struct cap_core *core, uint64_t addr)
{
	uint64_t rsp = core->regs.gpr[CAP_RSP];

	for (size_t i = 0; i < core->n_mappings; i++)
		if (core->mappings[i].start <= rsp && rsp < core->mappings[i].end)
			return addr >= rsp && addr < core->mappings[i].end;
	return false;
}

/* Nothing wrote it: where it was from the beginning. */
static struct err *put_beginning(struct dbg_session *s, const struct dec_location *l,
				 uint64_t read_at, struct dbg_text *to)
{
	const struct dbg_mapped *m;
	struct err *err = dbg_seek(s, read_at);

	if (err)
		return err;
	dbg_print(to, "unwritten");
	put_location(to, l);
	m = l->is_mem ? dbg_session_mapped(s, l->addr) : NULL;
	if (m && m->file - 1u < s->info->n_files && s->info->files[m->file - 1].path) {
		const char *path = s->info->files[m->file - 1].path;

		dbg_print(to, " offset %lu path ", m->offset + (l->addr - m->start));
		dbg_put_hex(to, path, strlen(path));
	} else if (l->is_mem && is_of_start(s->core, l->addr)) {
		dbg_print(to, " arguments");
	}
	dbg_print(to, "\n");
	return NULL;
}

static struct err *put_trail(struct dbg_session *s, const struct dec_location *l,
			     struct dbg_text *to)
{
	_cleanup_(dec_past_destroyp) struct dec_past *p = NULL;
	uint64_t before = s->where.position, read_at;
	struct asker asker = { .s = s };
	struct dec_follow f = {};
	struct err *err = dec_past_over(s->machine, &p);

	if (!err) {
		dec_past_ask(p, ask, &asker);
		err = dec_follow(p, l, before, DEC_FOLLOW_NUMBER, NULL, NULL, &f);
	}
	if (!err)
		err = take_ptr(&asker.err);
	err_destroy(asker.err);
	for (size_t i = 0; i < f.hops.size && !err; i++)
		put_hop(to, &f.hops.data[i]);
	read_at = f.hops.size ? f.hops.data[f.hops.size - 1].position : before;
	if (!err && f.is_far)
		dbg_print(to, "far\n");
	else if (!err && f.is_unwritten)
		err = put_beginning(s, &f.last, read_at, to);
	else if (!err && f.hops.size &&
		 f.hops.data[f.hops.size - 1].kind == DEC_HOP_KERNEL)
		err = put_call(s, &f.hops.data[f.hops.size - 1], to);
	dec_follow_deinit(&f);
	return err;
}

struct err *dbg_trail_origin(struct dbg_session *s, const char *words,
			     struct dbg_text *to)
{
	struct span span = { 0, UINT64_MAX };
	struct dec_location l = {};
	char name[DEC_REG_NAME];
	struct home home;
	struct err *err;

	if (sscanf(words, "m %li %i %lu", &l.addr, (int *)&l.size, &span.until) >= 2)
		l.is_mem = true;
	else if (sscanf(words, "r %7s %u %i %lu", name, &l.tid, (int *)&l.size,
			&span.until) < 3 ||
		 !dbg_trail_register(name, &l.reg))
		l.size = 0;
	if (!l.size || l.size > 8)
		return err_new(ERR_USAGE, "origin takes 'm ADDR SIZE' or 'r REGISTER "
					  "THREAD SIZE', of 1 to 8 bytes");
	err = leave_home(s, &span, &home);
	if (!err)
		err = put_trail(s, &l, to);
	return come_home(s, &home, err);
}
