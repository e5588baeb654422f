// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "csource/csource.h"

#include <dlfcn.h>

/* Debian's names, the newest for which its headers are, then what any system calls it. */
static const char *const names[] = { CSRC_LIBCLANG_DIR "/libclang.so.1",
				     CSRC_LIBCLANG_DIR "/libclang.so", "libclang-14.so.1",
				     "libclang.so.1", "libclang.so" };

struct err *csrc_clang_load(const struct csrc_clang **ret)
{
	static struct csrc_clang c;
	static void *library;

	*ret = &c;
	if (library)
		return NULL;
	for (size_t i = 0; !library && i < sizeof(names) / sizeof(*names); i++)
		library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return err_new(
			ERR_NOT_FOUND,
			"cannot load libclang, which reads C (Debian: libclang1-14): %s",
			dlerror());
#define F(name)                                                                        \
	*(void **)&c.name = dlsym(library, "clang_" #name);                            \
	if (!c.name) {                                                                 \
		dlclose(library);                                                      \
		library = NULL;                                                        \
		return err_new(ERR_NOT_FOUND,                                          \
			       "this libclang is too old: it has no clang_%s", #name); \
	}
	CSRC_CLANG(F)
#undef F
	return NULL;
}
