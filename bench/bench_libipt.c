// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The peer of the suite decode: libipt's block decoder in the smallest loop that decodes a
 * whole stream, with the same code in its image section cache.
 */

#include "bench/bench_decode.h"

#include <intel-pt.h>

static struct err *loop_failed(int status)
{
	return err_new(ERR_UNSUPPORTED, "libipt's loop failed: %s",
		       pt_errstr(pt_errcode(status)));
}

static struct err *loop_image(struct pt_block_decoder *d,
			      struct pt_image_section_cache *cache,
			      const struct dec_pt_image *image)
{
	for (size_t i = 0; i < image->maps.size; i++) {
		const struct dec_pt_map *m = &image->maps.data[i];
		char path[32];
		int status;

		if (!m->data)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
		status = pt_iscache_add_file(cache, path, m->file_offset, m->data_bytes,
					     m->addr);
		if (status >= 0)
			status = pt_image_add_cached(pt_blk_get_image(d), cache, status,
						     NULL);
		if (status < 0)
			return loop_failed(status);
	}
	return NULL;
}

static struct err *loop_run(struct pt_block_decoder *d, uint64_t *ret)
{
	int status = pt_blk_sync_forward(d);
	struct pt_block block;
	struct pt_event event;

	*ret = 0;
	while (status >= 0) {
		if (status & pts_event_pending) {
			status = pt_blk_event(d, &event, sizeof(event));
		} else if (status & pts_eos) {
			return NULL;
		} else {
			status = pt_blk_next(d, &block, sizeof(block));
			*ret += block.ninsn;
		}
	}
	return status == -pte_eos ? NULL : loop_failed(status);
}

struct err *bench_libipt_loop(const uint8_t *bytes, size_t n,
			      const struct dec_pt_image *image, uint64_t *ret)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);
	struct pt_block_decoder *d;
	struct pt_config config;
	struct err *err;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + n;
	d = pt_blk_alloc_decoder(&config);
	err = cache && d && pt_iscache_set_limit(cache, 1ull << 30) >= 0 ? NULL :
									   &err_nomem;
	if (!err)
		err = loop_image(d, cache, image);
	if (!err)
		err = loop_run(d, ret);
	if (d)
		pt_blk_free_decoder(d);
	if (cache)
		pt_iscache_free(cache);
	return err;
}
