// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/allocator.h"

#include <string.h>

#include "decode/symbols/object.h"

const struct dec_allocator_function dec_allocator[] = {
	[CAP_HEAP_MALLOC] = { "malloc", CAP_HEAP_MALLOC },
	[CAP_HEAP_CALLOC] = { "calloc", CAP_HEAP_CALLOC },
	[CAP_HEAP_REALLOC] = { "realloc", CAP_HEAP_REALLOC },
	[CAP_HEAP_FREE] = { "free", CAP_HEAP_FREE },
	[CAP_HEAP_POSIX_MEMALIGN] = { "posix_memalign", CAP_HEAP_POSIX_MEMALIGN },
	[CAP_HEAP_ALIGNED_ALLOC] = { "aligned_alloc", CAP_HEAP_ALIGNED_ALLOC },
	{ "memalign", CAP_HEAP_ALIGNED_ALLOC },
	{ "valloc", CAP_HEAP_MALLOC },
	{ "pvalloc", CAP_HEAP_MALLOC },
	{ "reallocarray", CAP_HEAP_REALLOC, CAP_RDX },
	{ "malloc_usable_size", DEC_ALLOCATOR_OTHER },
	{ "malloc_trim", DEC_ALLOCATOR_OTHER },
	{ "mallinfo", DEC_ALLOCATOR_OTHER },
	{ "mallinfo2", DEC_ALLOCATOR_OTHER },
	{ "malloc_stats", DEC_ALLOCATOR_OTHER },
	{ "malloc_info", DEC_ALLOCATOR_OTHER },
	{ NULL, 0 },
};

const struct dec_allocator_operator dec_allocator_operators[] = {
	{ "_Znwm", false, false, CAP_RDI, 0 },
	{ "_ZnwmRKSt9nothrow_t", false, false, CAP_RDI, 0 },
	{ "_ZnwmSt11align_val_t", false, false, CAP_RDI, CAP_RSI },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", false, false, CAP_RDI, CAP_RSI },
	{ "_ZdlPv", true, false, 0, 0 },
	{ "_ZdlPvm", true, false, CAP_RSI, 0 },
	{ "_ZdlPvRKSt9nothrow_t", true, false, 0, 0 },
	{ "_ZdlPvSt11align_val_t", true, false, 0, 0 },
	{ "_ZdlPvmSt11align_val_t", true, false, CAP_RSI, CAP_RDX },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", true, false, 0, 0 },
	{ "_Znam", false, true, CAP_RDI, 0 },
	{ "_ZnamRKSt9nothrow_t", false, true, CAP_RDI, 0 },
	{ "_ZnamSt11align_val_t", false, true, CAP_RDI, CAP_RSI },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", false, true, CAP_RDI, CAP_RSI },
	{ "_ZdaPv", true, true, 0, 0 },
	{ "_ZdaPvm", true, true, CAP_RSI, 0 },
	{ "_ZdaPvRKSt9nothrow_t", true, true, 0, 0 },
	{ "_ZdaPvSt11align_val_t", true, true, 0, 0 },
	{ "_ZdaPvmSt11align_val_t", true, true, CAP_RSI, CAP_RDX },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", true, true, 0, 0 },
};

const size_t dec_allocator_n_operators =
	sizeof(dec_allocator_operators) / sizeof(*dec_allocator_operators);

#define ENTRIES_MAX 16

bool dec_allocator_has_librarys_new(struct dec_symbols *symbols, const char *exe)
{
	const char *of = NULL;
	uint64_t entry[ENTRIES_MAX];

	for (size_t k = 0; k < dec_allocator_n_operators; k++) {
		size_t n = dec_symbols_entries(symbols, dec_allocator_operators[k].name,
					       entry, ENTRIES_MAX);

		for (size_t i = 0; i < n && i < ENTRIES_MAX; i++) {
			const char *module = dec_symbols_module(symbols, entry[i]);

			if (!module || (exe && !strcmp(module, exe)) ||
			    (of && strcmp(module, of)) ||
			    dec_symbols_has_debug(symbols, entry[i]))
				return false;
			of = module;
		}
	}
	return true;
}

/* Of the C library, and the dynamic linker, which may have an allocator, too. */
static const char *const c_librarys[] = { "__libc_start_main", "__tls_get_addr" };

#define C_LIBRARYS (sizeof(c_librarys) / sizeof(*c_librarys))

struct strangers {
	struct dec_symbols *symbols;
	struct err *(*fn)(void *ctx, uint64_t entry);
	void *ctx;
	uint64_t c_library[C_LIBRARYS]; ///< somewhere in it; 0: there is none
};

static bool is_c_librarys(const struct strangers *s, uint64_t entry)
{
	for (size_t k = 0; k < C_LIBRARYS; k++)
		if (s->c_library[k] &&
		    dec_symbols_same_module(s->symbols, s->c_library[k], entry))
			return true;
	return false;
}

static struct err *on_linked(void *ctx, const char *name, uint64_t entry)
{
	const struct strangers *s = ctx;
	uint64_t of[ENTRIES_MAX];
	size_t n = dec_symbols_entries(s->symbols, name, of, ENTRIES_MAX);

	for (size_t i = 0; i < n && i < ENTRIES_MAX; i++)
		if (is_c_librarys(s, of[i]))
			return NULL;
	return s->fn(s->ctx, entry);
}

struct err *dec_allocator_strangers(struct dec_symbols *symbols, const char *exe,
				    struct err *(*fn)(void *ctx, uint64_t entry),
				    void *ctx)
{
	struct strangers s = { .symbols = symbols, .fn = fn, .ctx = ctx };
	uint64_t entry[ENTRIES_MAX];
	size_t n = dec_symbols_entries(symbols, "free", entry, ENTRIES_MAX);
	struct err *err = NULL;

	for (size_t k = 0; k < C_LIBRARYS; k++)
		if (!dec_symbols_entries(symbols, c_librarys[k], &s.c_library[k], 1))
			s.c_library[k] = 0;
	for (size_t i = 0; i < n && i < ENTRIES_MAX && !err; i++) {
		const char *module = dec_symbols_module(symbols, entry[i]);

		if (module && (!exe || strcmp(module, exe)) &&
		    !is_c_librarys(&s, entry[i]))
			err = dec_symbols_linked(symbols, entry[i], on_linked, &s);
	}
	return err;
}
