// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files that the program maps (files.c), what it writes to them other than there (through.c),
 * and who else can write what it shares (shared.c).
 */
#ifndef PT_COLLECT_INPUTS_FILES_H
#define PT_COLLECT_INPUTS_FILES_H

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/tracee.h"

struct stat;

/** The program mapped a file: keep what it mapped. */
void ptc_files_mapped(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev);

/** Keep the file behind @p path in the target's mapping; 0 when it cannot be had. */
uint32_t ptc_files_keep(struct ptc_process *p, const struct ptc_map *m);

/** Keep the files behind all mappings that @p p has now, but for shared memory; it may run.
 * @return NULL, or ERR_OS: its mappings cannot be read. */
struct err *ptc_files_keep_all(struct ptc_process *p);

/** Place -e heap's and -e stores' probes in what has been mapped as code. */
void ptc_files_probe(struct ptc_process *p, const struct ptc_maps *maps);

/** The program mapped the file @p st: calls may change what is there. @p is_written: it is open for
 * writing; @p is_shared: by the descriptor that was mapped, shared, so that a child may write, too. */
void ptc_through_mapped(struct ptc_process *p, const struct stat *st, bool is_written,
			bool is_shared);

/** @p p begins as a child of @p parent: it has the same files mapped. */
void ptc_through_inherit(struct ptc_process *p, const struct ptc_process *parent);

/** @return whether @p m is such a mapping. */
bool ptc_through_is_shared(const struct ptc_process *p, const struct ptc_map *m);

/** Is what is mapped at @p m file @p inode on @p device? Segments have numbers of their own, as has each device. */
bool ptc_through_is_of(const struct ptc_map *m, uint64_t device, uint64_t inode);

/** Call @p e (REC_THROUGH_FILE), by which @p t is stopping, changed memory or mappings: add to the
 * writes of @p t and to @p ev how they are now. */
void ptc_through_file(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev);

/** Add to @p w what is at @p addr of process @p t, where byte @p from of the file of @p th is mapped shared,
 * @p size bytes, just after the call that @p th is of. */
void ptc_through_add(const struct ptc_tracee *t, const struct ptc_through *th,
		     struct ptc_writes *w, uint64_t addr, uint64_t from, uint64_t size);

/** @return a number that is the same for the same file; never 0. */
uint64_t ptc_shared_identity(const struct stat *st);

/** The same of what is mapped at @p m: of memory without a name too, and of segments. */
uint64_t ptc_shared_map_identity(const struct ptc_map *m);

/** Process @p p, whose thread @p tid stands still, has made a child, or is one, that has the same
 * memory shared: the log says which, and if there is any the process is joined. @return ERR_OS, perhaps
 * because it was killed meanwhile. */
struct err *ptc_joint_fork(struct ptc_process *p, pid_t tid, bool is_child);

/** The same of call @p e, which mapped a file or a segment, or more of one, and whose thread is stopping. */
void ptc_joint_mapped(struct ptc_process *p, const struct rec_syscall *e);

/** Call @p e of @p t, which is stopping, wrote t->through into a file: the log says what is there now, if
 * another process that is joined has it mapped shared. */
void ptc_joint_written(struct ptc_process *p, struct ptc_thread *t,
		       const struct rec_syscall *e);

/** Process @p left is not recorded any more: what it writes into memory that others share with it,
 * they look at from here on (ptc_shared_watch()). */
void ptc_joint_left(const struct ptc_process *left);

/** The program mapped file @p key shared: log a gap if others can write it, now or later. */
void ptc_shared_mapped(struct ptc_process *p, uint64_t key);

/** Look again. */
void ptc_shared_look(struct ptc_process *p);

/** Others may write the @p size bytes at @p start: from here on they are looked at, at the end of
 * each call of @p p. @return words for a gap: what is recorded
 * of what they write. */
const char *ptc_shared_watch(struct ptc_process *p, uint64_t start, uint64_t size);

/** The one thread of @p p is at the end of a call, or in a stop: add to @p w what is not as it was.
 * While it has several, nothing is added, which is a gap. */
void ptc_shared_see(struct ptc_process *p, struct ptc_writes *w);

/** Nothing is watched any more. */
void ptc_shared_forget(struct ptc_process *p);

/** The System V segment at @p addr. @return false when there is nothing. */
bool ptc_shared_segment(struct ptc_process *p, uint64_t addr, uint64_t *size,
			uint64_t *key);

#endif
