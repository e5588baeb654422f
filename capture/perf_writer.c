// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A file as it is written:
 *
 *   head | ids | attrs | AUXTRACE_INFO, CPU_MAP, TIME_CONV, records ... | features
 *
 * Records gather in a buffer. The head says how far the data goes: it is written anew by
 * each flush, so that what a killed recorder leaves is a file that ends early. The
 * features, which perf finds by the end of the data, come last.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/cap_format.h"
#include "capture/perf_writer_int.h"

/* ---- bytes ------------------------------------------------------------------------ */

static struct err *failed(struct perf_writer *w, struct err *err)
{
	w->has_failed = true;
	return err;
}

struct err *perf_write_at(struct perf_writer *w, const void *data, size_t n, uint64_t at)
{
	const uint8_t *p = data;

	while (n) {
		ssize_t done = pwrite(w->fd, p, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return failed(w, err_errno("cannot write '%s'", w->path));
		p += done;
		n -= done;
		at += done;
	}
	return NULL;
}

/* Bring the buffer to the file. */
static struct err *drain(struct perf_writer *w)
{
	struct err *err = perf_write_at(w, w->buffer, w->n_buffer, w->at);

	w->at += w->n_buffer;
	w->n_buffer = 0;
	return err;
}

struct err *perf_put(struct perf_writer *w, const void *data, size_t n)
{
	struct err *err = NULL;

	w->last.at = 0;
	if (w->has_failed)
		return err_new(ERR_OS, "'%s' has ended: an earlier write failed",
			       w->path);
	if (n > PERF_BUFFER_BYTES - w->n_buffer)
		err = drain(w);
	if (err)
		return err;
	if (n > PERF_BUFFER_BYTES) {
		err = perf_write_at(w, data, n, w->at);
		w->at += n;
		return err;
	}
	if (n)
		memcpy(w->buffer + w->n_buffer, data, n);
	w->n_buffer += n;
	return NULL;
}

/* ---- streams ------------------------------------------------------------------------ */

static struct err *begin_piece(struct perf_writer *w, const struct perf_piece *piece,
			       uint64_t offset, size_t n, struct perf_last *last)
{
	struct perf_rec_auxtrace a = {
		.head = { .type = PERF_TYPE_AUXTRACE, .size = sizeof(a) },
		.bytes = cap_pad8(n),
		.offset = offset,
		.reference = piece->reference ?: __builtin_ia32_rdtsc(),
		.stream = piece->stream,
		.tid = piece->tid,
		.cpu = piece->cpu,
	};
	struct perf_index_entry *entry = vec_push(&w->index);

	if (!entry)
		return &err_nomem;
	*last = (struct perf_last){ w->at + w->n_buffer, piece->stream, 0 };
	*entry = (struct perf_index_entry){ last->at, sizeof(a) };
	return perf_put(w, &a, sizeof(a));
}

/* The last piece gets @p n bytes more, over its padding. */
static struct err *extend_piece(struct perf_writer *w, size_t n,
				const struct perf_last *last)
{
	uint64_t at = last->at + offsetof(struct perf_rec_auxtrace, bytes);
	uint64_t bytes = cap_pad8(last->bytes + n);
	size_t pad = cap_pad8(last->bytes) - last->bytes;

	if (w->n_buffer >= pad) {
		w->n_buffer -= pad;
	} else {
		struct err *err = drain(w);

		if (err)
			return err;
		w->at -= pad;
	}
	if (at < w->at)
		return perf_write_at(w, &bytes, sizeof(bytes), at);
	memcpy(w->buffer + (at - w->at), &bytes, sizeof(bytes));
	return NULL;
}

struct err *perf_writer_stream(struct perf_writer *w, const struct perf_piece *piece,
			       const void *data, size_t n)
{
	static const uint8_t zeros[PERF_WORD];
	const uint64_t *known = map_get(&w->stream_of, piece->stream);
	uint64_t end = known ? *known : 0;
	uint64_t offset = piece->offset == UINT64_MAX ? end : piece->offset;
	struct perf_last last = w->last;
	struct err *err;

	if (last.at && last.stream == piece->stream && piece->offset == end)
		err = extend_piece(w, n, &last);
	else
		err = begin_piece(w, piece, offset, n, &last);
	last.bytes += n;
	if (!err && map_put(&w->stream_of, piece->stream, offset + n))
		err = &err_nomem;
	if (!err)
		err = perf_put(w, data, n);
	if (!err)
		err = perf_put(w, zeros, cap_pad8(last.bytes) - last.bytes);
	if (!err)
		w->last = last;
	return err;
}

/* ---- its life ------------------------------------------------------------------------ */

struct err *perf_writer_build_id(struct perf_writer *w, uint32_t pid, const char *path,
				 const uint8_t *build_id, size_t bytes)
{
	size_t path_bytes = cap_pad8(strlen(path) + 1);
	struct perf_rec_build_id b = {
		.head = { .type = PERF_TYPE_BUILD_ID,
			  .misc = PERF_MISC_USER | PERF_MISC_BUILD_ID_SIZE },
		.pid = pid,
		.bytes = bytes,
	};
	size_t at = w->build_ids.size;

	assert(bytes <= PERF_BUILD_ID_MAX);
	if (sizeof(b) + path_bytes > UINT16_MAX)
		return err_new(ERR_RANGE, "the path of a mapped file is too long");
	b.head.size = sizeof(b) + path_bytes;
	memcpy(b.build_id, build_id, bytes);
	if (vec_reserve(&w->build_ids, at + b.head.size))
		return &err_nomem;
	w->build_ids.size += b.head.size;
	memset(w->build_ids.data + at, 0, b.head.size);
	memcpy(w->build_ids.data + at, &b, sizeof(b));
	memcpy(w->build_ids.data + at + sizeof(b), path, strlen(path));
	return NULL;
}

struct err *perf_writer_flush(struct perf_writer *w)
{
	struct err *err = drain(w);

