// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * gdb's requests, one function a kind: what the files of the stub share (stub.c: which request is
 * whose; resume.c: moves and what is told of stops; objects.c: qXfer; files.c: vFile;
 * storage.c: threads' own variables; monitor.c: the user's own).
 */
#ifndef DEBUG_STUB_H
#define DEBUG_STUB_H

#include "debug/debug.h"
#include "debug/link.h"
#include "debug/session.h"

#define DBG_FILES_MOST 32

/** A file of the capture's that gdb has open. */
struct dbg_file {
	bool is_open;
	int fd;		      ///< -1: text is its contents
	struct dbg_text text; ///< of one that there is none of
};

struct dbg_stub {
	struct dbg_session session;
	struct dbg_link link;
	struct dbg_text reply;
	bool is_multiprocess; ///< gdb tells processes apart
	uint32_t general,
		stepping;  ///< threads that requests are about; 0: the one that runs
	bool is_elsewhere; ///< `general` is of another process, as far as gdb is concerned
	bool is_moved;	   ///< and gdb does not know yet
	bool has_to_vfork; ///< a parent that waits for its child has not been told to go on
	bool has_to_exec; ///< the process is another program's, and gdb does not know yet
	uint32_t child;	  ///< that was told last
	struct capture
		*followed; ///< whose session it is, once that is not the one served
	const struct dbg_options *options;
	bool has_to_end;
	bool is_running;      ///< a resume is under way: text may be told at once
	struct dbg_stop stop; ///< the last one
	struct dbg_file files[DBG_FILES_MOST];
	uint64_t module_number_at; ///< in a struct link_map; 0: not known
};

/** Answer with an error, for people. @p err is consumed. */
void dbg_stub_fail(struct dbg_stub *st, struct err *err);

/** Answer "OK". */
void dbg_stub_ok(struct dbg_stub *st);

/** Put thread @p tid as gdb writes it. */
void dbg_stub_put_thread(struct dbg_stub *st, struct dbg_text *to, uint32_t tid);

/** Take a thread: p1.2, 2; 0 and -1 are any (*@p ret 0). @p pid: its process, 0: any, or none is
 * told. @return whether there is one. */
bool dbg_stub_take_thread(struct dbg_cursor *c, uint32_t *pid, uint32_t *ret);

/** gdb goes on with the child that was told last: so does the stub. @return ERR_NOT_FOUND: it was not
 * recorded. */
struct err *dbg_stub_follow(struct dbg_stub *st);

/** resume.c: c, s, bc, bs, vCont;... and the answer to each: why it stopped. */
void dbg_resume(struct dbg_stub *st, struct dbg_cursor *c);
void dbg_resume_vcont(struct dbg_stub *st, struct dbg_cursor *c);
void dbg_resume_back(struct dbg_stub *st, struct dbg_cursor *c);

/** Answer why it stopped last. */
void dbg_resume_tell(struct dbg_stub *st);

/** @return gdb's number of signal @p signo, or with @p is_back the other way round. */
int dbg_signal_number(int signo, bool is_back);

/** objects.c: qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH, behind "qXfer:". */
void dbg_object_read(struct dbg_stub *st, struct dbg_cursor *c);

/** files.c: behind "vFile:". */
void dbg_file_request(struct dbg_stub *st, struct dbg_cursor *c);
void dbg_files_close(struct dbg_stub *st);

/** Put what /proc/PID/maps would hold here. */
void dbg_object_maps(struct dbg_stub *st, struct dbg_text *to);

/** storage.c: qSymbol, behind that; qGetTLSAddr, behind its colon. */
void dbg_storage_symbol(struct dbg_stub *st, struct dbg_cursor *c);
void dbg_storage_address(struct dbg_stub *st, struct dbg_cursor *c);

/** trail.c: `monitor writes', `defines', `origin' with these @p words: lines. It stands where it was.
 * @return ERR_USAGE, or as dbg_seek(). */
struct err *dbg_trail_writes(struct dbg_session *s, const char *words,
			     struct dbg_text *to);
struct err *dbg_trail_defines(struct dbg_session *s, const char *words,
			      struct dbg_text *to);
struct err *dbg_trail_origin(struct dbg_session *s, const char *words,
			     struct dbg_text *to);

/** @return whether there is a register called @p name; its number comes into @p ret. */
bool dbg_trail_register(const char *name, uint8_t *ret);

/** slices.c: `monitor slice', `slice-nodes': make one of what @p words say; list it. @return
 * ERR_USAGE, or as fl_trace_create(), fl_slice_walk(). */
struct err *dbg_slices_make(struct dbg_session *s, const char *words,
			    struct dbg_text *to);
struct err *dbg_slices_nodes(struct dbg_session *s, const char *words,
			     struct dbg_text *to);

/** monitor.c: the command @p line. */
void dbg_monitor(struct dbg_stub *st, const char *line);

/** Answer the packet that the link has. */
void dbg_stub_answer(struct dbg_stub *st);

#endif
