// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/registers.h"

#include <assert.h>
#include <string.h>

#define DBG_MINUS_ONE UINT16_MAX
#define XMM(n) (DEC_REG_VEC + (n))

/* ---- which there are ----------------------------------------------------------------------- */

static struct dbg_register *add(struct dbg_registers *r, int bytes, const char *type,
				const char *name)
{
	struct dbg_register *reg = &r->reg[r->n++];

	assert(r->n <= DBG_REGISTERS_MOST && "there is room for all");
	snprintf(reg->name, sizeof(reg->name), "%s", name);
	reg->bytes = reg->there = bytes;
	reg->type = type;
	dbg_print(&r->xml, "<reg name=\"%s\" bitsize=\"%d\" type=\"%s\"/>", name,
		  bytes * 8, type);
	return reg;
}

static void add_regs(struct dbg_registers *r, int bytes, const char *type,
		     const char *name, size_t at)
{
	struct dbg_register *reg = add(r, bytes, type, name);

	reg->from = DBG_FROM_REGS;
	reg->at = at;
}

/* Part of the machine's register @p index, from its byte @p at on. */
static struct dbg_register *add_state(struct dbg_registers *r, int bytes,
				      const char *type, const char *name, int index,
				      int at)
{
	struct dbg_register *reg = add(r, bytes, type, name);

	reg->from = DBG_FROM_STATE;
	reg->index = index;
	reg->at = at;
	return reg;
}

/* Registers @p name with a number from @p from to before @p to, each part of a vector. */
static void add_vectors(struct dbg_registers *r, const char *name, const char *type,
			int from, int to, int bytes, int at)
{
	for (int i = from; i < to; i++) {
		char numbered[12], *h = strchr(name, '#');

		snprintf(numbered, sizeof(numbered), "%.*s%d%s", (int)(h - name), name, i,
			 h + 1);
		add_state(r, bytes, type, numbered, XMM(i), at);
	}
}

static void begin(struct dbg_registers *r, const char *feature)
{
	dbg_print(&r->xml, "<feature name=\"org.gnu.gdb.i386.%s\">", feature);
}

static void end(struct dbg_registers *r)
{
	dbg_print(&r->xml, "</feature>\n");
}

static void add_flags_type(struct dbg_registers *r)
{
	static const struct {
		const char *name;
		int bit;
	} flags[] = { { "CF", 0 },  { "", 1 },	  { "PF", 2 },	 { "AF", 4 },
		      { "ZF", 6 },  { "SF", 7 },  { "TF", 8 },	 { "IF", 9 },
		      { "DF", 10 }, { "OF", 11 }, { "NT", 14 },	 { "RF", 16 },
		      { "VM", 17 }, { "AC", 18 }, { "VIF", 19 }, { "VIP", 20 },
		      { "ID", 21 } };

	dbg_print(&r->xml, "<flags id=\"i386_eflags\" size=\"4\">");
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		dbg_print(&r->xml, "<field name=\"%s\" start=\"%d\" end=\"%d\"/>",
			  flags[i].name, flags[i].bit, flags[i].bit);
	dbg_print(&r->xml, "</flags>");
}

static void add_mxcsr_type(struct dbg_registers *r)
{
	static const char *const flags[] = { "IE",  "DE", "ZE", "OE", "UE", "PE",
					     "DAZ", "IM", "DM", "ZM", "OM", "UM",
					     "PM",  NULL, NULL, "FZ" };

	dbg_print(&r->xml, "<flags id=\"i386_mxcsr\" size=\"4\">");
	for (int i = 0; i < 16; i++)
		if (flags[i])
			dbg_print(&r->xml, "<field name=\"%s\" start=\"%d\" end=\"%d\"/>",
				  flags[i], i, i);
	dbg_print(&r->xml, "</flags>");
}

