// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * The kernel's part of `record`: at the end of each system call of the target, its entry
 * registers, its result and the user memory it wrote go into the ring.
 *
 * sys_exit alone is enough: pt_regs still hold what the program entered with, except rax
 * (its number is in orig_ax) and what the syscall instruction itself clobbers.
 *
 * No event is ever dropped. Once the ring is half full the target gets SIGSTOP, which
 * takes effect before it executes another user instruction. Many threads may each be at
 * their last event before they stop: once it is full by three quarters, events are without
 * the memory. The same stop lets user space read that, and what a program of bounded length
 * cannot (iovecs, data beyond REC_EVENT_MAX, pages not present).
 *
 * Tracepoints are raw ones, whose kernel pointers come from helpers. Of the busiest one there is also the kind
 * whose arguments the verifier knows the types of: for that libbpf would read all of the kernel's types
 * (pt-collect/kernel/types.c lists those that are read here), so programs.c tells it the one number that it wants.
 *
 * Features used are all in Linux 5.17 (doc/kernels.md).
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/record.h"
#include "bpf/record_calls.h"
#include "bpf/record_probes.h"
#include "bpf/record_threads.h"

char LICENSE[] SEC("license") = "GPL";
