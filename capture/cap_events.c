// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading events.flt, or joined.flt in its place. Every size, kind and count is checked before it is used; a frame
 * is unpacked whole, so its checksum has been verified before one event of it is seen.
 * Errors name the byte of the file where the frame with the fault begins.
 */
#define LOG_ROOM "capture"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "capture/cap_format.h"

#define PART_ROOM (1u << 20) ///< of address space for parts, at first

struct cap_events {
	char name[64]; ///< of the file
	int fd;
	uint64_t offset, size; ///< next frame; bytes in the file
	uint64_t frame_start;  ///< where the current frame began
	uint64_t frame_seq;    ///< of its first event
	uint64_t seq;	       ///< of the next event
	uint64_t least,
		most; ///< events, as the manifest promises; 0, UINT64_MAX: unknown
	uint64_t record_bytes; ///< of all records so far, memory aside
	ZSTD_DCtx *zstd;
	uint8_t *packed;
	uint8_t *raw; ///< CAP_FRAME_MAX bytes
	size_t raw_bytes, raw_pos;
	/** Memory that came in part records, part_room bytes of address space: as little as
	 * will do, for where the machine reads the guest wants its own addresses. Behind
	 * part_used, which any event has used, it is untouched: zeros that come there take
	 * no memory. */
	uint8_t *part_data;
	size_t part_room, part_bytes, part_used;
	uint64_t part_full; ///< bytes of this event that take memory
	VEC(struct cap_write) writes;
	VEC(struct cap_value) values;
	bool has_parts;
	char *text;
};

struct err *cap_read_at(int fd, uint64_t offset, void *buf, size_t size, const char *what)
{
	uint8_t *p = buf;

	while (size) {
		ssize_t n = pread(fd, p, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno("cannot read %s", what);
		if (!n)
			return err_new(ERR_TRUNCATED, "%s breaks off at byte %llu", what,
				       (unsigned long long)offset);
		p += n;
		offset += n;
		size -= n;
	}
	return NULL;
}

static void events_closep(struct cap_events **it)
{
	cap_events_close(*it);
}

static struct err *check_head(const struct cap_log_head *head, const char *name)
{
	if (memcmp(head->magic, CAP_LOG_MAGIC, sizeof(head->magic)))
		return err_new(ERR_FORMAT, "%s is not a faultline event log", name);
	if (head->byte_order != CAP_LOG_BYTE_ORDER)
		return err_new(ERR_FORMAT, "%s has a foreign byte order", name);
	if (head->version > CAP_LOG_VERSION)
		return err_new(ERR_VERSION,
			       "%s has version %u, this faultline reads up to %u", name,
			       head->version, CAP_LOG_VERSION);
	if (head->version < CAP_LOG_VERSION_MIN)
		return err_new(ERR_FORMAT,
			       "%s has version %u, which faultline no longer reads "
			       "(record again)",
			       name, head->version);
	return NULL;
}

void cap_events_rewind(struct cap_events *it)
{
	it->offset = sizeof(struct cap_log_head);
	it->seq = it->record_bytes = 0;
	it->raw_bytes = it->raw_pos = 0;
	it->part_bytes = 0;
	it->has_parts = false;
}

struct err *cap_events_open(const struct capture *c, struct cap_events **ret)
{
	// What was joined may say in a gap more what could not be.
	bool is_joined = c->info.is_joint && capture_is_joined(c);
	struct err *err =
		cap_events_open_log(c, is_joined ? CAP_JOINED : "events.flt", ret);

	if (!err && c->has_manifest) {
		(*ret)->least = c->info.n_events;
		(*ret)->most = is_joined ? UINT64_MAX : c->info.n_events;
	}
	return err;
}

struct err *cap_events_open_log(const struct capture *c, const char *name,
				struct cap_events **ret)
{
	_cleanup_(events_closep) struct cap_events *it = calloc(1, sizeof(*it));
	struct cap_log_head head;
	struct err *err;