/* What 16 bytes may be taken for. */
static void add_vector_type(struct dbg_registers *r)
{
	static const struct {
		const char *id, *type;
		int n;
	} lanes[] = { { "v8_bfloat16", "bfloat16", 8 },	 { "v4_float", "ieee_single", 4 },
		      { "v2_double", "ieee_double", 2 }, { "v16_int8", "int8", 16 },
		      { "v8_int16", "int16", 8 },	 { "v4_int32", "int32", 4 },
		      { "v2_int64", "int64", 2 } };
	const size_t n = sizeof(lanes) / sizeof(*lanes);

	for (size_t i = 0; i < n; i++)
		dbg_print(&r->xml, "<vector id=\"%s\" type=\"%s\" count=\"%d\"/>",
			  lanes[i].id, lanes[i].type, lanes[i].n);
	dbg_print(&r->xml, "<union id=\"vec128\">");
	for (size_t i = 0; i < n; i++)
		dbg_print(&r->xml, "<field name=\"%s\" type=\"%s\"/>", lanes[i].id,
			  lanes[i].id);
	dbg_print(&r->xml, "<field name=\"uint128\" type=\"uint128\"/></union>");
}

static void add_x87(struct dbg_registers *r)
{
	// As FXSAVE lays them out (SDM volume 1, 10.5.1).
	static const struct {
		const char *name;
		int at, there;
	} control[] = { { "fctrl", 0, 2 },  { "fstat", 2, 2 }, { "ftag", 4, 0 },
			{ "fiseg", 0, 0 },  { "fioff", 8, 4 }, { "foseg", 0, 0 },
			{ "fooff", 16, 4 }, { "fop", 6, 2 } };

	for (int i = 0; i < 8; i++) {
		char name[12];

		snprintf(name, sizeof(name), "st%d", i);
		add_state(r, 10, "i387_ext", name, DEC_REG_X87, 32 + 16 * i);
	}
	for (int i = 0; i < 8; i++) {
		struct dbg_register *reg = add_state(r, 4, "int", control[i].name,
						     DEC_REG_X87, control[i].at);

		reg->there = control[i].there;
		if (!strcmp(control[i].name, "ftag"))
			reg->from = DBG_FROM_TAGS;
	}
}

static void add_core(struct dbg_registers *r)
{
	static const struct {
		const char *name;
		int value;
	} segments[] = { { "cs", 0x33 }, { "ss", 0x2b }, { "ds", 0 },
			 { "es", 0 },	 { "fs", 0 },	 { "gs", 0 } };
	// gdb's order is not that of the encodings.
	static const uint8_t order[] = { CAP_RAX, CAP_RBX, CAP_RCX, CAP_RDX,
					 CAP_RSI, CAP_RDI, CAP_RBP, CAP_RSP,
					 CAP_R8,  CAP_R9,  CAP_R10, CAP_R11,
					 CAP_R12, CAP_R13, CAP_R14, CAP_R15 };

	begin(r, "core");
	add_flags_type(r);
	for (size_t i = 0; i < CAP_GPRS; i++) {
		bool is_pointer = order[i] == CAP_RSP || order[i] == CAP_RBP;
		struct dbg_register *reg = add(r, 8, is_pointer ? "data_ptr" : "int64",
					       dec_reg_gpr_name(order[i]));

		reg->from = DBG_FROM_GPR;
		reg->index = order[i];
	}
	add_regs(r, 8, "code_ptr", "rip", offsetof(struct cap_regs, rip));
	add_regs(r, 4, "i386_eflags", "eflags", offsetof(struct cap_regs, rflags));
	for (size_t i = 0; i < sizeof(segments) / sizeof(*segments); i++) {
		struct dbg_register *reg = add(r, 4, "int32", segments[i].name);

		reg->from = DBG_FIXED;
		reg->at = segments[i].value;
	}
	add_x87(r);
	end(r);
}

static void add_avx512(struct dbg_registers *r)
{
	begin(r, "avx512");
	add_vector_type(r);
	dbg_print(&r->xml, "<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>");
	for (int i = 0; i < 8; i++) {
		char name[12];

		snprintf(name, sizeof(name), "k%d", i);
		add_state(r, 8, "uint64", name, DEC_REG_K + i, 0);
	}
	add_vectors(r, "xmm#", "vec128", 16, 32, 16, 0);
	add_vectors(r, "ymm#h", "uint128", 16, 32, 16, 16);
	add_vectors(r, "zmm#h", "v2ui128", 0, 32, 32, 32);
	end(r);
}

static void find_features(struct dbg_registers *r, const struct cap_cpu *cpu)
{
	uint32_t regs[4] = {};

	cap_cpu_find(cpu, 1, 0, CAP_CPU_ANY, regs);
	r->has_avx = regs[2] >> 28 & 1;
	memset(regs, 0, sizeof(regs));
	cap_cpu_find(cpu, 7, 0, CAP_CPU_ANY, regs);
	r->has_avx512 = r->has_avx && regs[1] >> 16 & 1;
}

