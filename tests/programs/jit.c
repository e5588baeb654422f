// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Code that the program writes itself: functions made, called and overwritten in place.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	// mov eax, N; add eax, edi; ret
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0x01, 0xf8, 0xc3 };
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*function)(int);
	uint64_t sum = 0;

	if (page == MAP_FAILED)
		return 2;
	for (int i = 0; i < 500; i++) {
		memcpy(code + 1, &i, sizeof(i));
		memcpy(page + (i & 3) * 16, code, sizeof(code));
		function = (int (*)(int))(uintptr_t)(page + (i & 3) * 16);
		sum = sum * 3 + function(i * 7);
	}
	printf("sum %lx\n", sum);
	return 0;
}
