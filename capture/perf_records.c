// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One record taken apart. A record of the kernel's is: head, the fixed fields of its type,
 * perhaps a text, and at its very end the sample id, whose fields the event's sample_type
 * tells. A sample has its fields in front instead.
 */
#include <string.h>

#include "capture/perf_format.h"

/* A record that is being read: from `at` to `end`, the sample id not among it. */
struct span {
	const uint8_t *at;
	const uint8_t *end;
};

#define TOO_SHORT "a record is too short for its kind"
#define NO_END "a text in a record has no end"

/* Copy the first @p n bytes of the record. */
static bool take(struct span *s, void *ret, size_t n)
{
	if ((size_t)(s->end - s->at) < n)
		return false;
	memcpy(ret, s->at, n);
	s->at += n;
	return true;
}

/* The rest as a text. @return NULL: it has no end. */
static const char *take_text(struct span *s)
{
	const char *text = (const char *)s->at;

	if (!memchr(s->at, '\0', s->end - s->at))
		return NULL;
	s->at = s->end;
	return text;
}

/* Bytes of the sample id behind a record of an event with @p sample_type. */
static size_t sample_id_bytes(uint64_t sample_type)
{
	return 8 * __builtin_popcountll(sample_type &
					(PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER));
}

static uint64_t take_u64(struct span *s)
{
	uint64_t v = 0;

	take(s, &v, sizeof(v));
	return v;
}

/* The fields that samples and sample ids share, in their order. */
static void take_ids(struct span *s, uint64_t type, uint64_t *addr, uint64_t *period,
		     struct perf_record *r)
{
	uint64_t v;

	if (type & PERF_SAMPLE_TID) {
		v = take_u64(s);
		r->pid = v;
		r->tid = v >> 32;
	}
	if (type & PERF_SAMPLE_TIME)
		r->time_ns = take_u64(s);
	if (addr && (type & PERF_SAMPLE_ADDR))
		*addr = take_u64(s);
	if (type & PERF_SAMPLE_ID)
		r->id = take_u64(s);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(s);
	if (type & PERF_SAMPLE_CPU)
		r->cpu = take_u64(s);
	if (period && (type & PERF_SAMPLE_PERIOD))
		*period = take_u64(s);
}

static const char *parse_sample(struct span *s, uint64_t type, struct perf_record *r)
{
	uint64_t fixed = type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
				 PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |
				 PERF_SAMPLE_IDENTIFIER);

	s->at += sizeof(struct perf_rec);
	if ((size_t)(s->end - s->at) < 8u * __builtin_popcountll(fixed))
		return TOO_SHORT;
	r->kind = PERF_SAMPLE;
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = take_u64(s);
	if (type & PERF_SAMPLE_IP)
		r->sample.ip = take_u64(s);
	take_ids(s, type, &r->sample.addr, &r->sample.period, r);
	r->sample.rest = s->at;
	r->sample.rest_bytes = s->end - s->at;
	return NULL;
}

static const char *parse_mmap(struct span *s, bool has_more, struct perf_record *r)
{
	struct perf_rec_mmap2 m = {};

	if (!take(s, &m, has_more ? sizeof(m) : sizeof(m.mmap)))
		return TOO_SHORT;
	r->kind = PERF_MMAP;
	r->mmap.pid = m.mmap.pid;
	r->mmap.tid = m.mmap.tid;
	r->mmap.addr = m.mmap.addr;
	r->mmap.bytes = m.mmap.bytes;
	r->mmap.file_offset = m.mmap.file_offset;
	r->mmap.path = text_name(take_text(s));
	// Records of the older kind are of code, unless they say "data".
	r->mmap.prot = has_more ? m.prot : m.mmap.head.misc & PERF_MISC_MMAP_DATA ? 1 : 5;
	r->mmap.flags = m.flags;
	if (!has_more)
		return r->mmap.path ? NULL : NO_END;
	if (m.mmap.head.misc & PERF_MISC_MMAP_BUILD_ID) {
		if (m.build_id_bytes > PERF_BUILD_ID_MAX)
			return "a build-id in a record is too long";
		r->mmap.build_id_bytes = m.build_id_bytes;
		memcpy(r->mmap.build_id, m.build_id, m.build_id_bytes);
	} else {
		r->mmap.major = m.major;
		r->mmap.minor = m.minor;
		r->mmap.inode = m.inode;
		r->mmap.generation = m.generation;
	}
	return r->mmap.path ? NULL : NO_END;
}

