// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * perf.data files with Intel PT: a writer whose files `perf script --itrace` decodes, and
 * a reader of those and of what `perf record -e intel_pt//u` wrote (doc/perf-data.md).
 *
 * Such a file is a list of records: *sideband* (what was mapped where, which thread ran
 * when) and AUXTRACE records, each with a piece of a *stream* of PT packets. A stream is
 * of one thread or of one CPU.
 *
 * Invariants:
 *  1. The reader checks every size, offset and count before it uses it, and allocates no
 *     more than a constant multiple of the file's size.
 *  2. What the writer wrote is a sound file after each perf_writer_flush().
 *  3. PT data goes through in pieces; neither side holds a stream in memory.
 *  4. The reader reads with pread only.
 *
 * Not shared between threads.
 */
#ifndef CAPTURE_PERF_DATA_H
#define CAPTURE_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define PERF_NONE UINT32_MAX ///< no such cpu, thread, process

/** How PT's clock (TSC) relates to the clock of the records:
 * ns = zero + (tsc * mult >> shift). */
struct perf_clock {
	uint32_t mult;
	uint16_t shift;
	uint64_t zero;
	bool is_known; ///< false: PT's times cannot be told in nanoseconds
};

/** @return the record time of @p tsc; @p clock must be known. */
uint64_t perf_clock_ns(const struct perf_clock *clock, uint64_t tsc);

/** @return the TSC value at record time @p ns, the inverse but for rounding; 0 where that is
 * before the TSC's beginning. */
uint64_t perf_clock_tsc(const struct perf_clock *clock, uint64_t ns);

/** How PT was set up. A `_bit` or `_bits` is a mask in `config`; 0: the CPU has none. */
struct perf_pt {
	uint32_t pmu_type; ///< of the intel_pt PMU on the recording machine
	uint64_t config;   ///< of its event (sysfs: intel_pt/format)
	uint64_t tsc_bit, noretcomp_bit, mtc_bit, cyc_bit;
	uint64_t mtc_freq_bits;	       ///< mtc_period
	uint32_t tsc_ctc_n, tsc_ctc_d; ///< TSC : crystal clock (CPUID 0x15)
	uint32_t max_nonturbo_ratio;   ///< TSC frequency / 100 MHz; 0 unknown
	uint32_t has_switches;	       ///< enum perf_switches
	bool is_snapshot;	       ///< a stream's pieces may overlap, and have gaps
	bool is_per_cpu;	       ///< streams are of CPUs
	bool is_user_only;	       ///< the kernel was not traced
	bool has_event_trace;	       ///< the CPU has it
	char *filter;		       ///< address filter as given to perf; NULL none
	struct perf_clock clock;
};

/** Bits of `config` on every CPU so far; what to write where no sysfs tells. */
enum perf_pt_config {
	PERF_PT_ENABLE = 1 << 0,
	PERF_PT_CYC = 1 << 1,
	PERF_PT_FUP_ON_PTW = 1 << 5,
	PERF_PT_MTC = 1 << 9,
	PERF_PT_TSC = 1 << 10,
	PERF_PT_NORETCOMP = 1 << 11,
	PERF_PT_PTW = 1 << 12,
	PERF_PT_BRANCH = 1 << 13,
	PERF_PT_MTC_PERIOD = 15 << 14,
	PERF_PT_CYC_THRESHOLD = 15 << 19,
	PERF_PT_PSB_PERIOD = 15 << 24,
};

/** What tells which thread a CPU ran. */
enum perf_switches {
	PERF_SWITCHES_NONE,	///< needless: streams are of threads
	PERF_SWITCHES_SAMPLES,	///< samples of the sched_switch tracepoint
	PERF_SWITCHES_THREAD,	///< SWITCH records of the traced threads
	PERF_SWITCHES_CPU_WIDE, ///< SWITCH records of all threads, with the other's ids
};

