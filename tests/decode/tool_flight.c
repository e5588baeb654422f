// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * tool_flight [--library NAME] [--no-stores] [--why [--at N]] CAPTURE [WINDOW...]: what is recovered
 * of a recording (`record -e heap`) whose replay tells the truth, for windows of so many instructions
 * (10,000 and 100,000), without store events and (unless --no-stores) with those that probes would
 * tell, in the program and in the library with NAME in its path. --why: also where unknown values
 * begin; --at: what was recovered of 200 instructions from N before the end on.
 * Exit status 0: no known value is wrong.
 */
#include "tests/unit.h"

#include "tests/decode/flight_why.h"

static const char *library, *title;
static bool has_why, has_no_stores;
static uint64_t at_end; ///< instructions before the end to look at; 0: none
static uint64_t n_wrong;

static void cell_print(const struct flight *f)
{
	uint64_t right = f->regs.right[1] + f->mems.right[1];
	uint64_t wrong = f->regs.wrong[1] + f->mems.wrong[1];

	n_wrong += f->regs.wrong[0] + f->mems.wrong[0] + f->stats.known_conflicts;
	printf(" | %.1f | %lu | %.2f | ", flight_share(f),
	       f->regs.wrong[0] + f->mems.wrong[0], percent(right, right + wrong));
	if (flight_total(&f->heap_values))
		printf("%.2f", percent(f->heap_values.right[0] + f->heap_values.right[1],
				       flight_total(&f->heap_values)));
	printf(" | %.1f", f->cpu_s);
}

static void row_print(const struct capture *c, uint64_t window)
{
	const struct flight_probes probes = { library };

	printf("| %s | %lu", title, window);
	for (int with_stores = 0; with_stores < 2 - has_no_stores; with_stores++) {
		struct flight f;

		flight_init(&f, c, window, with_stores ? &probes : NULL);
		flight_run(&f);
		cell_print(&f);
		if (has_why) {
			putchar('\n');
			ok(dec_symbols_create(c, &f.symbols));
			flight_find_sites(&f, c);
			flight_why(&f, 12);
			if (at_end)
				flight_show(&f, at_end, 200);
			dec_symbols_destroy(f.symbols);
		}
		flight_deinit(&f);
	}
	puts(" |");
}

int main(int argc, char **argv)
{
	struct capture *c;
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--library") == 0 && argv[at + 1])
			library = argv[++at];
		else if (strcmp(argv[at], "--at") == 0 && argv[at + 1])
			at_end = strtoull(argv[++at], NULL, 0);
		else if (strcmp(argv[at], "--no-stores") == 0)
			has_no_stores = true;
		else
			has_why = strcmp(argv[at], "--why") == 0;
	}
	if (at >= argc) {
		fprintf(stderr, "tool_flight: which capture?\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	title = strrchr(argv[at], '/') ? strrchr(argv[at], '/') + 1 : argv[at];
	ok(capture_open(argv[at++], &c));
	if (at == argc) {
		row_print(c, 10000);
		row_print(c, 100000);
	}
	for (; at < argc; at++)
		row_print(c, strtoull(argv[at], NULL, 0));
	capture_close(c);
	return n_wrong != 0;
}