static const char *parse_comm(struct span *s, struct perf_record *r)
{
	struct perf_rec_comm c;

	if (!take(s, &c, sizeof(c)))
		return TOO_SHORT;
	r->kind = PERF_COMM;
	r->comm.pid = c.pid;
	r->comm.tid = c.tid;
	r->comm.is_exec = c.head.misc & PERF_MISC_COMM_EXEC;
	r->comm.name = text_name(take_text(s));
	return r->comm.name ? NULL : NO_END;
}

static const char *parse_task(struct span *s, enum perf_kind kind, struct perf_record *r)
{
	struct perf_rec_task t;

	if (!take(s, &t, sizeof(t)))
		return TOO_SHORT;
	r->kind = kind;
	r->task.pid = t.pid;
	r->task.tid = t.tid;
	r->task.parent_pid = t.parent_pid;
	r->task.parent_tid = t.parent_tid;
	r->task.time_ns = t.time_ns;
	return NULL;
}

static const char *parse_lost(struct span *s, struct perf_record *r)
{
	struct perf_rec_lost l;

	if (!take(s, &l, sizeof(l)))
		return TOO_SHORT;
	r->kind = PERF_LOST;
	r->lost.id = l.id;
	r->lost.n = l.n;
	return NULL;
}

static const char *parse_lost_samples(struct span *s, struct perf_record *r)
{
	struct perf_rec_lost_samples l;

	if (!take(s, &l, sizeof(l)))
		return TOO_SHORT;
	r->kind = PERF_LOST_SAMPLES;
	r->lost.id = r->id;
	r->lost.n = l.n;
	return NULL;
}

static const char *parse_aux(struct span *s, struct perf_record *r)
{
	struct perf_rec_aux a;

	if (!take(s, &a, sizeof(a)))
		return TOO_SHORT;
	r->kind = PERF_AUX;
	r->aux.offset = a.offset;
	r->aux.bytes = a.bytes;
	r->aux.flags = a.flags;
	return NULL;
}

static const char *parse_start(struct span *s, struct perf_record *r)
{
	struct perf_rec_ids i;

	if (!take(s, &i, sizeof(i)))
		return TOO_SHORT;
	r->kind = PERF_ITRACE_START;
	r->start.pid = i.pid;
	r->start.tid = i.tid;
	return NULL;
}

static const char *parse_switch(struct span *s, bool has_other, struct perf_record *r)
{
	struct perf_rec_ids i = {};

	if (!take(s, &i, has_other ? sizeof(i) : sizeof(i.head)))
		return TOO_SHORT;
	r->kind = PERF_SWITCH;
	r->change.is_out = i.head.misc & PERF_MISC_SWITCH_OUT;
	r->change.is_preempted = r->change.is_out &&
				 (i.head.misc & PERF_MISC_SWITCH_PREEMPTED);
	r->change.has_other = has_other;
	r->change.other_pid = i.pid;
	r->change.other_tid = i.tid;
	return NULL;
}

static const char *parse_piece(struct span *s, struct perf_record *r)
{
	struct perf_rec_auxtrace a;

	if (!take(s, &a, sizeof(a)))
		return TOO_SHORT;
	r->kind = PERF_AUXTRACE;
	r->piece = (struct perf_piece){ .stream = a.stream,
					.tid = a.tid,
					.cpu = a.cpu,
					.offset = a.offset,
					.bytes = a.bytes,
					.reference = a.reference };
	return NULL;
}

static const char *spec_parse_error(struct span *s, struct perf_record *r)
{
	struct perf_rec_error e = {};
	const char *message =
		(const char *)s->at + offsetof(struct perf_rec_error, message);

	// Older files have neither time nor all of the message.
	if (!take(s, &e, offsetof(struct perf_rec_error, time_ns)))
		return TOO_SHORT;
	r->kind = PERF_AUXTRACE_ERROR;
	r->error.type = e.type;
	r->error.code = e.code;
	r->error.cpu = e.cpu;
	r->error.pid = e.pid;
	r->error.tid = e.tid;
	r->error.ip = e.ip;
	r->error.message = "";
	if (!e.format || !take(s, &e.time_ns, sizeof(e.time_ns)))
		return NULL;
	r->error.time_ns = e.time_ns;
	if (!take_text(s))
		return NO_END;
	r->error.message = message;
	return NULL;
}

static const char *parse_clock(struct span *s, struct perf_record *r)
{
	struct perf_rec_clock c = {};

	if (!take(s, &c, offsetof(struct perf_rec_clock, more)))
		return TOO_SHORT;
	r->kind = PERF_TIME_CONV;
	c.more.has_zero = true;
	if ((size_t)(s->end - s->at) >= sizeof(c.more))
		take(s, &c.more, sizeof(c.more));
	if (c.shift >= 64 || c.mult > UINT32_MAX)
		return "the clock's conversion makes no sense";
	r->clock = (struct perf_clock){ .mult = c.mult,
					.shift = c.shift,
					.zero = c.zero,
					.is_known = c.more.has_zero && c.mult };
	return NULL;
}

