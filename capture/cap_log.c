// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Writing events.flt: records gather in a buffer; a full buffer becomes a zstd frame.
 * A frame reaches the file whole or not at all: when a write fails (a full disk), the
 * file is cut back to the end of the frame before.
 */
#define LOG_ROOM "capture"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "capture/cap_format.h"

struct cap_log {
	int fd;
	uint64_t end;	    ///< file size: behind the last whole frame
	uint64_t n_events;  ///< appended so far
	uint64_t first_seq; ///< events before the frame being filled
	uint8_t *raw;	    ///< CAP_FRAME_MAX bytes
	size_t raw_bytes;
	uint8_t *packed;
	size_t packed_max;
	ZSTD_CCtx *zstd;
	bool has_failed; ///< the log ends here: nothing more may follow a lost frame
};

struct err *cap_write_all(int fd, const void *buf, size_t size, const char *what)
{
	const uint8_t *p = buf;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno("cannot write %s", what);
		p += n;
		size -= n;
	}
	return NULL;
}

static void log_destroyp(struct cap_log **l)
{
	cap_log_destroy(*l);
}

struct err *cap_log_create(int fd, struct cap_log **ret)
{
	_cleanup_(log_destroyp) struct cap_log *l = calloc(1, sizeof(*l));
	struct cap_log_head head = { .magic = CAP_LOG_MAGIC,
				     .version = CAP_LOG_VERSION,
				     .byte_order = CAP_LOG_BYTE_ORDER };
	struct err *err;

	if (!l) {
		close(fd);
		return &err_nomem;
	}
	l->fd = fd;
	l->packed_max = ZSTD_compressBound(CAP_FRAME_MAX);
	l->raw = malloc(CAP_FRAME_MAX);
	l->packed = malloc(sizeof(struct cap_frame_head) + l->packed_max);
	l->zstd = ZSTD_createCCtx();
	if (!l->raw || !l->packed || !l->zstd)
		return &err_nomem;
	ZSTD_CCtx_setParameter(l->zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(l->zstd, ZSTD_c_checksumFlag, 1);
	err = cap_write_all(fd, &head, sizeof(head), "the event log");
	if (err)
		return err;
	l->end = sizeof(head);
	*ret = take_ptr(&l);
	return NULL;
}

void cap_log_destroy(struct cap_log *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	ZSTD_freeCCtx(l->zstd);
	free(l->raw);
	free(l->packed);
	free(l);
}

static struct err *flush_frame(struct cap_log *l)
{
	struct cap_frame_head head;
	struct err *err;
	size_t n;

