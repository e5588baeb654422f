// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/here.h"

#include <string.h>

#include "decode/explain/express.h"
#include "decode/explain/follow.h"
#include "decode/explain/written.h"
#include "report/made.h"
#include "report/script.h"
#include "report/sources.h"

// Before a moment, where the machine goes back to while it is looked at, and while a writer is looked for.
#define NEAR (1 << 17)
#define REACH \
	(UINT64_C(1) << 21) // so much is looked through for a writer while somebody waits
#define PATIENT (UINT64_C(1) << 27) // .. while nobody does
#define TEXT_BYTES 400
#define AROUND 60    // lines of the source before and behind
#define REFS_MOST 64 // of one instruction: some do a lot at once

struct report_here {
	struct dec_machine *machine;
	struct dec_symbols *symbols;
	const struct hg_graph *graph; ///< NULL: there is none
	struct dec_past *past;
	struct report_made made;
	bool is_patient;	  ///< nobody waits
	struct hg_trails *trails; ///< of the graph
	uint64_t end;
};

/** An instruction as it ran. */
struct here {
	struct report_here *h;
	uint64_t position, rip;
	uint32_t tid;
	struct dec_insn insn;
	struct dec_place place;
	VEC(struct dec_past_ref) refs; ///< those that are shown
	VEC(uint64_t) values;	       ///< a ref each
};

/* ---- memory that was written long ago ------------------------------------------------------------ */

/* A dec_past_known_fn: of the heap its history knows. */
static enum dec_past_known known(void *ctx, const struct dec_location *l, uint64_t before,
				 uint64_t *time)
{
	struct report_here *h = ctx;
	struct hg_node_id id = before && h->graph ?
				       hg_trails_find(h->trails, l->addr, before - 1) :
				       (struct hg_node_id){ 0 };
	uint64_t last;

	if (!id.v || hg_graph_node(h->graph, id)->died <= before - 1)
		return DEC_PAST_UNKNOWN;
	last = hg_trails_last_write(h->trails, hg_graph_op_after(h->graph, before - 1),
				    id, l->addr, l->size);
	*time = hg_graph_op(h->graph, last).time;
	return hg_graph_op(h->graph, last).kind == HG_OP_STORE ? DEC_PAST_AT :
								 DEC_PAST_NEVER;
}

/* ---- beginning and end ------------------------------------------------------------------------- */

struct err *report_here_create(struct dec_machine *m, struct dec_symbols *symbols,
			       uint64_t end, const struct fl_namer *namer,
			       const struct dec_written *written,
			       struct report_here **ret)
{
	struct report_here *h = calloc(1, sizeof(*h));
	struct err *err = h ? report_made_init(&h->made, namer) : &err_nomem;

	if (err) {
		free(h);
		return err;
	}
	h->machine = m;
	h->symbols = symbols;
	h->end = end;
	h->graph = namer ? namer->graph : NULL;
	h->trails = namer ? namer->trails : NULL;
	if (!err)
		err = dec_past_over(m, &h->past);
	if (err) {
		report_here_destroy(h);
		return err;
	}
	dec_past_ask(h->past, known, h);
	dec_past_know(h->past, written);
	dec_past_reach(h->past, REACH);
	*ret = h;
	return NULL;
}

void report_here_be_patient(struct report_here *h)
{
	h->is_patient = true;
	dec_past_reach(h->past, PATIENT);
}

void report_here_destroy(struct report_here *h)
{
	if (!h)
		return;
	report_made_deinit(&h->made);
	dec_past_destroy(h->past);
	free(h);
}

/* ---- one instruction ------------------------------------------------------------------------------ */

static void here_deinit(struct here *x)
{
	vec_deinit(&x->refs);
	vec_deinit(&x->values);
}

/* What a person asks about: memory and general registers, but for those that every instruction moves. */
static bool is_of_interest(const struct dec_past_ref *r)
{
	return r->is_mem || (r->reg < CAP_GPRS && r->reg != CAP_RSP);
}

static struct err *keep_refs(struct here *x, const struct dec_past_step *step)
{
	const struct dec_past_ref *r;
	struct err *err = NULL;

	for (uint32_t i = 0;
	     !err && i < REFS_MOST && (r = dec_past_ref(x->h->past, step, i)); i++) {
		const uint8_t *bytes = dec_past_value(x->h->past, r);
		uint64_t value = 0;

		if (!bytes || !is_of_interest(r))
			continue;
		memcpy(&value, bytes, r->size < 8 ? r->size : 8);
		err = vec_add(&x->refs, *r);
		if (!err)
			err = vec_add(&x->values, value);
	}
	return err;
}