/** The machine a file is from; NULL texts are unknown. */
struct perf_host {
	char *hostname, *os_release, *version, *arch;
	char *cpu_desc; ///< as in /proc/cpuinfo
	char *cpu_id;	///< vendor,family,model,stepping in decimal
	uint32_t cpus_available, cpus_online;
};

/** Describe this machine. @p ret: perf_host_deinit(). */
struct err *perf_host_init(struct perf_host *ret);
void perf_host_deinit(struct perf_host *host);

enum perf_kind {
	PERF_MMAP = 1, ///< a mapping appeared (MMAP, MMAP2)
	PERF_COMM,     ///< a thread was named, or executed a program
	PERF_FORK,     ///< a thread or process began
	PERF_EXIT,     ///< a thread ended
	PERF_LOST,     ///< records were lost
	PERF_LOST_SAMPLES,
	PERF_AUX,	   ///< PT data came; flags tell of lost data
	PERF_ITRACE_START, ///< tracing of a thread began
	PERF_SWITCH,	   ///< a thread began or ceased to run
	PERF_SAMPLE,	   ///< its fixed fields only
	PERF_AUXTRACE,	   ///< a piece of a stream
	PERF_AUXTRACE_ERROR,
	PERF_ROUND, ///< later records are not older than those before the round before
	PERF_INIT,  ///< what is older than the recording was told
	PERF_TIME_CONV,
	PERF_THREAD_MAP,
	PERF_CPU_MAP,
	PERF_OTHER, ///< a record that matters to no one here; `type` says which
	PERF_KINDS
};

enum perf_aux_flags {
	PERF_AUX_TRUNCATED = 1 << 0, ///< data was lost behind it
	PERF_AUX_OVERWRITE = 1 << 1, ///< snapshot mode
	PERF_AUX_PARTIAL = 1 << 2,   ///< it has gaps
	PERF_AUX_COLLISION = 1 << 3,
};

#define PERF_BUILD_ID_MAX 20

/** A piece of a stream of PT packets. */
struct perf_piece {
	uint32_t stream;   ///< number of its stream
	uint32_t tid, cpu; ///< one of them is PERF_NONE
	uint64_t offset;   ///< place in the stream (of the ring it came from)
	uint64_t bytes;
	uint64_t at; ///< offset of the data in the file; writer: ignored
	/** TSC when the piece was handed over. TSC packets lack the upper byte: perf takes it
	 * from here, and without it knows no times. Writer: 0 = this machine's, now. */
	uint64_t reference;
};

/** One record. Pointers are borrowed from the reader until its next call. */
struct perf_record {
	enum perf_kind kind;
	uint32_t type;	///< number in the file; writer: ignored
	bool is_kernel; ///< about the kernel's memory (cpumode)

	/** When and where, as the kernel said at the record's end. time_ns 0: from before the
	 * recording, or unknown. id: which event; writer: 0 = the right one. */
	uint64_t time_ns, id;
	uint32_t pid, tid, cpu;

	union {
		struct {
			uint32_t pid, tid;
			uint64_t addr, bytes, file_offset;
			uint32_t prot, flags; ///< PROT_*, MAP_*
			uint32_t major, minor;
			uint64_t inode, generation;
			uint8_t build_id[PERF_BUILD_ID_MAX];
			uint8_t build_id_bytes; ///< 0: not known, major.. are set instead
			const char *path;	///< "//anon", "[vdso]", ... when no file
		} mmap;
		struct {
			uint32_t pid, tid;
			bool is_exec;
			const char *name;
		} comm;
		struct {
			uint32_t pid, tid, parent_pid, parent_tid;
			uint64_t time_ns;
		} task; ///< FORK, EXIT
		struct {
			uint64_t id, n;
		} lost; ///< LOST, LOST_SAMPLES
		struct {
			uint64_t offset, bytes; ///< in the ring that became the stream
			uint32_t flags;		///< enum perf_aux_flags
		} aux;
		struct {
			uint32_t pid, tid;
		} start; ///< ITRACE_START
		struct {
			bool is_out;	   ///< it ceased; else it began
			bool is_preempted; ///< and could have gone on
			bool has_other;	   ///< who runs next (is_out), who ran before
			uint32_t other_pid, other_tid;
		} change; ///< SWITCH
		struct {
			uint64_t ip, addr, period;
			const uint8_t *rest; ///< behind the fixed fields
			size_t rest_bytes;
		} sample;
		struct perf_piece piece; ///< AUXTRACE
		struct {
			uint32_t type, code, cpu, pid, tid;
			uint64_t ip, time_ns;
			const char *message;
		} error;		 ///< AUXTRACE_ERROR
		struct perf_clock clock; ///< TIME_CONV
		struct {
			uint64_t n;
			const uint8_t *entries;
		} map; ///< THREAD_MAP: n times process or thread id (8), name (16)
	};
};

