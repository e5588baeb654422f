// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * syscalls.def as data.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>

#include "pt-collect/inputs/table.h"

// clang-format off
#define FIXED(arg, size) { OUT_FIXED, arg, 0, 0, size }
#define RET(arg, max) { OUT_RET, arg, max, 0, 1 }
#define RET_TIMES(arg, max, size) { OUT_RET, arg, max, 0, size }
#define RET_PLUS(arg, max, size) { OUT_RET_PLUS, arg, max, 0, size }
#define ARG_TIMES(arg, n, size) { OUT_ARG_TIMES, arg, n, 0, size }
#define VALUE(arg, len, max) { OUT_VALUE, arg, len, 0, max }
#define BITS(arg, n) { OUT_BITS, arg, n, 0, 0 }
#define PAGES(arg, n) { OUT_PAGES, arg, n, 0, 0 }
#define IOVEC(arg, n) { OUT_IOVEC, arg, n, 0, 0 }
#define MSGHDR(arg) { OUT_MSGHDR, arg, 0, 0, 0 }
#define MMSGHDR(arg) { OUT_MMSGHDR, arg, 0, 0, 0 }
#define COUNTERS(arg) { OUT_COUNTERS, arg, 0, 0, 0 }
#define SOME(arg, size) { OUT_SOME, arg, 0, 0, size }
#define POINTERS(arg) { OUT_POINTERS, arg, 0, 0, 0 }
#define UNKNOWN(arg, value, arg2, value2) { OUT_UNKNOWN, arg, arg2, 0, (value) << 16 | (value2) }
#define CLONE3(arg) { OUT_CLONE3, arg, 0, 0, 0 }
#define ALWAYS(out) ALWAYS_##out
#define ALWAYS_FIXED(arg, size) { OUT_FIXED, arg, 0, OUT_ALWAYS, size }
#define ALWAYS_ARG_TIMES(arg, n, size) { OUT_ARG_TIMES, arg, n, OUT_ALWAYS, size }
#define ALWAYS_PAGES(arg, n) { OUT_PAGES, arg, n, OUT_ALWAYS, 0 }
#define ALWAYS_SOME(arg, size) { OUT_SOME, arg, 0, OUT_ALWAYS, size }
#define ALWAYS_POINTERS(arg) { OUT_POINTERS, arg, 0, OUT_ALWAYS, 0 }
#define MAYBE(out) MAYBE_##out
#define MAYBE_FIXED(arg, size) { OUT_FIXED, arg, 0, OUT_MAYBE, size }
#define MAYBE_IOVEC(arg, n) { OUT_IOVEC, arg, n, OUT_MAYBE, 0 }
#define EVER(arg, size) { OUT_FIXED, arg, 0, OUT_ALWAYS | OUT_MAYBE, size }

#define SYS_NOT(name)
#define CMD_NOT(name, command)
#define CMD(name, command, ...)
#define CMD_TRUTH(name, command, ...)
#define CMD_TRACE(name, command)
#define IOCTLS(type)
#define SYS(name, ...) [__NR_##name] = { DESC_LISTED, 0, 0, 0, { __VA_ARGS__ } },
#define SYS_NR(number, name, ...) [number] = { DESC_LISTED, 0, 0, 0, { __VA_ARGS__ } },
#define SYS_FILE(name, use, ...) \
	[__NR_##name] = { DESC_LISTED, 0, 0, USE_##use, { __VA_ARGS__ } },
#define SYS_MMAP(name) [__NR_##name] = { DESC_LISTED, 0, DESC_MMAP, 0, {} },
#define SYS_BY(name, arg) [__NR_##name] = { DESC_BY_COMMAND, arg, 0, 0, {} },
#define SYS_IOCTL(name, arg) [__NR_##name] = { DESC_BY_COMMAND, arg, DESC_IOCTL, 0, {} },

// clang-format on

static const struct rec_desc syscalls[REC_SYSCALLS] = {
#include "pt-collect/inputs/syscalls.def"
};

#define SYS(name, ...)
#define SYS_NR(number, name, ...)
#define SYS_FILE(name, use, ...)
#define SYS_MMAP(name)
#define SYS_BY(name, arg)
#define SYS_IOCTL(name, arg)
#define SYS_NOT(name)
// clang-format off
#define CMD(name, command, ...) \
	{ REC_COMMAND_KEY(__NR_##name, command), { DESC_LISTED, 0, 0, 0, { __VA_ARGS__ } } },
#define CMD_TRACE(name, command) \
	{ REC_COMMAND_KEY(__NR_##name, command), { DESC_LISTED, 0, 0, USE_TRACE, {} } },
#define CMD_TRUTH(name, command, ...) \
	{ REC_COMMAND_KEY(__NR_##name, command), { DESC_LISTED, 0, 0, USE_TRUTH, { __VA_ARGS__ } } },
#define CMD_NOT(name, command) \
	{ REC_COMMAND_KEY(__NR_##name, command), { DESC_UNLISTED, 0, 0, 0, {} } },
#define IOCTLS(type) { REC_TYPE_KEY(type), { DESC_LISTED, 0, 0, 0, {} } },

// clang-format on

static const struct ptc_command commands[] = {
#include "pt-collect/inputs/syscalls.def"
};

_Static_assert(sizeof(commands) / sizeof(commands[0]) <= REC_COMMANDS, "room in the map");

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

const struct ptc_calls ptc_table = { syscalls, commands, N_COMMANDS };

static const struct rec_desc *find_command(uint64_t key)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].key == key)
			return &commands[i].desc;
	return NULL;
}

/** The same rule as describe_ioctl() in record_calls.h. */
static const struct rec_desc *describe_ioctl(uint32_t command, struct rec_desc *made_up)
{
	bool is_read = command >> 30 & 2;

	if (!(command >> 30))
		return NULL;
	*made_up = (struct rec_desc){ .state = DESC_LISTED };
	if (is_read)
		made_up->out[0] = (struct rec_out)ALWAYS_FIXED(2, command >> 16 & 0x3fff);
	return made_up;
}

const struct rec_desc *ptc_table_find(int64_t nr, const uint64_t args[6],
				      struct rec_desc *made_up)
{
	const struct rec_desc *d;
	uint32_t command;

	if (nr < 0 || nr >= REC_SYSCALLS)
		return NULL;
	d = &syscalls[nr];
	if (d->state != DESC_BY_COMMAND)
		return d->state == DESC_LISTED ? d : NULL;
	command = args[d->command];
	if (d->flags & DESC_IOCTL && !find_command(REC_COMMAND_KEY(nr, command)))
		return describe_ioctl(command, made_up);
	d = find_command(REC_COMMAND_KEY(nr, command));
	return d && d->state == DESC_LISTED ? d : NULL;
}
