// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where instructions begin. A probe in the middle of one would change the program, so only
 * what can be shown counts: .eh_frame_hdr (which even stripped files have), the symbols and
 * Go's own table tell where functions begin, and from there on instructions follow each other up to the
 * next one; where data lies in between, a branch or an impossible byte gives it away.
 */
#define LOG_ROOM "record"
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "decode/x86/zydis.h"
#include "pt-collect/probes/chance.h"
#include "storeplan/storeplan.h"

#define FUNCTION_MAX (1u << 20) ///< bytes; a longer one is not looked at
#define PAIRS 512		///< of the search table that are read at once

struct ptc_code {
	int fd; ///< borrowed
	Elf *elf;
	VEC(uint64_t) starts; ///< file offsets, ascending
};

uint64_t ptc_code_offset(struct Elf *elf, uint32_t flags, uint64_t addr)
{
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD &&
		    (ph.p_flags & flags) == flags && addr >= ph.p_vaddr &&
		    addr - ph.p_vaddr < ph.p_filesz)
			return addr - ph.p_vaddr + ph.p_offset;
	}
	return 0;
}

static void add_start(struct ptc_code *c, uint64_t addr)
{
	uint64_t offset = ptc_code_offset(c->elf, PF_X, addr), *slot;

	slot = offset ? vec_push(&c->starts) : NULL;
	if (slot)
		*slot = offset;
}

/** The search table of .eh_frame_hdr, in the one encoding that linkers write: version 1,
 * sdata4 pcrel, udata4, sdata4 datarel. */
static void add_unwind_starts(struct ptc_code *c, const GElf_Phdr *ph)
{
	int32_t pairs[PAIRS][2];
	uint8_t head[12];
	ssize_t got = 0;
	uint32_t n;

	if (pread(c->fd, head, sizeof(head), ph->p_offset) != sizeof(head) ||
	    head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b)
		return;
	memcpy(&n, head + 8, sizeof(n));
	for (uint64_t i = 0; i < n && 12 + 8 * i < ph->p_filesz; i++) {
		int32_t *pair = pairs[i % PAIRS];

		// The last piece of a file may be short.
		if (pair == pairs[0])
			got = pread(c->fd, pairs, sizeof(pairs),
				    ph->p_offset + 12 + 8 * i);
		if (got < (ssize_t)(8 * (i % PAIRS + 1)))
			return;
		add_start(c, ph->p_vaddr + pair[0]);
	}
}

static void add_symbol_starts(struct ptc_code *c)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(c->elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || !sh.sh_entsize ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++)
			if (gelf_getsym(data, i, &sym) && sym.st_shndx != SHN_UNDEF &&
			    GELF_ST_TYPE(sym.st_info) == STT_FUNC)
				add_start(c, sym.st_value);
	}
}

/** The head of Go's table of functions, since Go 1.18 (src/debug/gosym/pclntab.go). */
struct go_head {
	uint32_t magic;
	uint8_t zeros[2], quantum, pointer_bytes;
	uint64_t n_functions, n_files, text_start, names_at, units_at, files_at, pcs_at;
	uint64_t
		functions_at; ///< in the section: pairs of u32, the first a distance from
			      ///< text_start, and the end of the last function
};

static void add_go_starts(struct ptc_code *c)
{
	Elf_Scn *scn = NULL;
	size_t names = 0;

	if (elf_getshdrstrndx(c->elf, &names))
		return;
	while ((scn = elf_nextscn(c->elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ?
					   elf_strptr(c->elf, names, sh.sh_name) :
					   NULL;
		const char *what = name ? strstr(name, ".gopclntab") : NULL;
		struct go_head head;
		Elf_Data *data;

		if (!what || what[10] || !(data = elf_rawdata(scn, NULL)) ||
		    data->d_size < sizeof(head))
			continue;
		memcpy(&head, data->d_buf, sizeof(head));
		if ((head.magic | 1) != 0xfffffff1 || head.pointer_bytes != 8 ||
		    head.functions_at > data->d_size ||
		    head.n_functions >= (data->d_size - head.functions_at) / 8)
			return;
		for (uint64_t i = 0; i <= head.n_functions; i++) {
			uint32_t at;

			memcpy(&at, (char *)data->d_buf + head.functions_at + 8 * i, 4);
			add_start(c, head.text_start + at);
		}
	}
}

static int compare_starts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/** Only when something is looked for: most files hold no candidate. */
static void read_starts(struct ptc_code *c)
{
	size_t n = 0;

	elf_getphdrnum(c->elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(c->elf, i, &ph))
			continue;
		if (ph.p_type == PT_GNU_EH_FRAME)
			add_unwind_starts(c, &ph);
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			add_start(c, ph.p_vaddr + ph.p_filesz - 1); // an end
	}
	add_symbol_starts(c);
	add_go_starts(c);
	vec_sort(&c->starts, compare_starts);
}

struct err *ptc_code_open(int fd, struct ptc_code **ret)
{
	struct ptc_code *c = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	elf_version(EV_CURRENT);
	c->fd = fd;
	c->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!c->elf) {
		free(c);
		return err_new(ERR_FORMAT, "not an ELF file: its code is not searched");
	}
	*ret = c;
	return NULL;
}