/* ---- writing ----------------------------------------------------------------- */

struct perf_writer;

/** What a file says of itself; everything is copied. */
struct perf_writer_options {
	struct perf_pt pt;
	struct perf_host host;
	const char *const *cmdline; ///< NULL-terminated, or NULL
	/** Ids that the kernel gave the PT event and the event that collects sideband;
	 * none: the writer makes them up. */
	const uint64_t *pt_ids, *sideband_ids;
	size_t n_pt_ids, n_sideband_ids;
	bool inherits; ///< the events follow children
};

/** What records read from a kernel ring must have been opened with, so that
 * perf_writer_raw() can take them: attr.sample_type; attr.sample_id_all is on. */
#define PERF_DATA_SAMPLE_TYPE 0x10087ull /* IP | TID | TIME | CPU | IDENTIFIER */

/** Begin a file in @p fd, which is empty and consumed, and which messages call @p path: write
 * what comes before the first record. */
struct err *perf_writer_create_fd(int fd, const char *path,
				  const struct perf_writer_options *o,
				  struct perf_writer **ret);

/** The same of @p path in a directory that is ours alone; it is replaced if it is there. */
struct err *perf_writer_create(const char *path, const struct perf_writer_options *o,
			       struct perf_writer **ret);

/** Close without finishing: what was flushed stays. NULL is fine. */
void perf_writer_destroy(struct perf_writer *w);
void perf_writer_destroyp(struct perf_writer **w);

/** An event was opened later: records with its id may follow. */
struct err *perf_writer_add_id(struct perf_writer *w, bool is_pt, uint64_t id);

/** Append one record: every kind but SAMPLE and OTHER; AUXTRACE by
 * perf_writer_stream(). */
struct err *perf_writer_record(struct perf_writer *w, const struct perf_record *rec);

/** Append a record as the kernel made it, @p bytes from its header to its sample id.
 * @return ERR_FORMAT when that is not its size. */
struct err *perf_writer_raw(struct perf_writer *w, const void *rec, size_t bytes);

/**
 * Append a piece of @p n bytes to the stream that @p piece names (stream, tid, cpu,
 * reference; offset: where it goes, UINT64_MAX = behind what the stream has). It must end
 * with a whole packet, as what the kernel hands out does: perf reads no packet across
 * pieces. PAD packets make it whole words. But a piece whose offset says that it goes on
 * where the last one ended, with nothing written in between, becomes part of that one: a
 * ring is written in two halves.
 */
struct err *perf_writer_stream(struct perf_writer *w, const struct perf_piece *piece,
			       const void *data, size_t n);

/** Tell that process @p pid (PERF_NONE: any) mapped @p path, whose build-id this is. */
struct err *perf_writer_build_id(struct perf_writer *w, uint32_t pid, const char *path,
				 const uint8_t *build_id, size_t bytes);

/** Bring everything to the file; from here on it reads up to here. */
struct err *perf_writer_flush(struct perf_writer *w);

/** Write the ends of the streams, the index and the features, and close. @p bytes: of the
 * file; may be NULL. perf_writer_destroy() is due all the same. */
