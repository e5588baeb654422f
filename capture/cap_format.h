// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * On-disk layout of events.flt (doc/events.md) and of the FAULTLINE note in start.core.
 * Private to capture/. All integers are little-endian; a layout change raises
 * CAP_LOG_VERSION.
 *
 *   struct cap_log_head
 *   { struct cap_frame_head, one zstd frame with content checksum } ...
 *
 * A frame holds whole records, each 8-byte aligned and at most CAP_FRAME_MAX bytes in
 * all. An event whose memory does not fit is preceded by CAP_REC_PART records of the
 * same thread that carry it piece by piece.
 */
#ifndef CAPTURE_CAP_FORMAT_H
#define CAPTURE_CAP_FORMAT_H

#include "capture/cap_mask.h"
#include "capture/capture.h"

#define CAP_LOG_MAGIC "FLTEVENT"
#define CAP_LOG_VERSION 5
/** A part of 3 without PROBE, which is one of 4 without OMITTED, which is one of 5 without
 * SHARED. */
#define CAP_LOG_VERSION_MIN 2
#define CAP_LOG_BYTE_ORDER 0x01020304u

#define CAP_FRAME_TARGET (1u << 20) ///< a frame is closed once it holds this many bytes
#define CAP_FRAME_MAX (2u << 20)    ///< no frame unpacks to more: what a reader allocates
#define CAP_PART_MAX (256u << 10)   ///< memory bytes inside one record
#define CAP_EVENT_MAX 0x7ffff000u   ///< memory bytes of one event: what one call writes

/** What the records of a log take, memory aside, and what the memory of one event does that is
 * not zeros: so many bytes for each byte of the file so far, and so many more. Readers keep what
 * they need of each event; a loop of one system call, the densest log there is, has 55 (a time
 * differs in each record, and costs). */
#define CAP_RECORDS_RATIO 256
#define CAP_RECORDS_FREE (64u << 20)

struct cap_log_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
};

struct cap_frame_head {
	uint32_t packed_bytes; ///< of the zstd frame that follows
	uint32_t raw_bytes;    ///< what it unpacks to
	uint64_t first_seq;    ///< events before this frame
};

#define CAP_REC_PART 64 ///< record kind: memory of the event that follows

enum cap_rec_has {
	CAP_REC_AFTER = 1 << 0, ///< a second struct cap_regs follows the body
	CAP_REC_ALL = CAP_REC_AFTER,
};

/** Head of a record; the body of its kind follows, then `after`, then the writes. */
struct cap_rec {
	uint32_t bytes; ///< of the whole record, a multiple of 8
	uint16_t kind;	///< enum cap_event_kind or CAP_REC_PART
	uint16_t has;	///< enum cap_rec_has
	uint32_t tid;
	uint32_t n_writes;
	uint64_t at_ns;
};

struct cap_rec_write {
	uint64_t addr;
	uint64_t size; ///< bytes that follow, padded to 8
};

struct cap_body_syscall {
	struct cap_regs regs;
	int64_t ret;
	uint32_t flags;
	uint32_t file;
	uint64_t file_offset;
};

struct cap_body_signal {
	struct cap_regs regs;
	int32_t signo;
	uint32_t is_fatal;
	uint8_t siginfo[128];
	struct cap_signature signature;
};

struct cap_body_switch {
	struct cap_regs regs;
	struct cap_signature signature;
	uint32_t next_tid;
	uint32_t flags;
};

struct cap_body_tsc {
	struct cap_regs regs;
	uint64_t tsc;
	uint32_t tsc_aux;
	uint32_t is_rdtscp;
};

struct cap_body_cpuid {
	struct cap_regs regs;
	uint32_t leaf, subleaf;
	uint32_t cpuid[4];
};

struct cap_body_random {
	struct cap_regs regs;
};

struct cap_body_heap {
	uint64_t heap_fn;
	uint64_t heap_args[3];
};

struct cap_body_probe {
	uint64_t rip;
	uint32_t site;
	uint32_t gprs; ///< the registers of these bits follow, 8 bytes each
};

struct cap_body_omitted {
	struct cap_regs regs;
	uint64_t position, n_steps;
	uint32_t n_values; ///< as many struct cap_rec_value follow, each with its bytes
	uint16_t kept_gprs, kept_flags;
};

struct cap_body_shared {
	uint64_t start, size, key, offset;
};

struct cap_rec_value {
	uint32_t reg, size; ///< bytes that follow, padded to 8
};

struct cap_body_exit {
	struct cap_regs regs;
	int64_t exit_code;
};

struct cap_body_gap {
	uint64_t text_bytes; ///< text follows, without NUL, padded to 8
};

_Static_assert(sizeof(struct cap_log_head) == 16, "layout");
_Static_assert(sizeof(struct cap_frame_head) == 16, "layout");
_Static_assert(sizeof(struct cap_rec) == 24, "layout");
_Static_assert(sizeof(struct cap_regs) == 160, "layout");
_Static_assert(sizeof(struct cap_body_syscall) == 184, "layout");
_Static_assert(sizeof(struct cap_body_signal) == 320, "layout");
_Static_assert(sizeof(struct cap_body_switch) == 192, "layout");
_Static_assert(sizeof(struct cap_body_tsc) == 176, "layout");
_Static_assert(sizeof(struct cap_body_cpuid) == 184, "layout");
_Static_assert(sizeof(struct cap_body_heap) == 32, "layout");
_Static_assert(sizeof(struct cap_body_shared) == 32, "layout");
_Static_assert(sizeof(struct cap_body_probe) == 16, "layout");
_Static_assert(sizeof(struct cap_body_exit) == 168, "layout");