	if (!it)
		return &err_nomem;
	it->fd = -1;
	it->most = UINT64_MAX;
	snprintf(it->name, sizeof(it->name), "%s", name);
	err = cap_input(c, name, &it->fd, &it->size);
	if (!err)
		err = cap_read_at(it->fd, 0, &head, sizeof(head), name);
	if (!err)
		err = check_head(&head, name);
	if (err)
		return err;
	cap_events_rewind(it);
	it->raw = malloc(CAP_FRAME_MAX);
	it->packed = malloc(ZSTD_compressBound(CAP_FRAME_MAX));
	it->zstd = ZSTD_createDCtx();
	if (!it->raw || !it->packed || !it->zstd)
		return &err_nomem;
	*ret = take_ptr(&it);
	return NULL;
}

void cap_events_close(struct cap_events *it)
{
	if (!it)
		return;
	if (it->fd >= 0)
		close(it->fd);
	ZSTD_freeDCtx(it->zstd);
	if (it->part_data)
		munmap(it->part_data, it->part_room);
	vec_deinit(&it->writes);
	vec_deinit(&it->values);
	free(it->text);
	free(it->packed);
	free(it->raw);
	free(it);
}

static struct err *damaged(const struct cap_events *it, const char *why)
{
	return err_new(ERR_FORMAT, "%s is damaged in the frame at byte %llu: %s",
		       it->name, (unsigned long long)it->frame_start, why);
}

static struct err *read_frame(struct cap_events *it)
{
	struct cap_frame_head head;
	struct err *err;
	size_t n;

	it->frame_start = it->offset;
	it->frame_seq = it->seq;
	err = cap_read_at(it->fd, it->offset, &head, sizeof(head), it->name);
	if (err)
		return err;
	if (!head.raw_bytes || head.raw_bytes > CAP_FRAME_MAX || head.raw_bytes % 8)
		return damaged(it, "unpacked size out of range");
	if (!head.packed_bytes || head.packed_bytes > ZSTD_compressBound(CAP_FRAME_MAX))
		return damaged(it, "packed size out of range");
	if (head.first_seq != it->seq)
		return damaged(it, "events are missing before it");
	err = cap_read_at(it->fd, it->offset + sizeof(head), it->packed,
			  head.packed_bytes, it->name);
	if (err)
		return err;
	n = ZSTD_decompressDCtx(it->zstd, it->raw, CAP_FRAME_MAX, it->packed,
				head.packed_bytes);
	if (ZSTD_isError(n))
		return damaged(it, ZSTD_getErrorName(n));
	if (n != head.raw_bytes)
		return damaged(it, "unpacked size differs");
	it->offset += sizeof(head) + head.packed_bytes;
	it->raw_bytes = n;
	it->raw_pos = 0;
	return NULL;
}

/** Whole pages of @p data, which reads as zeros then. */
static void forget_pages(uint8_t *data, size_t bytes)
{
	uintptr_t from = ((uintptr_t)data + 4095) & ~4095ul;
	uintptr_t to = ((uintptr_t)data + bytes) & ~4095ul;

	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

struct cap_events_memory cap_events_memory(const struct cap_events *it)
{
	return (struct cap_events_memory){
		.read = it->packed,
		.read_bytes = ZSTD_compressBound(CAP_FRAME_MAX),
		.parts = it->part_data,
		.parts_bytes = it->part_room,
	};
}

void cap_events_rest(struct cap_events *it)
{
	forget_pages(it->raw, CAP_FRAME_MAX);
	forget_pages(it->packed, ZSTD_compressBound(CAP_FRAME_MAX));
}

struct err *cap_events_wake(struct cap_events *it)
{
	size_t bytes = it->raw_bytes, pos = it->raw_pos;
	uint64_t seq = it->seq;
	struct err *err = NULL;

	if (bytes) {
		it->offset = it->frame_start;
		it->seq = it->frame_seq;
		err = read_frame(it);
	}
	if (!err && it->raw_bytes != bytes)
		err = damaged(it, "it was another one before");
	it->raw_pos = pos;
	it->seq = seq;
	return err;
}

/** A bounded walk over the bytes of one record. */
struct cursor {
	const uint8_t *p, *end;
};

static bool take(struct cursor *c, void *to, size_t bytes)
{
	if ((size_t)(c->end - c->p) < cap_pad8(bytes))
		return false;
	memcpy(to, c->p, bytes);
	c->p += cap_pad8(bytes);
	return true;
}

#define TAKE_BODY(c, type, b)          \
	type b;                        \
	if (!take((c), &b, sizeof(b))) \
	return false

static bool take_text(struct cap_events *it, struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_gap, b);

	if (b.text_bytes > CAP_PART_MAX || (size_t)(c->end - c->p) < b.text_bytes)
		return false;
	free(it->text);
	it->text = strndup((const char *)c->p, b.text_bytes);
	ev->text = it->text ?: "";
	c->p += cap_pad8(b.text_bytes);
	return c->p <= c->end;
}

static bool take_syscall(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_syscall, b);

