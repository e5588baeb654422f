// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_bytes CAPTURE`: looks at the bytes of a run, each instruction by a step and as fast as it goes
 * (faultlocate/bytes/glance.c), and compares all that is told, in its order: accesses, uses, reads. Then the same
 * of values alone (course.c).
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

static void look(const struct capture *c, bool is_plain, bool has_objects, struct look *l)
{
	const struct fl_bytes_events events = { .ctx = l,
						.access = has_objects ? on_access : NULL,
						.use = on_use,
						.again = on_again,
						.wants_reads = true,
						.is_plain = is_plain };
	struct dec_symbols *symbols;

	check(dec_symbols_create(c, &symbols));
	check(fl_bytes_find(c, symbols, &events, false));
	dec_symbols_destroy(symbols);
}

/* @return whether what is told differs. */
static bool compare(const struct capture *c, bool has_objects)
{
	struct look plain = {}, fast = {};
	bool differs = false;

	look(c, true, has_objects, &plain);
	look(c, false, has_objects, &fast);
	for (size_t i = 0; i < plain.told.size && i < fast.told.size && !differs; i++)
		differs = memcmp(&plain.told.data[i], &fast.told.data[i],
				 sizeof(struct told)) != 0;
	if (differs || plain.told.size != fast.told.size) {
		fprintf(stderr, "%zu and %zu are told\n", plain.told.size,
			fast.told.size);
		differs = true;
	}
	if (has_objects)
		printf("accesses %lu\n", plain.n_accesses);
	printf("%suses %lu\n%sreads %lu\n", has_objects ? "" : "alone: ", plain.n_uses,
	       has_objects ? "" : "alone: ", plain.n_reads);
	vec_deinit(&plain.told);
	vec_deinit(&fast.told);
	return differs;
}

int main(int argc, char **argv)
{
	struct capture *c = NULL;
	bool differs;

	if (argc != 2) {
		fputs("usage: tool_bytes CAPTURE\n", stderr);
		return 2;
	}
	check(capture_open(argv[1], &c));
	differs = compare(c, true);
	differs |= compare(c, false);
	capture_close(c);
	return differs;
}
