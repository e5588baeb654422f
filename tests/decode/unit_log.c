// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* What the log's reader lets pass to its sinks, and what it does not. */

#include <string.h>

#include "decode/machine/log.h"
#include "tests/unit.h"

/* A record of block @p number that holds @p code, @p n instructions. */
static struct err *feed_block(enum dec_log_mode mode, uint32_t number, const char *code,
			      size_t bytes, uint32_t n)
{
	static const struct log_sink nobody;
	_Alignas(8) uint8_t log[128] = {};
	struct dec_rec_block *rec = (struct dec_rec_block *)log;
	struct log_reader r;
	struct err *err;

	*rec = (struct dec_rec_block){ .id = DEC_REC_BLOCK,
				       .size = sizeof(*rec) + ((bytes + 7) & ~7u),
				       .block = number,
				       .rip = 0x401000,
				       .n_bytes = bytes,
				       .n_insns = n };
	memcpy(rec->bytes, code, bytes);
	dec_log_reader_init(&r, mode, 0);
	err = dec_log_reader_feed(&r, &nobody, log, rec->size);
	dec_log_reader_deinit(&r);
	return err;
}

static const enum dec_log_mode modes[] = { DEC_LOG_FLOW,      DEC_LOG_JUMPS,
					   DEC_LOG_CALLS,     DEC_LOG_STORES,
					   DEC_LOG_ADDRESSES, DEC_LOG_VALUES };

static void takes_blocks(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		ok(feed_block(modes[i], 0, "\x90\x50\xc3", 3, 3));
		ok(feed_block(modes[i], 1000, "\x48\x89\x03\x74\x05", 5, 2));
	}
}

/* Sinks find a return's registers where the block's last branch is. */
static void a_branch_ends_its_block(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		expect(ERR_FORMAT, feed_block(modes[i], 0, "\xc3\x90", 2, 2));
		expect(ERR_FORMAT, feed_block(modes[i], 0, "\xc3\xeb\xfe", 3, 2));
		expect(ERR_FORMAT, feed_block(modes[i], 0, "\x0f\x05", 2, 1));
		expect(ERR_FORMAT, feed_block(modes[i], 0, "\x90\xcc", 2, 2));
	}
}

/* fxsave stores more than a slot of the log has room for. */
static void what_is_stepped_is_in_no_block(void **state)
{
	(void)state;
	expect(ERR_FORMAT, feed_block(DEC_LOG_STORES, 0, "\x0f\xae\x00", 3, 1));
	expect(ERR_FORMAT, feed_block(DEC_LOG_VALUES, 0, "\x0f\xae\x00", 3, 1));
}

/* One record makes no table of millions. */
static void numbers_have_no_wide_gap(void **state)
{
	(void)state;
	expect(ERR_FORMAT, feed_block(DEC_LOG_FLOW, 1u << 25, "\x90", 1, 1));
	expect(ERR_FORMAT, feed_block(DEC_LOG_FLOW, UINT32_MAX, "\x90", 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_blocks),
		cmocka_unit_test(a_branch_ends_its_block),
		cmocka_unit_test(what_is_stepped_is_in_no_block),
		cmocka_unit_test(numbers_have_no_wide_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
