// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/allocator.h"

#include <stddef.h>

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
