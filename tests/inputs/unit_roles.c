// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Roles, judged by execution: a byte of the input is altered where the program has just read it, and
 * the value that was asked about is looked at. Without a role it changes nothing, as long as the
 * altered run takes the recorded path; with a strong one (of values or control) it changes the value,
 * or the path.
 *
 * And the walk that remembers pieces of code (steps.h) tells what the plain one does, link by link.
 *
 * FAULTLINE_ROLES=N: N alterations for each of all programs; else 24 for each of the first few.
 *
 * time limit: 240
 */
#include <string.h>

#include "decode/machine/branch.h"
#include "decode/machine/trace.h"
#include "faultlocate/inputs/inputs.h"
#include "faultlocate/slice/question.h"
#include "faultlocate/slice/trace.h"
#include "tests/unit.h"

struct kept {
	uint64_t position, rip;
	uint8_t reg; ///< that it defines; DEC_REG_NONE
};

struct run {
	char *dir;
	struct capture *capture;
	struct fl_trace *trace;
	struct dec_symbols *symbols;
	struct fl_sources sources;
	fl_prunes prunes;
	fl_strings strings;
	VEC(struct kept) steps; ///< behind the read
	struct fl_piece piece;	///< of the input, as it was read first
	uint64_t read_at;	///< the position behind that
};

static uint64_t random_word(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

/* ---- the recorded run --------------------------------------------------------------------------- */

static struct err *keep(void *ctx, const struct dec_step *step)
{
	struct run *r = ctx;
	uint8_t reg = DEC_REG_NONE;

	for (size_t i = 0; i < step->n_refs && step->insn; i++)
		if (step->refs[i].is_def && !step->refs[i].is_mem &&
		    step->refs[i].reg < DEC_GPRS && step->refs[i].reg != CAP_RSP)
			reg = step->refs[i].reg;
	return vec_add(&r->steps,
		       (struct kept){ step->position,
				      step->insn && step->insn->flow != DEC_FLOW_SYSCALL ?
					      step->insn->rip :
					      0,
				      reg });
}

/* Does what was read lie in memory, where the machine stands? */
static bool is_read(struct run *r)
{
	const struct fl_source *f = &r->sources.all.data[r->piece.source];
	uint8_t now[4096];
	uint32_t n = r->piece.size < sizeof(now) ? r->piece.size : sizeof(now);
	struct err *err =
		dec_machine_read(fl_trace_machine(r->trace), r->piece.addr, now, n);
	bool is_there = !err && !memcmp(now, f->bytes.data + r->piece.offset, n);

	err_destroy(err);
	return is_there;
}

/* Find the position behind the read: from there on its bytes are in memory. */
static void find_read(struct run *r)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	uint64_t lo = 0, hi = fl_trace_end(r->trace)->position;
	struct dec_where w;
	uint64_t seq = r->piece.seq;

	// Positions and events grow together.
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		ok(dec_machine_seek(m, mid, &w));
		if (w.seq >= seq)
			hi = mid;
		else
			lo = mid;
	}
	r->read_at = hi;
	ok(dec_machine_seek(m, hi, &w));
	if (!is_read(r)) {
		r->read_at++;
		ok(dec_machine_seek(m, hi + 1, &w));
	}
	assert_true(is_read(r));
}

static void begin(struct run *r, const char *command)
{
	struct dec_where w;

	*r = (struct run){};
	assert_true(asprintf(&r->dir, "%s/capture", unit_env("TMPDIR")) > 0);
	unit_run("rm -rf %s; %s record -o %s -- %s >/dev/null 2>%s/err", r->dir,
		 unit_env("FAULTLINE"), r->dir, command, unit_env("TMPDIR"));
	ok(capture_open(r->dir, &r->capture));
	ok(fl_trace_create(r->capture, NULL, &r->trace));
	ok(dec_symbols_create(r->capture, &r->symbols));
	ok(fl_sources_read(r->capture, &r->sources));
	ok(fl_question_cut_linker(r->trace, r->symbols, &r->prunes));
	ok(fl_inputs_strings(r->trace, r->symbols, &r->strings));
	for (size_t i = r->sources.n_start; i < r->sources.pieces.size; i++)
		if (!strcmp(r->sources.all.data[r->sources.pieces.data[i].source].name,
			    "stdin")) {
			r->piece = r->sources.pieces.data[i];
			break;
		}
	if (!r->piece.size)
		fail_msg("%s read nothing", command);
	find_read(r);
	ok(dec_machine_trace(fl_trace_machine(r->trace), fl_trace_end(r->trace)->position,
			     keep, r, &w));
}

static void end(struct run *r)
{
	fl_sources_deinit(&r->sources);
	fl_trace_destroy(r->trace);
	dec_symbols_destroy(r->symbols);
	capture_close(r->capture);
	vec_deinit(&r->steps);
	vec_deinit(&r->prunes);
	vec_deinit(&r->strings);
	free(r->dir);
}

