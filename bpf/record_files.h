// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * Calls that change memory without being given its address: what they write goes to a file
 * that is mapped, or that is memory (/proc/PID/mem). And calls that change mappings otherwise
 * than their result says. User space finds out what memory holds then.
 */
#ifndef BPF_RECORD_FILES_H
#define BPF_RECORD_FILES_H

#include "bpf/record_ring.h"

#define EPERM 1
#define EACCES 13
#define ENOMEM 12
#define EINVAL 22
#define O_ACCMODE 3u
#define O_TRUNC 01000u
#define PROC_SUPER_MAGIC 0x9fa0
#define NO_FILE (-1)
#define SIGSEGV 11
#define MADV_DONTNEED 4
#define MADV_REMOVE 9
#define MADV_DONTNEED_LOCKED 24
#define MREMAP_DONTUNMAP 4u

/* The current task's file of that number. */
static struct file *file_of(__u64 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = BPF_CORE_READ(task, files);
	struct fdtable *table = BPF_CORE_READ(files, fdt);
	struct file *file = NULL;

	if ((__u32)fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file),
				      BPF_CORE_READ(table, fd) + (__u32)fd);
	return file;
}

static int is_proc(const struct file *f)
{
	return BPF_CORE_READ(f, f_inode, i_sb, s_magic) == PROC_SUPER_MAGIC;
}

#define PROC_MEM_MODE \
	0600 /* of files in /proc/PID that may be written, mem alone has it */

/* Is @f the memory of a process, as a file? @return its number, or one of its threads'; 0: no. */
static __u32 owner_of(const struct file *f)
{
	const struct inode *inode = BPF_CORE_READ(f, f_inode);
	const struct pid *pid;

	if (!is_proc(f) || (BPF_CORE_READ(inode, i_mode) & 0777) != PROC_MEM_MODE)
		return 0;
	pid = BPF_CORE_READ(
		(const struct proc_inode *)((const char *)inode -
					    bpf_core_field_offset(struct proc_inode,
								  vfs_inode)),
		pid);
	return pid ? BPF_CORE_READ((const struct upid *)((const char *)pid +
							 bpf_core_field_offset(struct pid,
									       numbers)),
				   nr) :
		     0;
}

static int is_mapped(const struct file *f)
{
	return BPF_CORE_READ(f, f_mapping, i_mmap.rb_root.rb_node) != NULL;
}

/* Is it written by anybody? */
static int is_written(__u64 fd)
{
	const struct file *f = file_of(fd);

	return f && BPF_CORE_READ(f, f_inode, i_writecount.counter) > 0;
}

static int is_memory(__u64 fd)
{
	const struct file *f = file_of(fd);

	return f && (is_mapped(f) || is_proc(f));
}

static long has_file(struct task_struct *task __attribute__((unused)),
		     struct vm_area_struct *vma, int *ret)
{
	*ret = BPF_CORE_READ(vma, vm_file) != NULL;
	return 0;
}

/* Is there a file behind the memory at @addr? If the kernel cannot say, there is. */
static int is_of_file(__u64 addr)
{
	int ret = 0;

	return bpf_find_vma(bpf_get_current_task_btf(), addr, has_file, &ret, 0) ==
		       -EBUSY ||
	       ret;
}

/* Advice that gives memory up. Its failure may come behind the first part of the range. */
static int is_given_up(__u64 addr, __u64 advice, __s64 ret, __u32 bits)
{
	if (advice != MADV_DONTNEED && advice != MADV_REMOVE &&
	    advice != MADV_DONTNEED_LOCKED)
		return 0;
	if (ret)
		return ret == -ENOMEM || ret == -EINVAL;
	return (bits & REC_MAPPING || advice == MADV_REMOVE) && is_of_file(addr);
}

/*
 * Has the call that ended in @ret changed memory as @use (enum rec_file_use) says?
 * @bits: of the process; without REC_WRITING nobody asks about USE_WRITE.
 */
static __always_inline int changes_memory(const __u64 args[8], __u32 use, __s64 ret,
					  __u32 bits)
{
	__s64 fd = NO_FILE;

	switch (use) {
	case USE_WRITE0:
		fd = ret >= 0 ? (__u32)args[0] : NO_FILE;
		break;
	case USE_WRITE2:
		fd = ret > 0 ? (__u32)args[2] : NO_FILE;
		break;
	case USE_CREAT:
		fd = ret;
		break;
	case USE_OPEN1:
		fd = args[1] & (O_ACCMODE | O_TRUNC) ? ret : NO_FILE;
		break;
	case USE_OPEN2:
		fd = args[2] & (O_ACCMODE | O_TRUNC) ? ret : NO_FILE;
		break;
	case USE_PATH:
		return bits & REC_MAPPING && !ret;
	case USE_PROTECT:
		return ret == -ENOMEM || ret == -EACCES;
	case USE_ADVISE:
		return is_given_up(args[0], args[2], ret, bits);
	case USE_TRUTH:
		return ret >= 0 && args[5] != REC_OURS;
	case USE_TRACE:
		return ret == -EPERM;
	case USE_ACTION:
		return !ret && args[5] != REC_OURS && args[0] == SIGSEGV && args[1];
	case USE_MOVE:
		return bits & REC_MAPPING && ret > 0 &&
		       (args[2] > args[1] || args[3] & MREMAP_DONTUNMAP) &&
		       is_of_file(ret);
	}
	return fd >= 0 && is_memory(fd);
}

#endif