/* Whatever is asked of a moment goes back a little several times: once that is from far. */
static struct err *go_near(struct report_here *h, uint64_t position)
{
	static const uint64_t back[] = { 3 * NEAR, NEAR, 2048 };
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(back) / sizeof(*back) && !err; i++) {
		uint64_t near = position > back[i] ? position - back[i] : 0;
		struct dec_where w;

		if (dec_machine_checkpoint_before(h->machine, near + back[i] / 2) >= near)
			continue;
		err = dec_machine_seek(h->machine, near, &w);
		if (!err)
			err = dec_machine_checkpoint(h->machine);
	}
	return err;
}

/* What was about to run at the run's end: it used what it could have. */
static struct err *look_at_end(struct report_here *h, struct here *x)
{
	uint8_t code[15] = {};
	struct cap_regs regs;
	struct dec_where w;
	struct err *err = dec_machine_seek(h->machine, h->end, &w);
	size_t n = sizeof(code);

	if (!err)
		err = dec_machine_regs(h->machine, &regs);
	if (err)
		return err;
	while (n && (err = dec_machine_read(h->machine, regs.rip, code, n))) {
		err_destroy(err);
		n--;
	}
	if (!n || !dec_insn_decode(code, n, regs.rip, &x->insn))
		return NULL;
	x->rip = regs.rip;
	x->tid = w.tid;
	dec_symbols_place(h->symbols, x->rip, &x->place);
	for (uint8_t reg = 0; reg < CAP_GPRS && !err; reg++) {
		const struct dec_past_ref r = { .reg = reg, .size = 8 };

		if (!(x->insn.gpr_read >> reg & 1) || !is_of_interest(&r))
			continue;
		err = vec_add(&x->refs, r);
		if (!err)
			err = vec_add(&x->values, regs.gpr[reg]);
	}
	return err;
}

static struct err *look_at(struct report_here *h, uint64_t position, struct here *x)
{
	const struct dec_past_step *step = NULL;
	const struct dec_insn *insn = NULL;
	struct err *err = NULL;

	*x = (struct here){ .h = h, .position = position };
	if (position > h->end)
		return err_new(ERR_NOT_FOUND, "the run ends before %lu", position);
	err = go_near(h, position);
	if (!err && position == h->end)
		return look_at_end(h, x);
	if (!err)
		err = dec_past_step_at(h->past, position, &step);
	insn = dec_past_insn(h->past, step);
	if (!insn)
		return err;
	x->insn = *insn;
	x->rip = insn->rip;
	x->tid = step->tid;
	dec_symbols_place(h->symbols, x->rip, &x->place);
	return keep_refs(x, step);
}

/* ---- as text ----------------------------------------------------------------------------------------- */

/* What the program calls a thing that is used; "[0x..]", "rax" where it has no name. */
static struct err *name_used(struct here *x, const struct dec_past_ref *r, char *name,
			     size_t size)
{
	struct dec_expression e = {};
	struct err *err =
		r->is_mem ? dec_express_mem(x->h->past, x->h->symbols, x->position,
					    &x->insn, x->tid, r->addr, r->size, &e) :
			    dec_express_reg(x->h->past, x->h->symbols, x->position,
					    x->rip, x->tid, r->reg, &e);
	char reg[DEC_REG_NAME];

	if (*e.text)
		snprintf(name, size, "%s", e.text);
	else if (r->is_mem)
		snprintf(name, size, "[%#lx]", r->addr);
	else
		snprintf(name, size, "%s", dec_reg_name(r->reg, reg));
	return err;
}

static struct err *put_ref(struct here *x, size_t i, FILE *out)
{
	const struct dec_past_ref *r = &x->refs.data[i];
	struct fl_view_made made = { .has_value = true,
				     .bytes = r->size < 8 ? r->size : 8,
				     .value = x->values.data[i] };
	char text[TEXT_BYTES];
	struct err *err = name_used(x, r, made.name, sizeof(made.name));

	report_made_text(&x->h->made, &made, r->is_mem ? r->addr : 0, x->position, text,
			 sizeof(text));
	report_script_string(out, text);
	return err;
}

static struct err *put_refs(struct here *x, const char *name, bool is_def, FILE *out)
{
	const char *comma = "";
	struct err *err = NULL;

	fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < x->refs.size && !err; i++) {
		if (x->refs.data[i].is_def != is_def)
			continue;
		fputs(comma, out);
		err = put_ref(x, i, out);
		comma = ",";
	}
	fputc(']', out);
	return err;
}