static const char *parse_threads(struct span *s, struct perf_record *r)
{
	struct perf_rec_map m;

	if (!take(s, &m, sizeof(m)))
		return TOO_SHORT;
	if (m.n > (size_t)(s->end - s->at) / PERF_THREAD_ENTRY)
		return "a list of threads is longer than its record";
	r->kind = PERF_THREAD_MAP;
	r->map.n = m.n;
	r->map.entries = s->at;
	return NULL;
}

/* The records that perf itself makes. */
static const char *parse_user(struct span *s, uint32_t type, struct perf_record *r)
{
	switch (type) {
	case PERF_TYPE_FINISHED_ROUND:
		r->kind = PERF_ROUND;
		return NULL;
	case PERF_TYPE_FINISHED_INIT:
		r->kind = PERF_INIT;
		return NULL;
	case PERF_TYPE_AUXTRACE:
		return parse_piece(s, r);
	case PERF_TYPE_AUXTRACE_ERROR:
		return spec_parse_error(s, r);
	case PERF_TYPE_THREAD_MAP:
		return parse_threads(s, r);
	case PERF_TYPE_CPU_MAP:
		r->kind = PERF_CPU_MAP;
		return NULL;
	case PERF_TYPE_TIME_CONV:
		return parse_clock(s, r);
	default:
		r->kind = PERF_OTHER;
		return NULL;
	}
}

static const char *parse_kernel(struct span *s, uint32_t type, struct perf_record *r)
{
	switch (type) {
	case PERF_TYPE_MMAP:
	case PERF_TYPE_MMAP2:
		return parse_mmap(s, type == PERF_TYPE_MMAP2, r);
	case PERF_TYPE_COMM:
		return parse_comm(s, r);
	case PERF_TYPE_FORK:
		return parse_task(s, PERF_FORK, r);
	case PERF_TYPE_EXIT:
		return parse_task(s, PERF_EXIT, r);
	case PERF_TYPE_LOST:
		return parse_lost(s, r);
	case PERF_TYPE_LOST_SAMPLES:
		return parse_lost_samples(s, r);
	case PERF_TYPE_AUX:
		return parse_aux(s, r);
	case PERF_TYPE_ITRACE_START:
		return parse_start(s, r);
	case PERF_TYPE_SWITCH:
	case PERF_TYPE_SWITCH_CPU_WIDE:
		return parse_switch(s, type == PERF_TYPE_SWITCH_CPU_WIDE, r);
	default:
		r->kind = PERF_OTHER;
		return NULL;
	}
}

const char *perf_record_parse(const uint8_t *rec, size_t bytes, uint64_t sample_type,
			      bool has_id, struct perf_record *ret)
{
	struct span s = { rec, rec + bytes }, id;
	struct perf_rec head;

	*ret = (struct perf_record){ .pid = PERF_NONE,
				     .tid = PERF_NONE,
				     .cpu = PERF_NONE };
	if (bytes < sizeof(head))
		return TOO_SHORT;
	memcpy(&head, rec, sizeof(head));
	ret->type = head.type;
	ret->is_kernel = (head.misc & PERF_MISC_CPUMODE) == PERF_MISC_KERNEL;
	if (head.type >= PERF_TYPE_USER)
		return parse_user(&s, head.type, ret);
	if (head.type == PERF_TYPE_SAMPLE)
		return parse_sample(&s, sample_type, ret);
	if (has_id) {
		size_t n = sample_id_bytes(sample_type);

		if (bytes < sizeof(head) + n)
			return TOO_SHORT;
		id = (struct span){ s.end - n, s.end };
		s.end -= n;
		take_ids(&id, sample_type, NULL, NULL, ret);
		if (sample_type & PERF_SAMPLE_IDENTIFIER)
			ret->id = take_u64(&id);
	}
	return parse_kernel(&s, head.type, ret);
}

uint64_t perf_record_identifier(const uint8_t *rec, size_t bytes)
{
	struct perf_rec head;
	uint64_t id = 0;

	if (bytes < sizeof(head) + sizeof(id))
		return 0;
	memcpy(&head, rec, sizeof(head));
	memcpy(&id,
	       head.type == PERF_TYPE_SAMPLE ? rec + sizeof(head) :
					       rec + bytes - sizeof(id),
	       sizeof(id));
	return id;
}
