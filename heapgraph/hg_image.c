// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_int.h"

#include <assert.h>
#include <string.h>

void hg_image_deinit(struct hg_image *im)
{
	for (size_t i = 0; i < im->pages.size; i++)
		free(im->pages.data[i]);
	vec_deinit(&im->pages);
	map_deinit(&im->slots);
}

uint8_t *hg_image_add(struct hg_image *im, uint64_t page)
{
	uint8_t *bytes = calloc(1, HG_PAGE_BYTES);

	if (!bytes || vec_reserve(&im->pages, im->pages.size + 1) ||
	    map_put(&im->slots, page, im->pages.size)) {
		free(bytes);
		return NULL;
	}
	return im->pages.data[im->pages.size++] = bytes;
}

uint8_t *hg_image_page(const struct map *slots, uint8_t *const *pages, uint64_t page)
{
	const uint64_t *slot = map_get(slots, page);

	return slot ? pages[*slot] : NULL;
}

void hg_image_read(const struct map *slots, uint8_t *const *pages, uint64_t addr,
		   void *buf, uint64_t size)
{
	uint8_t *out = buf;

	while (size) {
		uint64_t off = addr % HG_PAGE_BYTES;
		uint64_t n = size < HG_PAGE_BYTES - off ? size : HG_PAGE_BYTES - off;
		const uint8_t *page = hg_image_page(slots, pages, addr / HG_PAGE_BYTES);

		if (page)
			memcpy(out, page + off, n);
		else
			memset(out, 0, n);
		addr += n;
		out += n;
		size -= n;
	}
}

void hg_image_write(const struct map *slots, uint8_t *const *pages, uint64_t addr,
		    const void *buf, uint64_t size)
{
	const uint8_t *in = buf;

	while (size) {
		uint64_t off = addr % HG_PAGE_BYTES;
		uint64_t n = size < HG_PAGE_BYTES - off ? size : HG_PAGE_BYTES - off;
		uint8_t *page = hg_image_page(slots, pages, addr / HG_PAGE_BYTES);

		assert(page);
		memcpy(page + off, in, n);
		addr += n;
		in += n;
		size -= n;
	}
}
