// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Syscall-heavy: reads of 16 bytes, each by a system call of its own, around the first 4 KiB
 * of the program's own file.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench/programs/program.h"

#define PIECE 16
#define ROUND 4096

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), sum = 0, word;
	int fd = open(argv[0], O_RDONLY);
	char buf[PIECE];

	if (fd < 0) {
		perror(argv[0]);
		return 1;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (pread(fd, buf, PIECE, (off_t)(i * PIECE % ROUND)) != PIECE)
			return 1;
		memcpy(&word, buf, sizeof(word));
		sum = sum * 31 + word;
	}
	printf("reads: sum %llx\n", (unsigned long long)sum);
	close(fd);
	return 0;
}
