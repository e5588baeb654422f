// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Calls that write through pointers in structures, or as much as only the kernel knows. Of all
 * that they write a sum goes into the registers of a call: a replay in which a byte differs
 * differs there. What this host has not is left out.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned n_made;

/** @p result of a call that wrote @p size bytes at @p data. */
static void sum(const char *what, long result, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t s = 14695981039346656037ull;

	for (size_t i = 0; i < size; i++)
		s = (s ^ p[i]) * 1099511628211ull;
	syscall(-1, s, result);
	n_made += result >= 0;
	printf("%s: %ld\n", what, result);
}

static void do_registers(void)
{
	struct user_regs_struct regs = {};
	struct iovec v = { &regs, sizeof(regs) };
	uint64_t mask[2] = {}, fs = 0;
	int status;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child)
		return;
	sum("GETREGSET", ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &v), &regs,
	    sizeof(regs));
	sum("its size", v.iov_len, &v, sizeof(v));
	v.iov_len = 4096;
	sum("SETREGSET", ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &v), &v, sizeof(v));
	sum("GETSIGMASK", ptrace(PTRACE_GETSIGMASK, child, 8, mask), mask, sizeof(mask));
	sum("ARCH_PRCTL", ptrace(30, child, &fs, 0x1003), &fs, sizeof(fs));
	ptrace(PTRACE_CONT, child, 0, 0);
	waitpid(child, &status, 0);
}

static void do_files(void)
{
	char name[] = "/tmp/pointers.XXXXXX", type[64] = "";
	size_t room = sizeof(struct fiemap) + 4 * sizeof(struct fiemap_extent);
	struct fiemap *map = calloc(1, room);
	struct file_handle *handle = calloc(1, sizeof(*handle) + 128);
	int fd = mkstemp(name), mount = 0;

	if (write(fd, name, sizeof(name)) < 0 || fsync(fd))
		perror(name);
	map->fm_length = ~0ull;
	map->fm_extent_count = 4;
	sum("FIEMAP", ioctl(fd, FS_IOC_FIEMAP, map), map, room);
	sum("handle's size", name_to_handle_at(AT_FDCWD, name, handle, &mount, 0), handle,
	    sizeof(*handle));
	if (handle->handle_bytes <= 128)
		sum("handle", name_to_handle_at(AT_FDCWD, name, handle, &mount, 0),
		    handle, sizeof(*handle) + handle->handle_bytes);
	sum("mount", mount, &mount, sizeof(mount));
	sum("sysfs", syscall(SYS_sysfs, 2, 1, type), type, sizeof(type));
	unlink(name);
	free(handle);
	free(map);
}

static void do_interfaces(void)
{
	struct ifreq list[16] = {};
	struct ifconf conf = { .ifc_len = sizeof(list), .ifc_req = list };

	sum("SIOCGIFCONF", ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCGIFCONF, &conf),
	    list, sizeof(list));
	sum("its size", conf.ifc_len, &conf, sizeof(conf));
}

static void do_semaphores(void)
{
	unsigned short values[5] = { 1, 2, 3, 4, 5 };
	int id = semget(IPC_PRIVATE, 5, 0600);

	semctl(id, 0, SETALL, values);
	memset(values, 0, sizeof(values));
	sum("GETALL", semctl(id, 0, GETALL, values), values, sizeof(values));
	semctl(id, 0, IPC_RMID);
}

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static void do_maps(void)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_HASH,
				.key_size = 4,
				.value_size = 12,
				.max_entries = 8 };
	struct bpf_map_info info = {};
	int fd = bpf(BPF_MAP_CREATE, &make), key = 7, next = 0, keys[8] = {};
	char value[12] = "in a map", got[12] = "", values[96] = "";
	union bpf_attr a = { .map_fd = fd, .key = (uintptr_t)&key };
	union bpf_attr batch = { .batch.map_fd = fd,
				 .batch.out_batch = (uintptr_t)&next,
				 .batch.keys = (uintptr_t)keys,
				 .batch.values = (uintptr_t)values,
				 .batch.count = 8 };
	union bpf_attr of = { .info.bpf_fd = fd,
			      .info.info = (uintptr_t)&info,
			      .info.info_len = sizeof(info) };

	if (fd < 0)
		return;
	a.value = (uintptr_t)value;
	bpf(BPF_MAP_UPDATE_ELEM, &a);
	a.value = (uintptr_t)got;
	sum("lookup", bpf(BPF_MAP_LOOKUP_ELEM, &a), got, sizeof(got));
	a.key = 0;
	a.next_key = (uintptr_t)&next;
	sum("next key", bpf(BPF_MAP_GET_NEXT_KEY, &a), &next, sizeof(next));
	sum("batch", bpf(BPF_MAP_LOOKUP_BATCH, &batch), values, sizeof(values));
	sum("its keys", batch.batch.count, keys, sizeof(keys));
	sum("info", bpf(BPF_OBJ_GET_INFO_BY_FD, &of), &info, sizeof(info));
}

static void do_program(void)
{
	const struct bpf_insn bad[] = { { .code = 0x95 } }; // exit without a result
	char log[4096] = "";
	union bpf_attr a = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			     .insn_cnt = 1,
			     .insns = (uintptr_t)bad,
			     .license = (uintptr_t) "GPL",
			     .log_buf = (uintptr_t)log,
			     .log_size = sizeof(log),
			     .log_level = 1 };

	sum("verifier", bpf(BPF_PROG_LOAD, &a), log, sizeof(log));
}

int main(void)
{
	do_registers();
	do_files();
	do_interfaces();
	do_semaphores();
	do_maps();
	do_program();
	return n_made < 9;
}
