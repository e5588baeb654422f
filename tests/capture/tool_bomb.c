// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Small files that grow when they are read, for badinput/134:
 *
 *   tool_bomb memory FILE MB          an event log; its only event wrote MB of ones
 *   tool_bomb zeros FILE MB           the same of zeros, as a read from /dev/zero leaves
 *   tool_bomb events FILE N           an event log of N equal allocator calls
 *   tool_bomb values FILE N           a manifest with N values
 *   tool_bomb notes FILE MB           a core whose 1000 segments of notes share MB of them
 *   tool_bomb peak FILE COMMAND...    run it; its peak in MB goes to FILE
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/cap_format.h"

static FILE *out;
static uint8_t frame[CAP_FRAME_MAX];
static uint8_t packed[CAP_FRAME_MAX];
static size_t n_frame;
static ZSTD_CCtx *zstd;

static void put(const void *data, size_t n)
{
	memcpy(frame + n_frame, data, n);
	n_frame += n;
}

/* Write the frame, whose first event is number @p seq. */
static void end_frame(uint64_t seq)
{
	struct cap_frame_head head = { .raw_bytes = n_frame, .first_seq = seq };

	if (!zstd)
		zstd = ZSTD_createCCtx();
	head.packed_bytes =
		ZSTD_compressCCtx(zstd, packed, sizeof(packed), frame, n_frame, 1);
	fwrite(&head, sizeof(head), 1, out);
	fwrite(packed, head.packed_bytes, 1, out);
	n_frame = 0;
}

static void put_head(void)
{
	struct cap_log_head head = { CAP_LOG_MAGIC, CAP_LOG_VERSION, CAP_LOG_BYTE_ORDER };

	fwrite(&head, sizeof(head), 1, out);
}

static void write_memory(uint64_t bytes, int fill)
{
	struct cap_rec_write w = { .addr = 0x10000, .size = CAP_PART_MAX };
	struct cap_rec rec = { .bytes = sizeof(rec) + sizeof(w) + CAP_PART_MAX,
			       .kind = CAP_REC_PART,
			       .tid = 1,
			       .n_writes = 1 };
	struct cap_body_syscall body = {};

	put_head();
	for (; bytes >= CAP_PART_MAX; bytes -= CAP_PART_MAX, w.addr += CAP_PART_MAX) {
		if (n_frame + rec.bytes > CAP_FRAME_MAX)
			end_frame(0);
		put(&rec, sizeof(rec));
		put(&w, sizeof(w));
		memset(frame + n_frame, fill, CAP_PART_MAX);
		n_frame += CAP_PART_MAX;
	}
	end_frame(0);
	rec = (struct cap_rec){ .bytes = sizeof(rec) + sizeof(body),
				.kind = CAP_EV_SYSCALL,
				.tid = 1 };
	put(&rec, sizeof(rec));
	put(&body, sizeof(body));
	end_frame(0);
}

static void write_events(uint64_t n)
{
	struct cap_body_heap body = { .heap_fn = CAP_HEAP_MALLOC, .heap_args = { 24 } };
	struct cap_rec rec = { .bytes = sizeof(rec) + sizeof(body),
			       .kind = CAP_EV_HEAP,
			       .tid = 1,
			       .at_ns = 1 };
	uint64_t first = 0;

	put_head();
	for (uint64_t i = 0; i < n; i++) {
		if (n_frame + rec.bytes > CAP_FRAME_MAX) {
			end_frame(first);
			first = i;
		}
		put(&rec, sizeof(rec));
		put(&body, sizeof(body));
	}
	end_frame(first);
}

static void write_values(uint64_t n)
{
	fputs("{\"format\":\"faultline-capture\",\"version\":1,\"x\":[0", out);
	while (n--)
		fputs(",0", out);
	fputs("]}\n", out);
}

static void write_notes(uint64_t bytes)
{
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_CORE,
			    .e_machine = EM_X86_64,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1000 };
	Elf64_Phdr segment = { .p_type = PT_NOTE,
			       .p_offset = 1 << 20,
			       .p_filesz = bytes };
	Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = bytes - sizeof(note) - 4 };

	fwrite(&head, sizeof(head), 1, out);
	for (int i = 0; i < head.e_phnum; i++)
		fwrite(&segment, sizeof(segment), 1, out);
	fseek(out, segment.p_offset, SEEK_SET);
	fwrite(&note, sizeof(note), 1, out);
	fwrite("any", 4, 1, out);
	fseek(out, segment.p_offset + bytes - 1, SEEK_SET);
	fputc(0, out);
}

/* @return the status of the command. */
static int measure(char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) < 0)
		return 127;
	fprintf(out, "%ld\n", usage.ru_maxrss >> 10);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	int status = 0;

	out = argc > 3 ? fopen(argv[2], "we") : NULL;
	if (!out)
		return 2;
	if (!strcmp(argv[1], "memory"))
		write_memory(n << 20, 1);
	else if (!strcmp(argv[1], "zeros"))
		write_memory(n << 20, 0);
	else if (!strcmp(argv[1], "events"))
		write_events(n);
	else if (!strcmp(argv[1], "values"))
		write_values(n);
	else if (!strcmp(argv[1], "notes"))
		write_notes(n << 20);
	else if (!strcmp(argv[1], "peak"))
		status = measure(argv + 3);
	ZSTD_freeCCtx(zstd);
	return fclose(out) ? 2 : status;
}
