// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The names in syscalls.def.
 */
#include "pt-collect/inputs/names.h"

#include <asm/unistd.h>
#include <stdio.h>

#define SYS(name, ...) [__NR_##name] = #name,
#define SYS_NR(number, name, ...) [number] = #name,
#define SYS_FILE(name, use, ...) [__NR_##name] = #name,
#define SYS_MMAP(name) [__NR_##name] = #name,
#define SYS_BY(name, arg) [__NR_##name] = #name,
#define SYS_IOCTL(name, arg) [__NR_##name] = #name,
#define SYS_NOT(name) [__NR_##name] = #name,
#define CMD(name, command, ...)
#define CMD_TRUTH(name, command, ...)
#define CMD_TRACE(name, command)
#define IOCTLS(type)
#define CMD_NOT(name, command)

static const char *const names[] = {
#include "pt-collect/inputs/syscalls.def"
};

int64_t ptc_names_end(void)
{
	return sizeof(names) / sizeof(*names);
}

const char *ptc_name_of(int64_t nr)
{
	return nr >= 0 && nr < ptc_names_end() ? names[nr] : NULL;
}

const char *ptc_name_or_number(int64_t nr)
{
	static char text[32];

	if (ptc_name_of(nr))
		return ptc_name_of(nr);
	snprintf(text, sizeof(text), "syscall_%lld", (long long)nr);
	return text;
}
