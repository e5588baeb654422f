// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Layouts of the perf.data format (tools/perf/Documentation/perf.data-file-format.txt in
 * the kernel's tree) and of the kernel's records (perf_event_open(2)). Private to
 * capture/perf_*. Records are multiples of 8 bytes; what they begin with is below, and
 * what varies behind it: texts padded to 8, and the sample id.
 */
#ifndef CAPTURE_PERF_FORMAT_H
#define CAPTURE_PERF_FORMAT_H

#include "capture/perf_data.h"

#define PERF_MAGIC "PERFILE2"
#define PERF_MAGIC_SWAPPED "2ELIFREP"
#define PERF_MAGIC_OLD "PERFFILE"

struct perf_section {
	uint64_t offset, size;
};

struct perf_head {
	char magic[8];
	uint64_t size;	    ///< of this; 16 in pipe mode
	uint64_t attr_size; ///< of an attr and its section of ids
	struct perf_section attrs, data, event_types;
	uint64_t features[4]; ///< bitmap; a perf_section for each bit follows the data
};

#define PERF_PIPE_HEAD 16
#define PERF_FILE_ATTR_MIN (64 + sizeof(struct perf_section))

/** struct perf_event_attr as of its version 7. */
struct perf_attr_disk {
	uint32_t type, size;
	uint64_t config, sample_period, sample_type, read_format;
	uint64_t flags;
	uint32_t wakeup, bp_type;
	uint64_t config1, config2;
	uint64_t unused[7];
};

enum perf_attr_flags {
	PERF_ATTR_INHERIT = 1 << 1,
	PERF_ATTR_EXCLUDE_KERNEL = 1 << 5,
	PERF_ATTR_EXCLUDE_HV = 1 << 6,
	PERF_ATTR_MMAP = 1 << 8,
	PERF_ATTR_COMM = 1 << 9,
	PERF_ATTR_TASK = 1 << 13,
	PERF_ATTR_SAMPLE_ID_ALL = 1 << 18,
	PERF_ATTR_EXCLUDE_GUEST = 1 << 20,
	PERF_ATTR_MMAP2 = 1 << 23,
	PERF_ATTR_COMM_EXEC = 1 << 24,
	PERF_ATTR_CONTEXT_SWITCH = 1 << 26,
};

#define PERF_ATTR_BUILD_ID (1ull << 34)

enum {
	PERF_TYPE_SOFTWARE = 1,
	PERF_SOFTWARE_DUMMY = 9,
};

/** Bits of attr.sample_type; the fields of a sample (and of a sample id) in this order,
 * but for IDENTIFIER: first in a sample, last in a sample id. */
enum perf_sample_bits {
	PERF_SAMPLE_IP = 1 << 0,
	PERF_SAMPLE_TID = 1 << 1,
	PERF_SAMPLE_TIME = 1 << 2,
	PERF_SAMPLE_ADDR = 1 << 3,
	PERF_SAMPLE_ID = 1 << 6,
	PERF_SAMPLE_CPU = 1 << 7,
	PERF_SAMPLE_PERIOD = 1 << 8,
	PERF_SAMPLE_STREAM_ID = 1 << 9,
	PERF_SAMPLE_IDENTIFIER = 1 << 16,
};

enum perf_type {
	PERF_TYPE_MMAP = 1,
	PERF_TYPE_LOST = 2,
	PERF_TYPE_COMM = 3,
	PERF_TYPE_EXIT = 4,
	PERF_TYPE_FORK = 7,
	PERF_TYPE_SAMPLE = 9,
	PERF_TYPE_MMAP2 = 10,
	PERF_TYPE_AUX = 11,
	PERF_TYPE_ITRACE_START = 12,
	PERF_TYPE_LOST_SAMPLES = 13,
	PERF_TYPE_SWITCH = 14,
	PERF_TYPE_SWITCH_CPU_WIDE = 15,
	PERF_TYPE_USER = 64, ///< from here on perf made them: no sample id
	PERF_TYPE_BUILD_ID = 67,
	PERF_TYPE_FINISHED_ROUND = 68,
	PERF_TYPE_AUXTRACE_INFO = 70,
	PERF_TYPE_AUXTRACE = 71,
	PERF_TYPE_AUXTRACE_ERROR = 72,
	PERF_TYPE_THREAD_MAP = 73,
	PERF_TYPE_CPU_MAP = 74,
	PERF_TYPE_TIME_CONV = 79,
	PERF_TYPE_COMPRESSED = 81,
	PERF_TYPE_FINISHED_INIT = 82,
	PERF_TYPE_COMPRESSED2 = 83,
};