	if (!l->raw_bytes)
		return NULL;
	n = ZSTD_compress2(l->zstd, l->packed + sizeof(head), l->packed_max, l->raw,
			   l->raw_bytes);
	if (ZSTD_isError(n))
		return err_new(ERR_NOMEM, "cannot pack the event log: %s",
			       ZSTD_getErrorName(n));
	head = (struct cap_frame_head){ .packed_bytes = n,
					.raw_bytes = l->raw_bytes,
					.first_seq = l->first_seq };
	memcpy(l->packed, &head, sizeof(head));
	err = cap_write_all(l->fd, l->packed, sizeof(head) + n, "the event log");
	if (err) {
		l->has_failed = true;
		if (ftruncate(l->fd, l->end) || lseek(l->fd, l->end, SEEK_SET) < 0)
			log_warn("cannot cut the event log back to its last whole frame");
		return err;
	}
	l->end += sizeof(head) + n;
	l->raw_bytes = 0;
	l->first_seq = l->n_events;
	return NULL;
}

/** Room for @p bytes more in the frame, which may have to be closed for that. */
static struct err *reserve(struct cap_log *l, size_t bytes)
{
	assert(bytes <= CAP_FRAME_MAX);
	if (l->raw_bytes && l->raw_bytes + bytes > CAP_FRAME_TARGET)
		return flush_frame(l);
	return NULL;
}

static void put(struct cap_log *l, const void *data, size_t bytes)
{
	static const uint8_t zeros[8];
	size_t pad = cap_pad8(bytes) - bytes;

	assert(l->raw_bytes + bytes + pad <= CAP_FRAME_MAX);
	if (bytes)
		memcpy(l->raw + l->raw_bytes, data, bytes);
	memcpy(l->raw + l->raw_bytes + bytes, zeros, pad);
	l->raw_bytes += bytes + pad;
}

static void put_write(struct cap_log *l, uint64_t addr, const void *data, uint64_t size)
{
	struct cap_rec_write w = { .addr = addr, .size = size };

	put(l, &w, sizeof(w));
	put(l, data, size);
}

/** The writes of @p ev as part records of at most CAP_PART_MAX bytes. */
static struct err *put_parts(struct cap_log *l, const struct cap_event *ev)
{
	for (size_t i = 0; i < ev->n_writes; i++) {
		const struct cap_write *w = &ev->writes[i];

		for (uint64_t done = 0; done < w->size;) {
			uint64_t n = w->size - done;
			struct cap_rec rec = { .kind = CAP_REC_PART,
					       .tid = ev->tid,
					       .n_writes = 1,
					       .at_ns = ev->at_ns };
			struct err *err;

			if (n > CAP_PART_MAX)
				n = CAP_PART_MAX;
			rec.bytes =
				sizeof(rec) + sizeof(struct cap_rec_write) + cap_pad8(n);
			err = reserve(l, rec.bytes);
			if (err)
				return err;
			put(l, &rec, sizeof(rec));
			put_write(l, w->addr + done, w->data + done, n);
			done += n;
		}
	}
	return NULL;
}

/** The body of @p ev's kind, in @p body. @return its bytes. */
static size_t make_body(const struct cap_event *ev, void *body)
{
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		*(struct cap_body_syscall *)body =
			(struct cap_body_syscall){ ev->regs, ev->ret, ev->flags, ev->file,
						   ev->file_offset };
		return sizeof(struct cap_body_syscall);
	case CAP_EV_SIGNAL: {
		struct cap_body_signal *b = body;

		b->regs = ev->regs;
		b->signo = ev->signo;
		b->is_fatal = ev->is_fatal;
		memcpy(b->siginfo, ev->siginfo, sizeof(b->siginfo));
		b->signature = ev->signature;
		return sizeof(*b);
	}
	case CAP_EV_TSC:
		*(struct cap_body_tsc *)body = (struct cap_body_tsc){ ev->regs, ev->tsc,
								      ev->tsc_aux,
								      ev->is_rdtscp };
		return sizeof(struct cap_body_tsc);
	case CAP_EV_CPUID:
		*(struct cap_body_cpuid *)body = (struct cap_body_cpuid){
			ev->regs,
			ev->leaf,
			ev->subleaf,
			{ ev->cpuid[0], ev->cpuid[1], ev->cpuid[2], ev->cpuid[3] }
		};
		return sizeof(struct cap_body_cpuid);
	case CAP_EV_RANDOM:
		*(struct cap_body_random *)body = (struct cap_body_random){ ev->regs };
		return sizeof(struct cap_body_random);
	case CAP_EV_HEAP:
	case CAP_EV_HEAP_DONE:
		*(struct cap_body_heap *)body = (struct cap_body_heap){
			ev->heap_fn,
			{ ev->heap_args[0], ev->heap_args[1], ev->heap_args[2] }
		};
		return sizeof(struct cap_body_heap);
	case CAP_EV_PROBE:
		*(struct cap_body_probe *)body =
			(struct cap_body_probe){ ev->regs.rip, ev->probe_site,
						 ev->probe_gprs };
		return sizeof(struct cap_body_probe);
	case CAP_EV_EXIT:
		*(struct cap_body_exit *)body =
			(struct cap_body_exit){ ev->regs, ev->exit_code };
		return sizeof(struct cap_body_exit);
	case CAP_EV_GAP:
		*(struct cap_body_gap *)body =
			(struct cap_body_gap){ strnlen(ev->text ?: "", CAP_PART_MAX) };
		return sizeof(struct cap_body_gap);
	case CAP_EV_SWITCH:
		*(struct cap_body_switch *)body =
			(struct cap_body_switch){ ev->regs, ev->signature, ev->next_tid,
						  ev->switch_flags };
		return sizeof(struct cap_body_switch);
	case CAP_EV_OMITTED:
		*(struct cap_body_omitted *)body =
			(struct cap_body_omitted){ ev->regs,	  ev->position,
						   ev->n_steps,	  ev->n_values,
						   ev->kept_gprs, ev->kept_flags };
		return sizeof(struct cap_body_omitted);
	case CAP_EV_SHARED:
		*(struct cap_body_shared *)body =
			(struct cap_body_shared){ ev->shared.start, ev->shared.size,
						  ev->shared.key, ev->shared.offset };
		return sizeof(struct cap_body_shared);
	case CAP_EV_KINDS:
		break;
	}
	assert(!"an event kind that the log knows");
	return 0;
}