struct err *dbg_registers_init(struct dbg_registers *r, const struct cap_cpu *cpu)
{
	struct dbg_register *reg;

	find_features(r, cpu);
	dbg_print(&r->xml, "<?xml version=\"1.0\"?>\n"
			   "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
			   "<target><architecture>i386:x86-64</architecture>"
			   "<osabi>GNU/Linux</osabi>\n");
	add_core(r);
	begin(r, "sse");
	add_vector_type(r);
	add_mxcsr_type(r);
	add_vectors(r, "xmm#", "vec128", 0, 16, 16, 0);
	add_state(r, 4, "i386_mxcsr", "mxcsr", DEC_REG_MXCSR, 0);
	end(r);
	begin(r, "linux");
	reg = add(r, 8, "int", "orig_rax");
	reg->from = DBG_FIXED;
	reg->at = DBG_MINUS_ONE; // no call is to be made again
	end(r);
	begin(r, "segments");
	add_regs(r, 8, "int64", "fs_base", offsetof(struct cap_regs, fs_base));
	add_regs(r, 8, "int64", "gs_base", offsetof(struct cap_regs, gs_base));
	end(r);
	if (r->has_avx) {
		begin(r, "avx");
		add_vectors(r, "ymm#h", "uint128", 0, 16, 16, 16);
		end(r);
	}
	if (r->has_avx512)
		add_avx512(r);
	dbg_print(&r->xml, "</target>\n");
	return r->xml.is_out_of_memory ? &err_nomem : NULL;
}

void dbg_registers_deinit(struct dbg_registers *r)
{
	dbg_text_deinit(&r->xml);
}

/* ---- their values -------------------------------------------------------------------------- */

/* The tag word of a state that FXSAVE stored: it tells only which registers are empty (SDM volume
 * 1, 10.5.1.1), the value of the others tells the rest. */
static uint16_t tag_word(const uint8_t *state)
{
	unsigned top = state[3] >> 3 & 7;
	uint16_t tags = 0;

	for (unsigned i = 0; i < 8; i++) {
		const uint8_t *st = state + 32 + 16 * ((i - top) & 7);
		uint64_t mantissa;
		uint16_t exponent;
		unsigned tag;

		memcpy(&mantissa, st, 8);
		memcpy(&exponent, st + 8, 2);
		exponent &= 0x7fff;
		if (!(state[4] >> i & 1))
			tag = 3;
		else if (!exponent && !mantissa)
			tag = 1;
		else
			tag = exponent == 0x7fff || !(mantissa >> 63) ? 2 : 0;
		tags |= tag << 2 * i;
	}
	return tags;
}

static struct err *hold(struct dbg_values *v, int index)
{
	struct err *err = NULL;
	size_t n;

	if (v->held == index)
		return NULL;
	memset(v->state, 0, sizeof(v->state));
	err = dec_machine_thread_reg(v->machine, v->thread.tid, index, v->state, &n);
	v->held = err ? -1 : index;
	return err;
}

struct err *dbg_registers_read(const struct dbg_registers *r, struct dbg_values *v,
			       size_t i, uint8_t buf[DBG_REGISTER_BYTES])
{
	const struct dbg_register *reg = &r->reg[i];
	struct err *err = NULL;
	uint16_t tags;

	memset(buf, 0, DBG_REGISTER_BYTES);
	switch (reg->from) {
	case DBG_FROM_GPR:
		memcpy(buf, &v->thread.regs.gpr[reg->index], 8);
		break;
	case DBG_FROM_REGS:
		memcpy(buf, (const char *)&v->thread.regs + reg->at, reg->bytes);
		break;
	case DBG_FROM_STATE:
		err = hold(v, reg->index);
		memcpy(buf, v->state + reg->at, reg->there);
		break;
	case DBG_FROM_TAGS:
		err = hold(v, DEC_REG_X87);
		tags = tag_word(v->state);
		memcpy(buf, &tags, sizeof(tags));
		break;
	case DBG_FIXED:
		if (reg->at == DBG_MINUS_ONE)
			memset(buf, 0xff, reg->bytes);
		else
			buf[0] = reg->at;
		break;
	}
	return err;
}