void ptc_code_closep(struct ptc_code **code)
{
	struct ptc_code *c = *code;

	if (!c)
		return;
	elf_end(c->elf);
	vec_deinit(&c->starts);
	free(c);
}

/** The function that holds @p offset: from the last beginning before it to the next. */
static bool find_function(const struct ptc_code *c, uint64_t offset, uint64_t *start,
			  uint64_t *end)
{
	size_t lo = vec_rank(c->starts.size, i, c->starts.data[i] <= offset);

	if (!lo || lo == c->starts.size)
		return false;
	*start = c->starts.data[lo - 1];
	*end = c->starts.data[lo];
	return *end - *start <= FUNCTION_MAX;
}

static bool is_chance(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *ops)
{
	enum dec_flow flow = dec_insn_flow(d, ops);

	return flow == DEC_FLOW_RANDOM || flow == DEC_FLOW_CPUID || flow == DEC_FLOW_TSC;
}

/** One function while it is checked. */
struct sweep {
	uint8_t *bytes;
	bool *begins, *is_target; ///< by byte
	size_t size;
	size_t before; ///< the instruction found's predecessor, from which alone it is reached; SIZE_MAX: none
	size_t behind; ///< its successor, which is reached from it alone; SIZE_MAX: none
};

static void sweep_deinit(struct sweep *s)
{
	free(s->bytes);
	free(s->begins);
	free(s->is_target);
}

static void note_target(struct sweep *s, const ZydisDecodedInstruction *d,
			const ZydisDecodedOperand *op, size_t at)
{
	int64_t target;

	if (op->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !op->imm.is_relative)
		return;
	target = (int64_t)at + d->length + op->imm.value.s;
	if (target >= 0 && target < (int64_t)s->size)
		s->is_target[target] = true;
}

/** Between sections there are zeros. */
static bool is_filling(const struct sweep *s, size_t at)
{
	while (at < s->size && !s->bytes[at])
		at++;
	return at == s->size;
}

/** Decode all of it. @return the instruction whose bytes hold @p wanted; its size when that is none of ours; SIZE_MAX
 * when something is not sound. */
static size_t sweep(struct sweep *s, size_t wanted)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;
	size_t found = s->size, last = SIZE_MAX;

	s->before = s->behind = SIZE_MAX;
	for (size_t at = 0; at < s->size; at += d.length) {
		if (!dec_insn_zydis(s->bytes + at, s->size - at, &d, ops)) {
			if (is_filling(s, at))
				break;
			return SIZE_MAX;
		}
		s->begins[at] = true;
		if (d.operand_count)
			note_target(s, &d, &ops[0], at);
		if (at == s->behind && (is_chance(&d, ops) || sp_is_unprobable(&d)))
			s->behind = SIZE_MAX;
		if (at <= wanted && wanted < at + d.length && is_chance(&d, ops)) {
			found = at;
			s->before = last;
			s->behind = at + d.length;
		}
		last = at;
		if (dec_insn_flow(&d, ops) != DEC_FLOW_NEXT || sp_is_unprobable(&d))
			last = SIZE_MAX;
	}
	for (size_t at = 0; at < s->size; at++)
		if (s->is_target[at] && !s->begins[at])
			return SIZE_MAX;
	if (found < s->size && s->is_target[found])
		s->before = SIZE_MAX;
	if (s->behind >= s->size || !s->begins[s->behind] || s->is_target[s->behind])
		s->behind = SIZE_MAX;
	return found;
}

uint64_t ptc_code_find(struct ptc_code *c, uint64_t offset, struct ptc_code_beside *ret)
{
	_cleanup_(sweep_deinit) struct sweep s = {};
	uint64_t start, end;
	size_t at;

	if (!c->starts.size)
		read_starts(c);
	if (!find_function(c, offset, &start, &end))
		return 0;
	s.size = end - start;
	s.bytes = malloc(s.size);
	s.begins = calloc(s.size, sizeof(*s.begins));
	s.is_target = calloc(s.size, sizeof(*s.is_target));
	if (!s.bytes || !s.begins || !s.is_target ||
	    pread(c->fd, s.bytes, s.size, start) != (ssize_t)s.size)
		return 0;
	at = sweep(&s, offset - start);
	ret->before = s.before == SIZE_MAX ? 0 : start + s.before;
	ret->behind = s.behind == SIZE_MAX ? 0 : start + s.behind;
	return at == SIZE_MAX ? 0 : at == s.size ? PTC_CODE_NONE : start + at;
}