	ev->regs = b.regs;
	ev->ret = b.ret;
	ev->flags = b.flags;
	ev->file = b.file;
	ev->file_offset = b.file_offset;
	return true;
}

static bool take_signal(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_signal, b);

	ev->regs = b.regs;
	ev->signo = b.signo;
	ev->is_fatal = b.is_fatal;
	memcpy(ev->siginfo, b.siginfo, sizeof(ev->siginfo));
	ev->signature = b.signature;
	return true;
}

static bool take_tsc(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_tsc, b);

	ev->regs = b.regs;
	ev->tsc = b.tsc;
	ev->tsc_aux = b.tsc_aux;
	ev->is_rdtscp = b.is_rdtscp;
	return true;
}

static bool take_cpuid(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_cpuid, b);

	ev->regs = b.regs;
	ev->leaf = b.leaf;
	ev->subleaf = b.subleaf;
	memcpy(ev->cpuid, b.cpuid, sizeof(ev->cpuid));
	return true;
}

static bool take_random(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_random, b);

	ev->regs = b.regs;
	return true;
}

static bool take_heap(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_heap, b);

	if (b.heap_fn >= CAP_HEAP_FNS)
		return false;
	ev->heap_fn = b.heap_fn;
	memcpy(ev->heap_args, b.heap_args, sizeof(ev->heap_args));
	return true;
}

static bool take_probe(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_probe, b);

	if (b.gprs >> CAP_GPRS)
		return false;
	ev->regs.rip = b.rip;
	ev->probe_site = b.site;
	ev->probe_gprs = b.gprs;
	for (int r = 0; r < CAP_GPRS; r++)
		if (b.gprs >> r & 1 && !take(c, &ev->regs.gpr[r], 8))
			return false;
	return true;
}

static bool take_exit(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_exit, b);

	ev->regs = b.regs;
	ev->exit_code = b.exit_code;
	return true;
}

static bool take_switch(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_switch, b);

	ev->regs = b.regs;
	ev->signature = b.signature;
	ev->next_tid = b.next_tid;
	ev->switch_flags = b.flags;
	return b.signature.stack_bytes <= CAP_SIGNATURE_STACK;
}

static bool take_shared(struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_shared, b);

	ev->shared.start = b.start;
	ev->shared.size = b.size;
	ev->shared.key = b.key;
	ev->shared.offset = b.offset;
	return !(b.start % 4096) && !(b.offset % 4096) && b.start + b.size >= b.start &&
	       b.offset + b.size >= b.offset;
}

static bool take_omitted(struct cap_events *it, struct cursor *c, struct cap_event *ev)
{
	TAKE_BODY(c, struct cap_body_omitted, b);

	ev->regs = b.regs;
	ev->position = b.position;
	ev->n_steps = b.n_steps;
	ev->kept_gprs = b.kept_gprs;
	ev->kept_flags = b.kept_flags;
	for (uint32_t i = 0; i < b.n_values; i++) {
		struct cap_rec_value head;
		struct cap_value v;

		if (!take(c, &head, sizeof(head)) || head.size > CAP_VALUE_MAX ||
		    (size_t)(c->end - c->p) < cap_pad8(head.size))
			return false;
		v = (struct cap_value){ head.reg, head.size, c->p };
		c->p += cap_pad8(head.size);
		if (vec_add(&it->values, v))
			return false;
	}
	ev->values = it->values.data;
	ev->n_values = it->values.size;
	return true;
}

static bool take_body(struct cap_events *it, struct cursor *c, struct cap_event *ev)
{
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		return take_syscall(c, ev);
	case CAP_EV_SIGNAL:
		return take_signal(c, ev);
	case CAP_EV_TSC:
		return take_tsc(c, ev);
	case CAP_EV_CPUID:
		return take_cpuid(c, ev);
	case CAP_EV_RANDOM:
		return take_random(c, ev);
	case CAP_EV_HEAP:
	case CAP_EV_HEAP_DONE:
		return take_heap(c, ev);
	case CAP_EV_PROBE:
		return take_probe(c, ev);
	case CAP_EV_EXIT:
		return take_exit(c, ev);
	case CAP_EV_GAP:
		return take_text(it, c, ev);
	case CAP_EV_SWITCH:
		return take_switch(c, ev);
	case CAP_EV_OMITTED:
		return take_omitted(it, c, ev);
	case CAP_EV_SHARED:
		return take_shared(c, ev);
	case CAP_EV_KINDS:
		break;
	}
	return false;
}