	// What the head says is there does not change any more.
	w->last.at = 0;
	return err ? err : perf_write_head(w);
}

struct err *perf_writer_finish(struct perf_writer *w, uint64_t *bytes)
{
	struct err *err = drain(w);
	uint64_t end = 0;

	if (!err)
		err = perf_put_end(w, &end);
	if (close(take_fd(&w->fd)) && !err)
		err = err_errno("cannot write '%s'", w->path);
	if (bytes)
		*bytes = end;
	return err;
}

static void fill_attrs(struct perf_writer *w)
{
	uint64_t flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_EXCLUDE_HV;

	if (w->o.inherits)
		flags |= PERF_ATTR_INHERIT;
	if (w->o.pt.is_user_only)
		flags |= PERF_ATTR_EXCLUDE_KERNEL;
	for (int i = 0; i < PERF_ATTRS; i++) {
		w->attr[i] =
			(struct perf_attr_disk){ .size = sizeof(w->attr[i]),
						 .sample_period = 1,
						 .sample_type = PERF_DATA_SAMPLE_TYPE,
						 .flags = flags };
	}
	w->attr[PERF_ATTR_PT].type = w->o.pt.pmu_type;
	w->attr[PERF_ATTR_PT].config = w->o.pt.config;
	w->attr[PERF_ATTR_SIDEBAND].type = PERF_TYPE_SOFTWARE;
	w->attr[PERF_ATTR_SIDEBAND].config = PERF_SOFTWARE_DUMMY;
	w->attr[PERF_ATTR_SIDEBAND].flags |=
		PERF_ATTR_MMAP | PERF_ATTR_COMM | PERF_ATTR_TASK | PERF_ATTR_MMAP2 |
		PERF_ATTR_COMM_EXEC | PERF_ATTR_CONTEXT_SWITCH | PERF_ATTR_BUILD_ID;
}

static struct err *add_id(struct perf_writer *w, int attr, uint64_t id)
{
	return vec_add(&w->ids[attr], id);
}

struct err *perf_writer_add_id(struct perf_writer *w, bool is_pt, uint64_t id)
{
	w->has_more_ids = true;
	return add_id(w, is_pt ? PERF_ATTR_PT : PERF_ATTR_SIDEBAND, id);
}

static struct err *fill_ids(struct perf_writer *w, const struct perf_writer_options *o)
{
	static const uint64_t made_up[PERF_ATTRS] = { 1, 2 };
	const uint64_t *from[PERF_ATTRS] = { o->pt_ids, o->sideband_ids };
	size_t n[PERF_ATTRS] = { o->n_pt_ids, o->n_sideband_ids };