enum perf_misc {
	PERF_MISC_CPUMODE = 7,
	PERF_MISC_KERNEL = 1,
	PERF_MISC_USER = 2,
	PERF_MISC_COMM_EXEC = 1 << 13,
	PERF_MISC_MMAP_DATA = 1 << 13,
	PERF_MISC_SWITCH_OUT = 1 << 13,
	PERF_MISC_SWITCH_PREEMPTED = 1 << 14,
	PERF_MISC_MMAP_BUILD_ID = 1 << 14,
	PERF_MISC_BUILD_ID_SIZE = 1 << 15,
};

enum perf_feature {
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CPUDESC = 8,
	PERF_FEATURE_CPUID = 9,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_AUXTRACE = 18,
	PERF_FEATURE_SAMPLE_TIME = 21,
	PERF_FEATURE_DIR_FORMAT = 24,
	PERF_FEATURES = 256,
};

struct perf_rec {
	uint32_t type;
	uint16_t misc, size;
};

struct perf_rec_mmap {
	struct perf_rec head;
	uint32_t pid, tid;
	uint64_t addr, bytes, file_offset;
};

struct perf_rec_mmap2 {
	struct perf_rec_mmap mmap;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t build_id_bytes, unused[3];
			uint8_t build_id[PERF_BUILD_ID_MAX];
		};
	};
	uint32_t prot, flags;
};

struct perf_rec_comm {
	struct perf_rec head;
	uint32_t pid, tid;
};

struct perf_rec_task {
	struct perf_rec head;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time_ns;
};

struct perf_rec_lost {
	struct perf_rec head;
	uint64_t id, n;
};

struct perf_rec_lost_samples {
	struct perf_rec head;
	uint64_t n;
};

struct perf_rec_aux {
	struct perf_rec head;
	uint64_t offset, bytes, flags;
};

/** ITRACE_START, SWITCH_CPU_WIDE */
struct perf_rec_ids {
	struct perf_rec head;
	uint32_t pid, tid;
};

struct perf_rec_info {
	struct perf_rec head;
	uint32_t type, unused;
	uint64_t word[];
};

#define PERF_INFO_INTEL_PT 1

/** Words of AUXTRACE_INFO, as perf's intel-pt.c counts them. Files of older perfs end
 * before CYC_BIT (none of MTC's and CYC's), MAX_NONTURBO or FILTER_BYTES; behind the
 * filter: whether the CPU has event trace. */
enum perf_info_word {
	PERF_INFO_PMU_TYPE,
	PERF_INFO_TIME_SHIFT,
	PERF_INFO_TIME_MULT,
	PERF_INFO_TIME_ZERO,
	PERF_INFO_HAS_TIME_ZERO,
	PERF_INFO_TSC_BIT,
	PERF_INFO_NORETCOMP_BIT,
	PERF_INFO_SWITCHES,
	PERF_INFO_SNAPSHOT,
	PERF_INFO_PER_CPU,
	PERF_INFO_MTC_BIT,
	PERF_INFO_MTC_FREQ_BITS,
	PERF_INFO_TSC_CTC_N,
	PERF_INFO_TSC_CTC_D,
	PERF_INFO_CYC_BIT,
	PERF_INFO_MAX_NONTURBO,
	PERF_INFO_FILTER_BYTES,
	PERF_INFO_WORDS
};

