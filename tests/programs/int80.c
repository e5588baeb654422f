// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Asks for its process id (20 there) as 32-bit programs do. The number means writev to 64-bit ones.
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	long ret = 20;

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory");
	puts(ret == getpid() ? "answered" : "not answered");
	return ret != getpid();
}
