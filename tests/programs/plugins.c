// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -ldl

/* Loads and unloads two libraries in turn, so that one's code lies where the other's lay,
 * and calls them. Exits with 3 when they lie apart. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin {
	const char *library, *function;
	size_t start, end; /* of its code, when last loaded */
};

static struct plugin plugins[2] = {
	{ .library = "libz.so.1", .function = "zlibVersion" },
	{ .library = "libbz2.so.1.0", .function = "BZ2_bzlibVersion" },
};

static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct plugin *p = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, p->library))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && (h->p_flags & PF_X)) {
			p->start = info->dlpi_addr + h->p_vaddr;
			p->end = p->start + h->p_memsz;
		}
	}
	return 1;
}

static int call(struct plugin *p, const struct plugin *other)
{
	void *library = dlopen(p->library, RTLD_NOW);
	const char *(*function)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	function = (const char *(*)(void))dlsym(library, p->function);
	if (!function || !function()[0] || !dl_iterate_phdr(find_code, p))
		exit(2);
	dlclose(library);
	return p->start < other->end && other->start < p->end;
}

int main(void)
{
	int over = 0;

	for (int i = 0; i < 20; i++)
		over += call(&plugins[i % 2], &plugins[(i + 1) % 2]);
	printf("%d times over the other\n", over);
	return over ? 0 : 3;
}