struct perf_rec_auxtrace {
	struct perf_rec head;
	uint64_t bytes, offset, reference;
	uint32_t stream, tid, cpu, unused;
};

struct perf_rec_error {
	struct perf_rec head;
	uint32_t type, code, cpu, pid, tid, format;
	uint64_t ip, time_ns;
	char message[64];
};

struct perf_rec_map {
	struct perf_rec head;
	uint64_t n;
};

#define PERF_THREAD_ENTRY 24

/** TIME_CONV; `more` only since perf 5.8 */
struct perf_rec_clock {
	struct perf_rec head;
	uint64_t shift, mult, zero;
	struct {
		uint64_t cycles, mask;
		uint8_t has_zero, is_short, unused[6];
	} more;
};

struct perf_rec_build_id {
	struct perf_rec head;
	uint32_t pid;
	uint8_t build_id[PERF_BUILD_ID_MAX];
	uint8_t bytes, unused[3];
};

struct perf_index_entry {
	uint64_t at, record_bytes;
};

_Static_assert(sizeof(struct perf_head) == 104, "layout");
_Static_assert(sizeof(struct perf_attr_disk) == 128, "layout");
_Static_assert(sizeof(struct perf_rec_mmap) == 40, "layout");
_Static_assert(sizeof(struct perf_rec_mmap2) == 72, "layout");
_Static_assert(sizeof(struct perf_rec_task) == 32, "layout");
_Static_assert(sizeof(struct perf_rec_auxtrace) == 48, "layout");
_Static_assert(sizeof(struct perf_rec_error) == 112, "layout");
_Static_assert(sizeof(struct perf_rec_clock) == 56, "layout");
_Static_assert(sizeof(struct perf_rec_build_id) == 36, "layout");

/**
 * Read one record of the kernel's or of perf's at @p rec, @p bytes long as its header
 * says. @p sample_type: of its event; @p has_id: it carries a sample id.
 *
 * @return NULL, or what is wrong with its size or contents.
 */
const char *perf_record_parse(const uint8_t *rec, size_t bytes, uint64_t sample_type,
			      bool has_id, struct perf_record *ret);

/** The id of the event that made record @p rec, when all that are in the file carry
 * IDENTIFIER at its end (sample ids) or beginning (samples). */
uint64_t perf_record_identifier(const uint8_t *rec, size_t bytes);

/**
 * Record @p r, whose bytes are @p rec, was read: keep what it tells of the file.
 *
 * @param capacity  Of info->pieces; 0 at first.
 * @return NULL, err_nomem, or ERR_FORMAT: it is AUXTRACE_INFO and makes no sense.
 */
struct err *perf_info_note(struct perf_info *info, const struct perf_record *r,
			   const uint8_t *rec, size_t bytes, size_t *capacity);

/** All pieces are noted: sort them into streams. @return NULL or err_nomem. */
struct err *perf_info_streams(struct perf_info *info);
void perf_info_deinit(struct perf_info *info);

/** Read the features at the end of the file into @p info; @p end: the file's size.
 * @return NULL, &err_nomem, or ERR_FORMAT, ERR_TRUNCATED: they are damaged. */
struct err *perf_features_read(int fd, const struct perf_head *head, uint64_t end,
			       struct perf_info *info);

/** What of a writer its features need; see perf_features_write.c. */
struct perf_features {
	const struct perf_writer_options *o;
	const struct perf_attr_disk *attr; ///< n_attrs
	const struct perf_section *ids;	   ///< n_attrs: where in id[], in bytes
	const uint64_t *id;
	size_t n_attrs;
	const uint8_t *build_ids; ///< records
	size_t build_id_bytes;
	const struct perf_index_entry *index;
	size_t n_index;
	uint64_t first_ns, last_ns;
};

/** Write the features at @p at of @p fd. @p bitmap and @p end (behind them) are set. */
struct err *perf_features_write(int fd, uint64_t at, const struct perf_features *f,
				uint64_t bitmap[4], uint64_t *end);

#endif
