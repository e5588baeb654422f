// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Code that the program writes itself: functions made, called and overwritten in place; and one that stores to its
 * own page all the time, sometimes to itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* It stores its argument to where one of its instructions has it, the next one, and returns it. */
static uint64_t store_all_the_time(unsigned char *page)
{
	// mov [rip+1], dil; mov al, N; movzx eax, al; ret; mov eax, N; ret
	static const unsigned char code[] = { 0x40, 0x88, 0x3d, 1,    0,    0,	  0,
					      0xb0, 0,	  0x0f, 0xb6, 0xc0, 0xc3, 0xb8,
					      0,    0,	  0,	0,    0xc3 };
	int (*own)(int) = (int (*)(int))(uintptr_t)page;
	int (*other)(void) = (int (*)(void))(uintptr_t)(page + 13);
	volatile uint32_t *counter = (volatile uint32_t *)(page + 64);
	uint64_t sum = 0;

	memcpy(page, code, sizeof(code));
	for (int i = 0; i < 20000; i++) {
		*counter += i;
		if (i % 64 == 0)
			memcpy(page + 14, &i, sizeof(i));
		sum = sum * 3 + (i % 8 ? other() : own(i));
	}
	return sum + *counter;
}

/* Code that is called from its own page, and sees the carry flag or sets it: what it is changes now and then, what lies
 * behind it each time. */
static uint64_t change_flags(unsigned char *page)
{
	static const unsigned char caller[] = {
		0xf9, 0xe8, 10, 0, 0, 0, 0xc3
	}; // stc; call; ret
	static const unsigned char codes[3][9] = {
		{ 0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0,
		  0xc3 }, // setc al; movzx eax, al; ret
		{ 0x01, 0xff, 0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0,
		  0xc3 },			  // add edi, edi; setc al; ..
		{ 0x31, 0xc0, 0x11, 0xc0, 0xc3 }, // xor eax, eax; adc eax, eax; ret
	};
	int (*call)(unsigned) = (int (*)(unsigned))(uintptr_t)page;
	volatile uint32_t *counter = (volatile uint32_t *)(page + 64);
	uint64_t sum = 0;

	*counter = 0;
	memcpy(page, caller, sizeof(caller));
	for (unsigned i = 0; i < 60000; i++) {
		*counter += i;
		if (i % 512 == 0)
			memcpy(page + 16, codes[i / 512 % 3], sizeof(*codes));
		sum = sum * 3 + call(i * 0x9e3779b9) + 1;
	}
	return sum + *counter;
}

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
	printf("sum %lx\n", store_all_the_time(page));
	printf("sum %lx\n", change_flags(page));
	return 0;
}