struct err *perf_writer_finish(struct perf_writer *w, uint64_t *bytes);

/* ---- reading ----------------------------------------------------------------- */

struct perf_reader;

/** An event of the file. */
struct perf_attr {
	uint32_t type;
	uint64_t config, config1, config2;
	uint64_t sample_type, read_format, flags; ///< as in struct perf_event_attr
	uint64_t *ids;
	size_t n_ids;
	char *name; ///< NULL when not told
};

/** A file that was mapped, from the list at the end. */
struct perf_build_id {
	uint32_t pid; ///< PERF_NONE: any
	uint8_t build_id[PERF_BUILD_ID_MAX];
	uint8_t bytes;
	bool is_kernel;
	char *path;
};

/** A stream: its pieces lie together in perf_info.pieces, in the file's order. */
struct perf_stream {
	uint32_t number, tid, cpu;
	size_t first_piece, n_pieces;
	uint64_t bytes;
};

/** What is known of a file without its records. */
struct perf_info {
	struct perf_attr *attrs;
	size_t n_attrs;
	bool has_pt; ///< pt is set
	struct perf_pt pt;
	struct perf_host host;
	char **cmdline; ///< n_cmdline, NULL-terminated; NULL when not told
	size_t n_cmdline;
	struct perf_build_id *build_ids;
	size_t n_build_ids;
	uint64_t first_ns, last_ns; ///< of the records with a time; 0 none
	struct perf_piece *pieces;
	size_t n_pieces;
	struct perf_stream *streams; ///< ascending by number
	size_t n_streams;
	uint64_t pt_bytes;
	uint64_t n_records; ///< AUXTRACE and those inside compressed ones included
	uint64_t n_other;   ///< of kind OTHER
	uint64_t n_lost;    ///< records that LOST records tell of
	bool is_unfinished; ///< the recorder was killed: the features are missing
	const char *damage; ///< where and why reading ends early; NULL
};

/**
 * Open @p path and look it through once.
 *
 * @return ERR_NOT_FOUND, ERR_FORMAT (foreign, or its head is damaged), ERR_TRUNCATED (it
 *	   ends within its head), ERR_UNSUPPORTED (says of what: pipe mode, a directory,
 *	   another byte order). Damage behind the head is told by perf_reader_next().
 */
struct err *perf_reader_open(const char *path, struct perf_reader **ret);

struct capture;

/** The same of a capture's perf.data, which messages call @p path. */
struct err *perf_reader_open_in(const struct capture *c, const char *path,
				struct perf_reader **ret);
void perf_reader_close(struct perf_reader *r);
void perf_reader_closep(struct perf_reader **r);

/** @return valid until perf_reader_close(). */
const struct perf_info *perf_reader_info(const struct perf_reader *r);

/**
 * The next record, in the file's order, compressed ones unpacked. They are in the order of
 * their times within limits only (PERF_ROUND): sort by time_ns, stably.
 *
 * @param is_end  Set true (and @p ret untouched) behind the last record.
 * @return NULL; ERR_FORMAT, ERR_TRUNCATED: the file is damaged here (or behind its
 *	   records), everything before was good; says at which byte.
 */
struct err *perf_reader_next(struct perf_reader *r, struct perf_record *ret,
			     bool *is_end);

/** Begin with the first record again. */
void perf_reader_rewind(struct perf_reader *r);

/** Read @p n bytes of @p piece, from byte @p from of it on. @return ERR_RANGE when it has
 * not so many. */
struct err *perf_reader_piece(const struct perf_reader *r, const struct perf_piece *piece,
			      uint64_t from, void *buf, size_t n);

/** @return the file's descriptor, to map pieces from; the reader keeps it. */
int perf_reader_fd(const struct perf_reader *r);

/** Whether @p path begins like a perf.data file (of any mode or byte order), or is perf's
 * directory with one in it. */
bool perf_data_is(const char *path);

#endif