/** The registers behind a PROBE's body. */
static void put_gprs(struct cap_log *l, const struct cap_event *ev)
{
	for (int r = 0; r < CAP_GPRS; r++)
		if (ev->probe_gprs >> r & 1)
			put(l, &ev->regs.gpr[r], 8);
}

static void put_values(struct cap_log *l, const struct cap_event *ev)
{
	for (size_t i = 0; i < ev->n_values; i++) {
		struct cap_rec_value v = { ev->values[i].reg, ev->values[i].size };

		put(l, &v, sizeof(v));
		put(l, ev->values[i].data, v.size);
	}
}

struct err *cap_log_append(struct cap_log *l, const struct cap_event *ev)
{
	union {
		struct cap_body_signal largest;
		uint8_t bytes[1];
	} body;
	struct cap_rec rec = { .kind = ev->kind,
			       .tid = ev->tid,
			       .at_ns = ev->at_ns,
			       .has = ev->has_after ? CAP_REC_AFTER : 0 };
	size_t body_bytes = make_body(ev, &body), text_bytes = 0, more_bytes = 0,
	       memory = 0;
	struct err *err;

	if (l->has_failed)
		return err_new(ERR_OS,
			       "the event log has ended: an earlier write failed");
	for (size_t i = 0; i < ev->n_writes; i++)
		memory += sizeof(struct cap_rec_write) + cap_pad8(ev->writes[i].size);
	if (memory > CAP_PART_MAX) {
		err = put_parts(l, ev);
		if (err)
			return err;
		memory = 0;
	} else {
		rec.n_writes = ev->n_writes;
	}
	if (ev->kind == CAP_EV_GAP)
		text_bytes = strnlen(ev->text ?: "", CAP_PART_MAX);
	if (ev->kind == CAP_EV_PROBE)
		more_bytes = 8 * __builtin_popcount(ev->probe_gprs);
	for (size_t i = 0; i < ev->n_values; i++)
		more_bytes += sizeof(struct cap_rec_value) + cap_pad8(ev->values[i].size);
	rec.bytes = sizeof(rec) + body_bytes + cap_pad8(text_bytes) + more_bytes +
		    (ev->has_after ? sizeof(ev->after) : 0) + memory;
	err = reserve(l, rec.bytes);
	if (err)
		return err;
	put(l, &rec, sizeof(rec));
	put(l, &body, body_bytes);
	put(l, ev->text, text_bytes);
	if (ev->kind == CAP_EV_PROBE)
		put_gprs(l, ev);
	put_values(l, ev);
	if (ev->has_after)
		put(l, &ev->after, sizeof(ev->after));
	for (size_t i = 0; i < rec.n_writes; i++)
		put_write(l, ev->writes[i].addr, ev->writes[i].data, ev->writes[i].size);
	l->n_events++;
	return NULL;
}

struct err *cap_log_flush(struct cap_log *l)
{
	return l->has_failed ? NULL : flush_frame(l);
}

struct err *cap_log_finish(struct cap_log *l, uint64_t *bytes)
{
	struct err *err = NULL;

	if (!l->has_failed)
		err = flush_frame(l);
	*bytes = l->end;
	if (close(take_fd(&l->fd)) && !err)
		err = err_errno("cannot write the event log");
	return err;
}