/* ---- altered ones ----------------------------------------------------------------------------------- */

struct criterion {
	uint64_t position, value, rip;
	uint8_t reg;
};

static bool choose(struct run *r, uint64_t *seed, struct criterion *c)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	size_t i = random_word(seed) % r->steps.size;
	struct cap_regs regs;
	struct dec_where w;

	if (i + 1 >= r->steps.size || r->steps.data[i].reg == DEC_REG_NONE ||
	    !r->steps.data[i + 1].rip)
		return false;
	*c = (struct criterion){ .position = r->steps.data[i + 1].position,
				 .rip = r->steps.data[i + 1].rip,
				 .reg = r->steps.data[i].reg };
	ok(dec_machine_seek(m, c->position, &w));
	ok(dec_machine_regs(m, &regs));
	c->value = regs.gpr[c->reg];
	return w.rip == c->rip;
}

/* Stray where the input was read, with byte @p at of the piece altered. */
static void stray(struct run *r, uint32_t at, uint8_t bits)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	struct dec_where w;
	uint8_t byte;

	ok(dec_machine_seek(m, r->read_at, &w));
	ok(dec_machine_read(m, r->piece.addr + at, &byte, 1));
	byte ^= bits;
	ok(dec_machine_stray(m));
	ok(dec_machine_write(m, r->piece.addr + at, &byte, 1));
}

/* Does the altered run take the recorded path to @p until? */
static bool keeps_path(struct run *r, uint64_t until)
{
	for (size_t i = 0; i < r->steps.size; i++) {
		const struct kept *k = &r->steps.data[i];
		struct dec_where w;

		if (k->position >= until)
			return true;
		if (!k->rip)
			continue;
		ok(dec_machine_run(fl_trace_machine(r->trace), k->position, &w));
		if (w.at != DEC_AT_POSITION || w.rip != k->rip)
			return false;
	}
	return true;
}

enum verdict { SAME, OTHER, PARTED };

static enum verdict try(struct run *r, const struct criterion *c, uint32_t at,
			uint8_t bits)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	enum verdict v = PARTED;
	struct cap_regs regs;
	struct dec_where w;

	stray(r, at, bits);
	ok(dec_machine_run(m, c->position, &w));
	if (w.at == DEC_AT_POSITION && w.rip == c->rip) {
		ok(dec_machine_regs(m, &regs));
		v = regs.gpr[c->reg] == c->value ? SAME : OTHER;
	}
	ok(dec_machine_return(m, r->read_at, &w));
	return v;
}

static bool parts(struct run *r, const struct criterion *c, uint32_t at, uint8_t bits)
{
	struct dec_where w;
	bool has;

	stray(r, at, bits);
	has = !keeps_path(r, c->position);
	ok(dec_machine_return(fl_trace_machine(r->trace), r->read_at, &w));
	return has;
}

/* ---- the judge ------------------------------------------------------------------------------------------ */

static struct {
	uint64_t without, without_parted, strong, strong_address, weak;
	uint64_t wrong, missed, missed_address;
	uint64_t again, super;
} n;

static uint8_t roles_of(const struct fl_inputs *in, uint32_t source, uint64_t offset)
{
	const struct fl_input *b =
		vec_find(&in->all, e, e->source == source && e->offset == offset);

	return b ? b->roles : 0;
}

/* Any byte; every other time one with a strong role, if there is any. */
static uint32_t choose_byte(const struct run *r, const struct fl_inputs *in, int i,
			    uint64_t *seed)
{
	const uint8_t strong = FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG;
	size_t from = in->all.size ? random_word(seed) % in->all.size : 0;

	for (size_t k = 0; k < in->all.size && (i & 1); k++) {
		const struct fl_input *b = &in->all.data[(from + k) % in->all.size];

		if (b->source == r->piece.source && (b->roles & strong) &&
		    b->offset - r->piece.offset < r->piece.size)
			return b->offset - r->piece.offset;
	}
	return random_word(seed) % r->piece.size;
}

static void judge(struct run *r, const char *program, const struct fl_inputs *in,
		  const struct criterion *c, uint32_t at, uint8_t bits)
{
	uint8_t roles = roles_of(in, r->piece.source, r->piece.offset + at);
	bool is_strong = roles & (FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG);
	bool is_address = roles & FL_ROLE_ADDRESS_STRONG;
	enum verdict v;

	if (roles && !is_strong && !is_address) {
		n.weak++;
		return;
	}
	v = try(r, c, at, bits);
	if (!roles) {
		n.without++;
		n.without_parted += v == PARTED;
		if (v != OTHER || parts(r, c, at, bits))
			return;
		n.wrong++;
	} else {
		n.strong += is_strong;
		n.strong_address += !is_strong;
		if (v != SAME || parts(r, c, at, bits))
			return;
		n.missed += is_strong;
		n.missed_address += !is_strong;
		if (!is_strong)
			return;
	}
	printf("%s: %s at %lu (%#lx), byte %u ^ %#x, roles %#x: %s\n", program,
	       dec_reg_gpr_name(c->reg), c->position, c->rip, at, bits, roles,
	       roles ? "is the same" : "is another");
}