/* ---- the FAULTLINE note of start.core: what ELF has no field for ---------------- */

#define CAP_NOTE_NAME "FAULTLINE"
#define CAP_NOTE_MAPPINGS 1 ///< note type; one cap_note_mapping per PT_LOAD, then names
/** Note type; a cap_note_process, then one cap_note_thread per NT_PRSTATUS, in order. */
#define CAP_NOTE_PROCESS 2

enum cap_note_flags {
	CAP_NOTE_STACK = 1 << 0,
	CAP_NOTE_VDSO = 1 << 1,
	CAP_NOTE_HEAP = 1 << 2,
};

struct cap_note_mapping {
	uint32_t file;	///< 1-based, 0 = none
	uint32_t flags; ///< enum cap_note_flags
	uint64_t file_offset;
	uint32_t name_offset; ///< into the names behind the table; NUL-terminated there
	uint32_t reserved;
};

struct cap_note_process {
	uint64_t brk;
	uint64_t reserved;
};

struct cap_note_thread {
	uint64_t clear_child_tid;
	uint64_t robust_list;
};

_Static_assert(sizeof(struct cap_note_mapping) == 24, "layout");
_Static_assert(sizeof(struct cap_note_process) == 16, "layout");
_Static_assert(sizeof(struct cap_note_thread) == 16, "layout");

/* ---- inside the room -------------------------------------------------------------- */

static inline size_t cap_pad8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/** pread() all of @p size bytes. @return NULL, ERR_TRUNCATED at end of file, ERR_OS. */
struct err *cap_read_at(int fd, uint64_t offset, void *buf, size_t size,
			const char *what);

/** write() all. @return NULL or ERR_OS. */
struct err *cap_write_all(int fd, const void *buf, size_t size, const char *what);

struct cap_log;

/** Start an event log in file @p fd (owned from now on). */
struct err *cap_log_create(int fd, struct cap_log **ret);

/** Append @p ev. On failure the file ends at a whole frame. */
struct err *cap_log_append(struct cap_log *l, const struct cap_event *ev);

/** Make a frame of what is buffered. */
struct err *cap_log_flush(struct cap_log *l);

/** Write what is still buffered and close the file. */
struct err *cap_log_finish(struct cap_log *l, uint64_t *bytes);
void cap_log_destroy(struct cap_log *l);

/** The manifest as text (owned by the caller, free()). What @p mask (or NULL) looks for is masked
 * in its texts. */
struct err *cap_manifest_print(const struct cap_info *info, const struct cap_mask *mask,
			       char **ret);

/** Parse a manifest into @p info (cap_info_deinit() it whatever the result). */
struct err *cap_manifest_parse(const char *text, struct cap_info *info);

/** The same of manifest.json in the bundle @p dir_fd. @return as cap_manifest_load(). */
struct err *cap_manifest_read(int dir_fd, struct cap_info *info);

void cap_info_deinit(struct cap_info *info);

/** @return whether a kept file's name stays inside files/. */
bool cap_name_is_safe(const char *name);

/** files/index lists the kept files as they come, for a bundle whose manifest never came:
 * stored name, build-id ("" = none), path, each ended by NUL. */
#define CAP_INDEX "index"

/** Where the bundles of followed processes are, and what leads from one to the capture. */
#define CAP_CHILDREN "children"
#define CAP_AROUND "../.."

/** In the place of events.flt (cap_joined.c). */
#define CAP_JOINED "joined.flt"

#define CAP_LIST_MAX (64u << 20) ///< bytes of a manifest, an index or a suite

/** Read all of @p path below @p dir_fd, which may have CAP_LIST_MAX bytes. @p ret: for free(),
 * with a NUL behind them. @return as file_open_input(). */
struct err *cap_read_list(int dir_fd, const char *path, char **ret, uint64_t *bytes);

/** Without a manifest the directories under children/ tell which processes there were:
 * fill info->processes. */
struct err *cap_children_scan(struct capture *c);

/** Read log @p name of the bundle, as many events as there are. @return as cap_events_open(). */
struct err *cap_events_open_log(const struct capture *c, const char *name,
				struct cap_events **ret);

/** Open file @p name of the bundle for reading. @return as file_open_input(). */
struct err *cap_input(const struct capture *c, const char *name, int *fd,
		      uint64_t *bytes);

/** What was learnt of kept files when they were opened. */
struct cap_held {
	uint64_t unpacked_bytes; ///< of all that are held in memory
	struct {
		bool is_whole; ///< its contents were looked at
		int fd; ///< it was packed: what it unpacked to, in memory; -1: it was not
	} of[];		///< each file
};

/** What `struct capture` is inside the room. */
struct capture {
	char *dir;
	int dir_fd;
	int around_fd; ///< below which files/ is: the capture's, of a followed process
	bool has_manifest;
	struct cap_held *held;
	struct cap_info info;
};

#endif
