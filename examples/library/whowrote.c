// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * whowrote CAPTURE VARIABLE [N]: who wrote VARIABLE, the last N times before the end (10), the latest
 * first, and what it held behind that. Build with
 *
 *	cc whowrote.c $(pkg-config --cflags --libs faultline) -o whowrote
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <faultline.h>

#define LARGEST 64 // bytes that are printed

static void check(enum flt_status status)
{
	if (status)
		errx(2, "%s", flt_error());
}

static void show(struct flt_machine *m, const struct flt_stop *stop, uint64_t addr,
		 uint64_t size)
{
	struct flt_stop behind;
	struct flt_place p;
	uint8_t bytes[LARGEST];
	uint64_t n = size < LARGEST ? size : LARGEST;

	check(flt_machine_place(m, stop->rip, &p, sizeof(p)));
	printf("%" PRIu64 " ", stop->position);
	if (p.file)
		printf("%s:%d in %s", p.file, p.line, p.function);
	else if (p.symbol)
		printf("%s: %s+%#" PRIx64, p.module, p.symbol, p.offset);
	else
		printf("%s+%#" PRIx64, p.module ?: "?", p.offset);
	// Back, it stands before the write; one instruction further on, that is done.
	check(flt_machine_seek(m, stop->position + 1, &behind, sizeof(behind)));
	check(flt_machine_read(m, addr, bytes, n));
	printf("%s:", stop->is_by_kernel ? " (by the kernel)" : "");
	for (uint64_t i = 0; i < n; i++)
		printf(" %02x", bytes[i]);
	printf("\n");
	check(flt_machine_seek(m, stop->position, &behind, sizeof(behind)));
}

int main(int argc, char **argv)
{
	long n = argc > 3 ? strtol(argv[3], NULL, 10) : 10;
	struct flt_capture *c;
	struct flt_machine *m;
	struct flt_trap written = { .on = FLT_ON_WRITE };
	struct flt_stop stop;

	if (argc < 3)
		errx(2, "usage: whowrote CAPTURE VARIABLE [N]");
	check(flt_capture_open(argv[1], NULL, &c));
	check(flt_machine_start(c, &m));
	check(flt_machine_seek(m, FLT_FOREVER, &stop, sizeof(stop)));
	check(flt_machine_variable(m, argv[2], &written.addr, &written.size));
	for (long i = 0; i < n; i++) {
		check(flt_machine_back(m, 0, &written, 1, &stop, sizeof(stop)));
		if (stop.trap == UINT32_MAX)
			break; // nobody did, before
		show(m, &stop, written.addr, written.size);
	}
	flt_machine_stop(m);
	flt_capture_close(c);
	return 0;
}