/** Next write of a record; its data stays in the frame. */
static bool take_write(struct cursor *c, struct cap_write *w)
{
	struct cap_rec_write head;

	if (!take(c, &head, sizeof(head)))
		return false;
	if (head.size > CAP_PART_MAX || head.addr + head.size < head.addr ||
	    (size_t)(c->end - c->p) < cap_pad8(head.size))
		return false;
	*w = (struct cap_write){ .addr = head.addr, .size = head.size, .data = c->p };
	c->p += cap_pad8(head.size);
	return true;
}

/** How much may be made of the bytes of the file so far. */
static uint64_t budget(const struct cap_events *it)
{
	return CAP_RECORDS_FREE + it->offset * CAP_RECORDS_RATIO;
}

/** Have room for @p bytes of parts. The old is not moved but copied: a branch may have kept pages of
 * it, which are mappings of their own then. */
static struct err *part_reserve(struct cap_events *it, size_t bytes)
{
	size_t room = it->part_room ?: PART_ROOM;
	uint8_t *old = it->part_data, *p;

	if (bytes <= it->part_room)
		return NULL;
	while (room < bytes)
		room *= 2;
	p = mmap(NULL, room, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return &err_nomem;
	if (it->part_used > it->part_bytes)
		it->part_used = it->part_bytes;
	if (old) {
		memcpy(p, old, it->part_used);
		munmap(old, it->part_room);
	}
	for (size_t i = 0; i < it->writes.size; i++)
		it->writes.data[i].data = p + (it->writes.data[i].data - old);
	it->part_data = p;
	it->part_room = room;
	return NULL;
}

/** Copy @p n bytes behind what the event has in part_data. */
static struct err *put_part(struct cap_events *it, const uint8_t *data, size_t n)
{
	uint8_t *to;
	bool is_zero = !data[0] && !memcmp(data, data + 1, n - 1);
	struct err *err;

	if (n > CAP_EVENT_MAX - it->part_bytes)
		return damaged(it, "more memory than a system call can write");
	err = part_reserve(it, it->part_bytes + n);
	if (err)
		return err;
	to = it->part_data + it->part_bytes;
	it->part_bytes += n;
	if (is_zero && it->part_bytes - n >= it->part_used)
		return NULL;
	it->part_full += n;
	if (it->part_full > budget(it))
		return damaged(it, "an event's memory takes more than 256 times the "
				   "bytes of the file");
	memcpy(to, data, n);
	if (it->part_used < it->part_bytes)
		it->part_used = it->part_bytes;
	return NULL;
}

/** Keep the memory of a part record; pieces that touch become one write again. */
static struct err *add_part(struct cap_events *it, const struct cap_write *part)
{
	struct cap_write *last = it->writes.size ? &it->writes.data[it->writes.size - 1] :
						   NULL;
	size_t at = it->part_bytes;
	struct err *err;

	if (!part->size)
		return NULL;
	it->record_bytes -= cap_pad8(part->size);
	err = put_part(it, part->data, part->size);
	if (err)
		return err;
	if (last && last->addr + last->size == part->addr) {
		last->size += part->size;
		return NULL;
	}
	last = vec_push(&it->writes);
	if (!last)
		return &err_nomem;
	*last = (struct cap_write){ .addr = part->addr,
				    .size = part->size,
				    .data = it->part_data + at };
	return NULL;
}

static struct err *read_writes(struct cap_events *it, const struct cap_rec *rec,
			       struct cursor *c)
{
	if (it->has_parts)
		return rec->n_writes ? damaged(it, "parts and writes mixed") : NULL;
	for (uint32_t i = 0; i < rec->n_writes; i++) {
		struct cap_write w, *slot;

		if (!take_write(c, &w))
			return damaged(it, "a write leaves its record");
		slot = vec_push(&it->writes);
		if (!slot)
			return &err_nomem;
		*slot = w;
		it->record_bytes -= cap_pad8(w.size);
	}
	return NULL;
}

static struct err *next_record(struct cap_events *it, struct cap_rec *rec,
			       struct cursor *c)
{
	size_t left;