enum { FEW = 4 };

static struct fl_inputs_options options_of(const struct run *r, bool is_plain)
{
	return (struct fl_inputs_options){ .prunes = r->prunes.data,
					   .n_prunes = r->prunes.size,
					   .strings = r->strings.data,
					   .n_strings = r->strings.size,
					   .is_plain = is_plain };
}

#define assert_same(a, b)                                                           \
	do {                                                                        \
		assert_int_equal((a)->size, (b)->size);                             \
		assert_true(!(a)->size || !memcmp((a)->data, (b)->data,             \
						  (a)->size * sizeof(*(a)->data))); \
	} while (0)

/* What the walk from @p s, which remembers, told as @p in the plain one tells, too. */
static void compare(struct run *r, const struct fl_seed *s, const struct fl_inputs *in)
{
	const struct fl_inputs_options o = options_of(r, true);
	struct fl_inputs plain = {};

	ok(fl_inputs_walk(r->trace, &r->sources, s, 1, &o, &plain));
	assert_int_equal(plain.n_again, 0);
	assert_same(&plain.all, &in->all);
	assert_same(&plain.others, &in->others);
	assert_same(&plain.links, &in->links);
	assert_int_equal(plain.n_walked, in->n_walked);
	fl_inputs_deinit(&plain);
	n.again += in->n_again;
	n.super += in->n_super;
}

static const char *programs(size_t i)
{
	static char text[512];
	static const char *const list[] = {
		"%s/tests/programs/framesets <%s/sets",
		"%s/tests/programs/figures body <%s/body",
		"bc -q <%s/sums",
		"sed -n s/o/0/gp <%s/text",
		"sort <%s/text",
		"awk '{n+=length($1)}END{print n}' <%s/text",
		"grep -c '[a-f]*o' <%s/text",
		"od -x <%s/text",
		"tr a-m A-M <%s/text",
		"wc <%s/text",
		"m4 <%s/text",
	};

	if (i >= (getenv("FAULTLINE_ROLES") ? sizeof(list) / sizeof(*list) : FEW))
		return NULL;
	if (i < 2)
		snprintf(text, sizeof(text), list[i], unit_env("BUILD"),
			 unit_env("TMPDIR"));
	else
		snprintf(text, sizeof(text), list[i], unit_env("TMPDIR"));
	return text;
}

static void executed(void **state)
{
	const char *many = getenv("FAULTLINE_ROLES");
	size_t n_each = many ? strtoul(many, NULL, 10) : 24;
	uint64_t seed = 0x9e3779b97f4a7c15;
	const char *program;

	(void)state;
	unit_run(
		"cd %s; printf 'SSFFNBP\"a\"/P/BP\"b\"/P/N/S/S' >sets; printf 'body\\0x' >body; "
		"printf 'x=17*3\\nif (x==51) 4700+11\\n2^10\\n' >sums; "
		"printf 'some words\\nof no use\\nabcdefgh foo\\n' >text",
		unit_env("TMPDIR"));
	for (size_t p = 0; (program = programs(p)); p++) {
		struct run r;

		begin(&r, program);
		for (size_t done = 0, tries = 0; done < n_each && tries < 20 * n_each;
		     tries++) {
			const struct fl_inputs_options o = options_of(&r, false);
			struct fl_inputs in = {};
			struct criterion c;
			struct fl_seed s;

			if (!choose(&r, &seed, &c))
				continue;
			s = (struct fl_seed){ .kind = FL_SEED_REG,
					      .position = c.position,
					      .reg = c.reg,
					      .bytes = 0xff };
			ok(fl_inputs_walk(r.trace, &r.sources, &s, 1, &o, &in));
			compare(&r, &s, &in);
			for (int i = 0; i < 6; i++, done++)
				judge(&r, program, &in, &c,
				      choose_byte(&r, &in, i, &seed),
				      1u << random_word(&seed) % 7);
			fl_inputs_deinit(&in);
		}
		end(&r);
	}
	printf("%lu without a role (%lu left the path), %lu strong, %lu by address alone, "
	       "%lu weak; wrong: %lu without, %lu strong, %lu by address\n",
	       n.without, n.without_parted, n.strong, n.strong_address, n.weak, n.wrong,
	       n.missed, n.missed_address);
	assert_int_equal(n.wrong, 0);
	assert_int_equal(n.missed, 0);
	assert_true(n.without > 10 && n.strong > 2 && n.again > 10000 && n.super > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(executed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
