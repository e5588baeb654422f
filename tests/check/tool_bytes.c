// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_bytes CAPTURE`: looks at the bytes of a run twice, each instruction by a step and as fast as it goes
 * (faultlocate/bytes/glance.c), and compares all that is told, in its order: accesses, uses, reads.
 *
 * Prints `name count` lines; what differs to stderr, with exit status 1.
 */
#include <stdio.h>
#include <string.h>

#include "faultlocate/bytes/bytes.h"

struct told {
	uint64_t time, pc, statement, addr, size, object, kind;
};

struct look {
	VEC(struct told) told;
	uint64_t n_accesses, n_uses, n_reads;
};

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_bytes: %s\n", err->message);
	exit(2);
}

static struct err *on_access(void *ctx, const struct fl_bytes_place *p,
			     const struct fl_bytes_access *x)
{
	struct look *l = ctx;

	l->n_accesses++;
	return vec_add(&l->told, (struct told){ p->time, p->pc, p->statement, x->addr,
						x->size, x->object.start,
						x->is_static << 8 | x->is_gone << 9 |
							x->is_write << 10 });
}

static struct err *on_use(void *ctx, const struct fl_bytes_place *p,
			  enum fl_bytes_use use, uint64_t addr)
{
	struct look *l = ctx;

	l->n_uses += use != FL_USE_READ;
	l->n_reads += use == FL_USE_READ;
	return vec_add(&l->told, (struct told){ .time = p->time,
						.pc = p->pc,
						.statement = p->statement,
						.addr = addr,
						.kind = use });
}

static void on_again(void *ctx, uint64_t pc)
{
	struct look *l = ctx;

	(void)pc;
	l->told.size = 0;
	l->n_accesses = l->n_uses = l->n_reads = 0;
}

static void look(const struct capture *c, bool is_plain, struct look *l)
{
	const struct fl_bytes_events events = { .ctx = l,
						.access = on_access,
						.use = on_use,
						.again = on_again,
						.wants_reads = true,
						.is_plain = is_plain };
	struct dec_symbols *symbols;

	check(dec_symbols_create(c, &symbols));
	check(fl_bytes_find(c, symbols, &events, false));
	dec_symbols_destroy(symbols);
}

int main(int argc, char **argv)
{
	struct look plain = {}, fast = {};
	struct capture *c = NULL;
	size_t n;
	int ret = 0;

	if (argc != 2) {
		fputs("usage: tool_bytes CAPTURE\n", stderr);
		return 2;
	}
	check(capture_open(argv[1], &c));
	look(c, true, &plain);
	look(c, false, &fast);
	n = plain.told.size < fast.told.size ? plain.told.size : fast.told.size;
	for (size_t i = 0; i < n && !ret; i++)
		ret = memcmp(&plain.told.data[i], &fast.told.data[i],
			     sizeof(struct told)) != 0;
	if (ret || plain.told.size != fast.told.size) {
		fprintf(stderr, "%zu and %zu are told\n", plain.told.size,
			fast.told.size);
		ret = 1;
	}
	printf("accesses %lu\nuses %lu\nreads %lu\n", plain.n_accesses, plain.n_uses,
	       plain.n_reads);
	vec_deinit(&plain.told);
	vec_deinit(&fast.told);
	capture_close(c);
	return ret;
}