	if (it->raw_pos == it->raw_bytes) {
		struct err *err = read_frame(it);

		if (err)
			return err;
	}
	left = it->raw_bytes - it->raw_pos;
	c->p = it->raw + it->raw_pos;
	c->end = c->p + left;
	if (!take(c, rec, sizeof(*rec)))
		return damaged(it, "a record breaks off");
	if (rec->bytes < sizeof(*rec) || rec->bytes % 8 || rec->bytes > left)
		return damaged(it, "record size out of range");
	if (rec->has & ~CAP_REC_ALL)
		return damaged(it, "unknown record contents");
	c->end = it->raw + it->raw_pos + rec->bytes;
	it->raw_pos += rec->bytes;
	it->record_bytes += rec->bytes;
	return NULL;
}

/** It is easy to pack a hundred gigabytes of events into a few megabytes. */
static struct err *check_budget(const struct cap_events *it)
{
	if (it->record_bytes > budget(it))
		return damaged(it, "its events take more than 256 times the bytes of the "
				   "file");
	if (it->seq >= it->most)
		return damaged(it, "more events than the manifest says");
	return NULL;
}

static struct err *read_event(struct cap_events *it, const struct cap_rec *rec,
			      struct cursor *c, struct cap_event *ev)
{
	struct err *err;

	*ev = (struct cap_event){
		.kind = rec->kind, .tid = rec->tid, .at_ns = rec->at_ns, .seq = it->seq
	};
	if (!take_body(it, c, ev))
		return damaged(it, "unknown or short event");
	if (rec->has & CAP_REC_AFTER) {
		if (!take(c, &ev->after, sizeof(ev->after)))
			return damaged(it, "short event");
		ev->has_after = true;
	}
	err = read_writes(it, rec, c);
	if (err)
		return err;
	if (c->p != c->end)
		return damaged(it, "bytes left over behind an event");
	ev->writes = it->writes.data;
	ev->n_writes = it->writes.size;
	it->seq++;
	return NULL;
}

/** Nothing is left: is that where the log should end? */
static struct err *check_end(const struct cap_events *it)
{
	if (it->has_parts || it->seq < it->least)
		return err_new(ERR_TRUNCATED,
			       "%s breaks off at byte %llu after %llu events", it->name,
			       (unsigned long long)it->offset,
			       (unsigned long long)it->seq);
	return NULL;
}

struct err *cap_events_next(struct cap_events *it, struct cap_event *ev, bool *is_end)
{
	struct cap_rec rec;
	struct cursor c;
	struct err *err;

	it->writes.size = it->values.size = it->part_bytes = it->part_full = 0;
	it->has_parts = false;
	*is_end = false;
	for (;;) {
		struct cap_write part;

		if (it->raw_pos == it->raw_bytes && it->offset >= it->size) {
			*is_end = true;
			return check_end(it);
		}
		err = next_record(it, &rec, &c);
		if (err)
			return err;
		if (rec.kind != CAP_REC_PART)
			return check_budget(it) ?: read_event(it, &rec, &c, ev);
		if (rec.n_writes != 1 || !take_write(&c, &part) || c.p != c.end)
			return damaged(it, "bad part record");
		err = add_part(it, &part) ?: check_budget(it);
		if (err)
			return err;
		it->has_parts = true;
	}
}

struct err *cap_events_each(const struct capture *c,
			    struct err *(*fn)(void *ctx, const struct cap_event *ev),
			    void *ctx)
{
	struct cap_events *it = NULL;
	struct err *err = cap_events_open(c, &it);
	bool is_end = false;
	struct cap_event ev;

	while (!err) {
		err = cap_events_next(it, &ev, &is_end);
		if (err || is_end)
			break;
		err = fn(ctx, &ev);
	}
	cap_events_close(it);
	return err;
}

struct err *cap_events_readable(const struct capture *c,
				struct err *(*fn)(void *ctx, const struct cap_event *ev),
				void *ctx)
{
	struct err *err = cap_events_each(c, fn, ctx);

	if (!err || (err->code != ERR_TRUNCATED && err->code != ERR_FORMAT))
		return err;
	err_destroy(err);
	return NULL;
}
