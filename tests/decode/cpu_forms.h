// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which instruction forms the real programs use: a linear sweep over the executable
 * sections of gzip, ls, sort, bc, sqlite3 and python3 and of the libraries they load. A
 * form is everything but the register numbers and constants; of each form a few
 * instances are kept, chosen by the seed.
 */
#ifndef TESTS_CPU_FORMS_H
#define TESTS_CPU_FORMS_H

#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "base/base.h"
#include "decode/x86/insn.h"
#include "decode/x86/zydis.h"

#define FORM_INSTANCES 16

/** A form's key, and instances of it as they lie in the files. */
struct form {
	uint64_t key;
	uint64_t n_seen;
	uint16_t mnemonic;
	bool is_slow, is_tried, is_run; ///< run: natively without a fault, at least once
	int signo;			///< of the last native fault
	uint8_t n_instances;
	uint8_t bytes[FORM_INSTANCES][15];
	uint8_t len[FORM_INSTANCES];
};

struct forms {
	VEC(struct form) all;
	struct map by_key;
	uint64_t seed;
	uint64_t n_files, n_insns;
};

/** xorshift64*: the tests' only source of chance. */
static inline uint64_t cpu_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static inline bool forms_decode(const uint8_t *bytes, size_t n,
				ZydisDecodedInstruction *d, ZydisDecodedOperand *ops)
{
	static ZydisDecoder decoder;

	if (!decoder.stack_width)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
				 ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, d, ops));
}

static inline uint64_t forms_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Addressing classes: what differs in how an address is made, not which register. */
static inline uint64_t forms_mix_mem(uint64_t h, const ZydisDecodedOperand *op)
{
	ZydisRegister base = op->mem.base;

	h = forms_mix(h, base == ZYDIS_REGISTER_NONE ? 0 :
			 base == ZYDIS_REGISTER_RIP  ? 1 :
			 base == ZYDIS_REGISTER_RSP  ? 2 :
						       3);
	h = forms_mix(h, op->mem.index != ZYDIS_REGISTER_NONE);
	h = forms_mix(h, op->mem.type);
	return forms_mix(h, op->mem.segment == ZYDIS_REGISTER_FS);
}

static inline bool forms_is_high8(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

static inline uint64_t forms_key(const ZydisDecodedInstruction *d,
				 const ZydisDecodedOperand *ops)
{
	const ZydisInstructionAttributes prefixes =
		ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
		ZYDIS_ATTRIB_HAS_REPNE | ZYDIS_ATTRIB_HAS_SEGMENT |
		ZYDIS_ATTRIB_HAS_ADDRESSSIZE;
	uint64_t h = forms_mix(0, d->mnemonic);

	h = forms_mix(h, d->encoding);
	h = forms_mix(h, d->opcode);
	h = forms_mix(h, d->attributes & prefixes);
	h = forms_mix(h, d->avx.vector_length);
	h = forms_mix(h, d->avx.mask.mode);
	h = forms_mix(h, d->avx.mask.reg > ZYDIS_REGISTER_K0);
	h = forms_mix(h, d->avx.broadcast.mode);
	for (int i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *op = &ops[i];

		h = forms_mix(h, op->type);
		h = forms_mix(h, op->size);
		h = forms_mix(h, op->visibility);
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			h = forms_mix(h, ZydisRegisterGetClass(op->reg.value));
			h = forms_mix(h, forms_is_high8(op->reg.value));
			h = forms_mix(h, op->reg.value == ZYDIS_REGISTER_RSP);
		} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			h = forms_mix_mem(h, op);
		}
	}
	// The same register twice is a form of its own: zeroing, or a value kept.
	if (d->operand_count_visible > 1 && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		for (int i = 1; i < d->operand_count_visible; i++)
			h = forms_mix(h, ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
						 ops[i].reg.value == ops[0].reg.value);
	}
	return h == MAP_EMPTY_KEY ? 0 : h;
}

/* Straight-line user-mode instructions whose effect is a function of the state. */
static inline bool forms_wants(const ZydisDecodedInstruction *d,
			       const struct dec_insn *insn)
{
	// The saves' header (and what xsaveopt leaves unwritten) tells which components the
	// CPU tracks as in use, which the same state does not decide: not comparable.
	if (dec_insn_saves(d->mnemonic) == DEC_INSN_IMAGE_EXTENDED)
		return false;
	if (insn->flow != DEC_FLOW_NEXT || (d->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
		return false;
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_WAITPKG:
		// xgetbv is the one that ld.so executes.
		return d->mnemonic == ZYDIS_MNEMONIC_XGETBV;
	default:
		return true;
	}
}

static inline void forms_add(struct forms *f, const uint8_t *bytes,
			     const ZydisDecodedInstruction *d,
			     const ZydisDecodedOperand *ops)
{
	uint64_t key = forms_key(d, ops), *at = map_get(&f->by_key, key), slot;
	struct form *form;

	if (!at) {
		form = vec_push(&f->all);
		form->key = key;
		form->mnemonic = d->mnemonic;
		map_put(&f->by_key, key, f->all.size - 1);
	} else {
		form = &f->all.data[*at];
	}
	slot = form->n_seen++;
	if (slot >= FORM_INSTANCES)
		slot = cpu_random(&f->seed) % form->n_seen;
	if (slot >= FORM_INSTANCES)
		return;
	memcpy(form->bytes[slot], bytes, d->length);
	form->len[slot] = d->length;
	if (slot >= form->n_instances)
		form->n_instances = slot + 1;
}

static inline void forms_sweep(struct forms *f, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction d;
		struct dec_insn insn;

		if (!forms_decode(bytes + at, size - at, &d, ops)) {
			at++;
			continue;
		}
		if (dec_insn_decode(bytes + at, size - at, 0x10000, &insn) &&
		    forms_wants(&d, &insn))
			forms_add(f, bytes + at, &d, ops);
		f->n_insns++;
		at += d.length;
	}
}

/** Sweep the executable sections of the ELF file @p path. @return whether it has any. */
static inline bool forms_add_file(struct forms *f, const char *path)
{
	Elf_Scn *section = NULL;
	bool has_code = false;
	Elf *elf;
	int fd;

	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && (section = elf_nextscn(elf, section))) {
		Elf64_Shdr *h = elf64_getshdr(section);
		Elf_Data *data;

		if (!h || h->sh_type != SHT_PROGBITS || !(h->sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_size) {
			forms_sweep(f, data->d_buf, data->d_size);
			has_code = true;
		}
	}
	elf_end(elf);
	close(fd);
	f->n_files += has_code;
	return has_code;
}

/** Sweep what the dynamic loader maps for the program @p path, as ldd tells. */
static inline void forms_add_libraries(struct forms *f, const char *path,
				       struct map *seen)
{
	char line[512], file[256], *slash;
	uint64_t hash = 0;
	FILE *ldd;

	snprintf(line, sizeof(line), "ldd %s 2>/dev/null", path);
	ldd = popen(line, "r");
	while (ldd && fgets(line, sizeof(line), ldd)) {
		slash = strchr(line, '/');
		if (!slash || sscanf(slash, "%255s", file) != 1)
			continue;
		hash = 0;
		for (const char *c = file; *c; c++)
			hash = forms_mix(hash, *c);
		if (map_get(seen, hash >> 1))
			continue;
		map_put(seen, hash >> 1, 1);
		forms_add_file(f, file);
	}
	if (ldd)
		pclose(ldd);
}

static inline void forms_deinit(struct forms *f)
{
	vec_deinit(&f->all);
	map_deinit(&f->by_key);
}

#endif
