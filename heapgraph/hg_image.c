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

int hg_image_ensure(struct hg_image *im, uint64_t addr, uint64_t size)
{
	uint64_t last = (addr + size - 1) / HG_PAGE_BYTES;
	uint8_t **slot;

	if (!size)
		return 0;
	for (uint64_t page = addr / HG_PAGE_BYTES; page <= last; page++) {
		if (hg_image_find(im, page))
			continue;
		if (map_put(&im->slots, page, im->pages.size))
			return -1;
		slot = vec_push(&im->pages);
		if (slot)
			*slot = calloc(1, HG_PAGE_BYTES);
		if (!slot || !*slot) {
			im->pages.size -= slot != NULL;
			map_remove(&im->slots, page);
			return -1;
		}
	}
	return 0;
}

uint8_t *hg_image_find(struct hg_image *im, uint64_t page)
{
	struct hg_cached_page *c = &im->cached[page % HG_CACHED_PAGES];
	uint8_t *bytes;

	if (c->bytes && c->page == page)
		return c->bytes;
	bytes = hg_image_page(&im->slots, im->pages.data, page);
	if (bytes)
		*c = (struct hg_cached_page){ page, bytes };
	return bytes;
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

struct err *hg_image_contents(struct hg_image *im, uint64_t addr, uint64_t size,
			      uint8_t **ret)
{
	bool is_written = false;

	*ret = NULL;
	for (uint64_t at = addr; at - addr < size && !is_written;
	     at = (at / HG_PAGE_BYTES + 1) * HG_PAGE_BYTES)
		is_written = hg_image_find(im, at / HG_PAGE_BYTES) != NULL;
	if (!is_written)
		return NULL;
	*ret = malloc(size);
	if (!*ret)
		return &err_nomem;
	hg_image_get(im, addr, *ret, size);
	return NULL;
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

void hg_image_get(struct hg_image *im, uint64_t addr, void *buf, uint64_t size)
{
	const uint8_t *page = hg_image_find(im, addr / HG_PAGE_BYTES);

	if (page && addr % HG_PAGE_BYTES + size <= HG_PAGE_BYTES) // as good as always
		memcpy(buf, page + addr % HG_PAGE_BYTES, size);
	else
		hg_image_read(&im->slots, im->pages.data, addr, buf, size);
}

int hg_image_put(struct hg_image *im, uint64_t addr, const void *buf, uint64_t size)
{
	uint8_t *page = hg_image_find(im, addr / HG_PAGE_BYTES);

	if (page && addr % HG_PAGE_BYTES + size <= HG_PAGE_BYTES) { // as good as always
		memcpy(page + addr % HG_PAGE_BYTES, buf, size);
		return 0;
	}
	if (hg_image_ensure(im, addr, size))
		return -1;
	hg_image_write(&im->slots, im->pages.data, addr, buf, size);
	return 0;
}

int hg_image_copy(struct hg_image *to, struct hg_image *from, uint64_t addr,
		  uint64_t size)
{
	while (size) {
		uint64_t off = addr % HG_PAGE_BYTES;
		uint64_t n = size < HG_PAGE_BYTES - off ? size : HG_PAGE_BYTES - off;
		const uint8_t *page = hg_image_find(from, addr / HG_PAGE_BYTES);

		if (!page) {
			hg_image_zero(to, addr, n);
		} else {
			if (hg_image_ensure(to, addr, n))
				return -1;
			memcpy(hg_image_find(to, addr / HG_PAGE_BYTES) + off, page + off,
			       n);
		}
		addr += n;
		size -= n;
	}
	return 0;
}

static void image_zero_page(struct hg_image *im, uint64_t page, uint64_t from,
			    uint64_t to)
{
	uint64_t start = page * HG_PAGE_BYTES;
	uint8_t *bytes = hg_image_page(&im->slots, im->pages.data, page);

	if (!bytes)
		return;
	if (from < start)
		from = start;
	if (to - start > HG_PAGE_BYTES)
		to = start + HG_PAGE_BYTES;
	memset(bytes + (from - start), 0, to - from);
}

void hg_image_zero(struct hg_image *im, uint64_t addr, uint64_t size)
{
	uint64_t first = addr / HG_PAGE_BYTES, last = (addr + size - 1) / HG_PAGE_BYTES;

	if (!size)
		return;
	if (last - first < im->slots.capacity) {
		for (uint64_t page = first; page <= last; page++)
			image_zero_page(im, page, addr, addr + size);
		return;
	}
	for (size_t i = 0; i < im->slots.capacity; i++) {
		uint64_t page = im->slots.slots[i].key;

		if (page != MAP_EMPTY_KEY && page >= first && page <= last)
			image_zero_page(im, page, addr, addr + size);
	}
}