static void put_place(const struct dec_place *p, FILE *out)
{
	fputs("\"file\":", out);
	report_script_string(out, p->file);
	fprintf(out, ",\"line\":%d,\"function\":", p->line);
	report_script_string(out, p->function ?: p->outer);
}

static struct err *put_arguments(struct here *x, FILE *out)
{
	_cleanup_free_ char *text = NULL;
	struct dec_frame frame = {};
	size_t n;
	struct err *err = dec_express_frame(x->h->past, x->position, x->rip, &frame);
	FILE *memory = err ? NULL : open_memstream(&text, &n);

	if (err)
		return err;
	if (!memory)
		return &err_nomem;
	dec_symbols_arguments(x->h->symbols, &frame, 0, memory);
	if (fclose(memory))
		return &err_nomem;
	fputs(",\"arguments\":", out);
	report_script_string(out, text);
	return NULL;
}

static void put_source(const struct here *x, FILE *out)
{
	struct report_sources sources = { .around = AROUND };

	fputs(",\"source\":", out);
	if (report_sources_add(&sources, &x->place) < 0)
		fputs("{}", out);
	else
		report_sources_print(&sources, 0, x->h->symbols, out);
	report_sources_deinit(&sources);
}

struct err *report_here_print(struct report_here *h, uint64_t position, FILE *out)
{
	_cleanup_(here_deinit) struct here x = {};
	struct err *err = look_at(h, position, &x);

	if (!err && !x.rip)
		fputs("{\"why\":\"no instruction was executed at this moment\"}\n", out);
	if (err || !x.rip)
		return err;
	// Names are worth less of a wait than an origin.
	dec_past_reach(h->past, NEAR);
	fprintf(out, "{\"position\":%lu,\"thread\":%u,\"at\":{", position, x.tid);
	put_place(&x.place, out);
	fputc('}', out);
	err = put_refs(&x, "made", true, out);
	if (!err)
		err = put_refs(&x, "used", false, out);
	if (!err)
		err = put_arguments(&x, out);
	dec_past_reach(h->past, h->is_patient ? PATIENT : REACH);
	put_source(&x, out);
	fputs("}\n", out);
	return err;
}

/* ---- where it came from ------------------------------------------------------------------------------ */

/* A dec_follow_stop_fn: a copy on another line is a step that a person sees. */
static enum dec_follow_next is_elsewhere(void *ctx, const struct dec_hop *later,
					 const struct dec_hop *hop)
{
	const struct here *x = ctx;
	struct dec_place p = {};

	(void)later;
	dec_symbols_place(x->h->symbols, hop->rip, &p);
	return p.line && (p.line != x->place.line || p.function != x->place.function) ?
		       DEC_FOLLOW_LAST :
		       DEC_FOLLOW_ON;
}

static void put_origin(const struct here *x, const struct dec_follow *f, FILE *out)
{
	const struct dec_hop *hop = f->hops.size ? &f->hops.data[f->hops.size - 1] : NULL;
	struct dec_place p = {};

	if (!hop && f->is_far && !x->h->is_patient) {
		fputs("{\"is_far\":true}\n", out);
		return;
	}
	if (!hop) {
		fprintf(out, "{\"why\":\"%s\"}\n",
			f->is_far ? "it was written longer ago than is looked back" :
				    "nothing has written it since the program began");
		return;
	}
	dec_symbols_place(x->h->symbols, hop->rip, &p);
	fprintf(out, "{\"time\":%lu,\"is_input\":%s,", hop->position,
		hop->kind == DEC_HOP_KERNEL ? "true" : "false");
	put_place(&p, out);
	fputs("}\n", out);
}

struct err *report_here_print_origin(struct report_here *h, uint64_t position, uint32_t n,
				     FILE *out)
{
	_cleanup_(here_deinit) struct here x = {};
	struct dec_follow f = {};
	struct err *err = look_at(h, position, &x);
	size_t i = 0;

	for (; !err && i < x.refs.size; i++)
		if (!x.refs.data[i].is_def && !n--)
			break;
	if (!err && i == x.refs.size)
		err = err_new(ERR_NOT_FOUND, "nothing more was used at %lu", position);
	if (!err) {
		const struct dec_past_ref *r = &x.refs.data[i];
		const struct dec_location l = { .is_mem = r->is_mem,
						.reg = r->reg,
						.tid = x.tid,
						.addr = r->addr,
						.size = r->size < 8 ? r->size : 8 };

		err = dec_follow(h->past, &l, position, DEC_FOLLOW_NUMBER, is_elsewhere,
				 &x, &f);
	}
	if (!err)
		put_origin(&x, &f, out);
	dec_follow_deinit(&f);
	return err;
}