	for (int i = 0; i < PERF_ATTRS; i++) {
		if (!n[i]) {
			from[i] = &made_up[i];
			n[i] = 1;
		}
		for (size_t j = 0; j < n[i]; j++) {
			struct err *err = add_id(w, i, from[i][j]);

			if (err)
				return err;
		}
	}
	return NULL;
}

/* A copy of each text that is there. @return false: out of memory. */
static bool own(char **text)
{
	return !*text || (*text = strdup(*text));
}

static struct err *copy_options(struct perf_writer *w,
				const struct perf_writer_options *o)
{
	struct perf_host *h = &w->o.host;
	char **cmdline = NULL;
	size_t n = 0;
	bool is_ok;

	w->o = *o;
	w->o.cmdline = NULL;
	// Each of them, so that what is not owned is NULL.
	is_ok = own(&w->o.pt.filter);
	is_ok &= own(&h->hostname);
	is_ok &= own(&h->os_release);
	is_ok &= own(&h->version);
	is_ok &= own(&h->arch);
	is_ok &= own(&h->cpu_desc);
	is_ok &= own(&h->cpu_id);
	while (o->cmdline && o->cmdline[n])
		n++;
	cmdline = calloc(n + 1, sizeof(*cmdline));
	w->o.cmdline = (const char *const *)cmdline;
	for (size_t i = 0; cmdline && i < n; i++)
		is_ok &= !!(cmdline[i] = strdup(o->cmdline[i]));
	return is_ok && cmdline ? NULL : &err_nomem;
}

struct err *perf_writer_create_fd(int fd, const char *path,
				  const struct perf_writer_options *o,
				  struct perf_writer **ret)
{
	_cleanup_(perf_writer_destroyp) struct perf_writer *w = calloc(1, sizeof(*w));
	struct err *err;

	if (!w) {
		close(fd);
		return &err_nomem;
	}
	w->fd = fd;
	err = copy_options(w, o);
	w->path = strdup(path);
	w->buffer = malloc(PERF_BUFFER_BYTES);
	if (!err && (!w->path || !w->buffer))
		err = &err_nomem;
	if (!err)
		err = fill_ids(w, o);
	if (err)
		return err;
	fill_attrs(w);
	err = perf_put_beginning(w);
	if (err)
		return err;
	*ret = take_ptr(&w);
	return NULL;
}

struct err *perf_writer_create(const char *path, const struct perf_writer_options *o,
			       struct perf_writer **ret)
{
	int fd = -1;

	if (!unlink(path) || errno == ENOENT)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
	return fd < 0 ? err_errno("cannot create '%s'", path) :
			perf_writer_create_fd(fd, path, o, ret);
}

void perf_writer_destroy(struct perf_writer *w)
{
	char **cmdline = w ? (char **)w->o.cmdline : NULL;

	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	for (size_t i = 0; cmdline && cmdline[i]; i++)
		free(cmdline[i]);
	free(cmdline);
	free(w->o.pt.filter);
	perf_host_deinit(&w->o.host);
	for (int i = 0; i < PERF_ATTRS; i++)
		vec_deinit(&w->ids[i]);
	vec_deinit(&w->index);
	vec_deinit(&w->build_ids);
	map_deinit(&w->stream_of);
	free(w->buffer);
	free(w->path);
	free(w);
}

void perf_writer_destroyp(struct perf_writer **w)
{
	perf_writer_destroy(*w);
}
