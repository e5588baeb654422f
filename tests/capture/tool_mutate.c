// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * tool_mutate DIR SEED - spoil one member of the bundle in DIR, as SEED says: bytes of any of
 * them, words of an event log's records, which are packed anew, or numbers of a manifest.
 * badinput/138 opens what comes of it.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "capture/cap_format.h"

enum { FILE_MAX = 64 << 20 };

static uint8_t *data, *frame, *packed;
static size_t size;
static uint64_t state;

/* xorshift64*: the same numbers everywhere. */
static uint64_t number(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dull >> 16) % below;
}

static uint64_t odd_value(void)
{
	static const uint64_t values[] = {
		0,	    1,		7,	    8,		255,
		4095,	    4096,	65535,	    0x7fffffff, 0x80000000,
		0xffffffff, 1ull << 47, 1ull << 63, UINT64_MAX, UINT64_MAX - 7,
	};

	return number(3) ? values[number(sizeof(values) / sizeof(*values))] :
			   number(UINT64_MAX);
}

/* Spoil one place of @p n bytes; half of the time it is near the beginning. */
static void spoil(uint8_t *p, size_t n)
{
	size_t at = number(2) && n > 4096 ? number(4096) : number(n), from = number(n);
	uint64_t value = odd_value();
	size_t bytes = 1 << number(4);

	if (bytes > n - at)
		bytes = n - at;
	switch (number(4)) {
	case 0:
		p[at] ^= 1 << number(8);
		break;
	case 1: // what comes from elsewhere is no nonsense
		bytes = number(256);
		for (size_t i = 0; i < bytes && at + i < n && from + i < n; i++)
			p[at + i] = p[from + i];
		break;
	default:
		at -= at % bytes;
		memcpy(p + at, &value, bytes);
	}
}

/* One record of those in the frame. */
static void spoil_record(size_t *n)
{
	size_t at = 0, steps = number(2000);
	struct cap_rec rec;

	for (;; at += rec.bytes) {
		memcpy(&rec, frame + at, sizeof(rec));
		if (rec.bytes < sizeof(rec) || rec.bytes > *n - at)
			return;
		if (!steps-- || at + rec.bytes == *n)
			break;
	}
	if (!number(6) && rec.bytes < *n) { // it is not there
		memmove(frame + at, frame + at + rec.bytes, *n - at - rec.bytes);
		*n -= rec.bytes;
		return;
	}
	if (number(4))
		spoil(frame + at + sizeof(rec), rec.bytes - sizeof(rec) ?: 1);
	else
		spoil(frame + at + 4, sizeof(rec) - 4);
}

/* Spoil a frame of an event log, and pack it again. */
static void spoil_log(void)
{
	size_t at = sizeof(struct cap_log_head), next, n, behind;
	struct cap_frame_head head;

	for (;; at = next) {
		memcpy(&head, data + at, sizeof(head));
		next = at + sizeof(head) + head.packed_bytes;
		if (next >= size || !number(3))
			break;
	}
	n = ZSTD_decompress(frame, CAP_FRAME_MAX, data + at + sizeof(head),
			    head.packed_bytes);
	if (ZSTD_isError(n))
		return;
	for (uint64_t i = number(8) + 1; i > 0; i--)
		spoil_record(&n);
	behind = size - next;
	memcpy(packed, data + next, behind);
	head.raw_bytes = n;
	head.packed_bytes = ZSTD_compress(data + at + sizeof(head),
					  ZSTD_compressBound(CAP_FRAME_MAX), frame, n, 1);
	memcpy(data + at, &head, sizeof(head));
	size = at + sizeof(head) + head.packed_bytes;
	memcpy(data + size, packed, behind);
	size += behind;
}

/* Another number in the place of one. */
static void spoil_text(void)
{
	size_t at = number(size);

	while (at < size && !isdigit(data[at]))
		at++;
	for (; at < size && isdigit(data[at]); at++)
		data[at] = '0' + number(10);
}

static void spoil_file(const char *path)
{
	FILE *f = fopen(path, "re");
	bool is_log = strstr(path, "/events.flt"), is_text = strstr(path, "/manifest");

	size = f ? fread(data, 1, FILE_MAX, f) : 0;
	if (f)
		fclose(f);
	if (!size)
		return;
	if (is_log && number(4))
		spoil_log();
	else if (is_text && number(4))
		spoil_text();
	else
		for (uint64_t i = number(3) ? 1 : 64; i > 0; i--)
			spoil(data, size);
	if (!number(16))
		size = number(size);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		exit(2);
}

/* The files in @p dir are counted in @p n; number @p which, if it is there, is spoilt. */
static void visit(const char *dir, size_t which, size_t *n)
{
	struct dirent **list;
	int entries = scandir(dir, &list, NULL, alphasort);
	char path[8192];
	struct stat st;

	for (int i = 0; i < entries; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (!lstat(path, &st) && S_ISREG(st.st_mode) && (*n)++ == which)
			spoil_file(path);
		free(list[i]);
	}
	if (entries >= 0)
		free(list);
}

int main(int argc, char **argv)
{
	char files[4096];
	size_t n = 0, which;

	if (argc != 3)
		return 2;
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	for (int i = 0; i < 8; i++)
		number(2);
	data = malloc(2 * FILE_MAX);
	frame = malloc(CAP_FRAME_MAX);
	packed = malloc(FILE_MAX);
	snprintf(files, sizeof(files), "%s/files", argv[1]);
	visit(argv[1], SIZE_MAX, &n);
	visit(files, SIZE_MAX, &n);
	which = number(n);
	n = 0;
	visit(argv[1], which, &n);
	visit(files, which, &n);
	free(data);
	free(frame);
	free(packed);
	return 0;
}
