// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Opening looks at every record once: what tells how to read the others (AUXTRACE_INFO)
 * may come late, and where the streams' pieces lie is wanted at once. Data that ends early
 * is remembered as damage; reading tells of it when it comes there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/cap_format.h"
#include "capture/perf_raw.h"

struct perf_reader {
	int fd;
	char *path;
	uint64_t size; ///< of the file
	struct perf_head head;
	struct perf_info info;
	struct perf_raw raw;
	struct map attr_of;	 ///< event id -> its place in info.attrs
	bool has_identifiers;	 ///< all records tell which event made them
	struct err *damage;	 ///< reading ends with it
	uint64_t n_next, n_good; ///< records read since the beginning; before the damage
};

/* ---- the head ---------------------------------------------------------------------------- */

static struct err *check_head(const struct perf_reader *r)
{
	const struct perf_head *h = &r->head;

	if (!memcmp(h->magic, PERF_MAGIC_SWAPPED, 8))
		return err_new(ERR_UNSUPPORTED,
			       "it is from a machine of another byte order");
	if (!memcmp(h->magic, PERF_MAGIC_OLD, 8))
		return err_new(ERR_UNSUPPORTED, "it is of the format before Linux 3.3");
	if (memcmp(h->magic, PERF_MAGIC, 8))
		return err_new(ERR_FORMAT, "not a perf.data file");
	if (r->size >= PERF_PIPE_HEAD && h->size == PERF_PIPE_HEAD)
		return err_new(ERR_UNSUPPORTED,
			       "it was written in pipe mode (perf record -o -); record "
			       "into a file");
	if (r->size < sizeof(*h))
		return err_new(ERR_TRUNCATED, "it ends within its head");
	if (h->size != sizeof(*h))
		return err_new(ERR_FORMAT, "its head has %lu bytes, not %zu", h->size,
			       sizeof(*h));
	if (h->attr_size < PERF_FILE_ATTR_MIN || h->attr_size > 4096 || h->attr_size % 8)
		return err_new(ERR_FORMAT, "its events take %lu bytes each",
			       h->attr_size);
	if (!h->attrs.size || h->attrs.size % h->attr_size)
		return err_new(ERR_FORMAT, "its list of events has %lu bytes",
			       h->attrs.size);
	if (h->attrs.offset > r->size || h->attrs.size > r->size - h->attrs.offset)
		return err_new(ERR_TRUNCATED, "it ends before its list of events does");
	if (h->data.offset < sizeof(*h) || h->data.offset > r->size)
		return err_new(ERR_TRUNCATED, "it ends before its data begins");
	return NULL;
}

/* The ids of an attr, which may be many: @p budget bytes in all. */
static struct err *read_ids(struct perf_reader *r, const struct perf_section *at,
			    struct perf_attr *attr, uint64_t *budget)
{
	if (at->offset > r->size || at->size > r->size - at->offset)
		return err_new(ERR_TRUNCATED, "it ends before the ids of its events do");
	if (at->size % sizeof(uint64_t) || at->size > *budget)
		return err_new(ERR_FORMAT, "an event's ids take %lu bytes", at->size);
	*budget -= at->size;
	attr->ids = malloc(at->size + 1);
	if (!attr->ids)
		return &err_nomem;
	attr->n_ids = at->size / sizeof(uint64_t);
	return cap_read_at(r->fd, at->offset, attr->ids, at->size,
			   "the ids of its events");
}

static struct err *read_attr(struct perf_reader *r, size_t i, uint64_t *budget)
{
	uint64_t at = r->head.attrs.offset + i * r->head.attr_size;
	size_t bytes = r->head.attr_size - sizeof(struct perf_section);
	struct perf_attr *attr = &r->info.attrs[i];
	struct perf_attr_disk disk = {};
	struct perf_section ids;
	struct err *err;

	if (bytes > sizeof(disk))
		bytes = sizeof(disk);
	err = cap_read_at(r->fd, at, &disk, bytes, "its events");
	if (!err)
		err = cap_read_at(r->fd, at + r->head.attr_size - sizeof(ids), &ids,
				  sizeof(ids), "its events");
	if (!err)
		err = read_ids(r, &ids, attr, budget);
	if (err)
		return err;
	attr->type = disk.type;
	attr->config = disk.config;
	attr->config1 = disk.config1;
	attr->config2 = disk.config2;
	attr->sample_type = disk.sample_type;
	attr->read_format = disk.read_format;
	attr->flags = disk.flags;
	for (size_t j = 0; j < attr->n_ids; j++) {
		if (attr->ids[j] != MAP_EMPTY_KEY &&
		    map_put(&r->attr_of, attr->ids[j], i))
			return &err_nomem;
	}
	return NULL;
}

static struct err *read_attrs(struct perf_reader *r)
{
	size_t n = r->head.attrs.size / r->head.attr_size;
	uint64_t budget = r->size;

	r->info.attrs = calloc(n, sizeof(*r->info.attrs));
	if (!r->info.attrs)
		return &err_nomem;
	r->info.n_attrs = n;
	r->has_identifiers = true;
	for (size_t i = 0; i < n; i++) {
		struct err *err = read_attr(r, i, &budget);

		if (err)
			return err;
		if (!(r->info.attrs[i].sample_type & PERF_SAMPLE_IDENTIFIER))
			r->has_identifiers = false;
	}
	return NULL;
}

/* ---- records ------------------------------------------------------------------------------ */

/* The event that made a record: one for all when their records look alike. */
static const struct perf_attr *attr_of(const struct perf_reader *r, const uint8_t *rec,
				       size_t bytes)
{
	const uint64_t *at = NULL;

	if (r->has_identifiers && r->info.n_attrs > 1) {
		uint64_t id = perf_record_identifier(rec, bytes);

		at = id == MAP_EMPTY_KEY ? NULL : map_get(&r->attr_of, id);
	}
	return &r->info.attrs[at ? *at : 0];
}

/* The next record as it is. @return with *rec NULL at the end. */
static struct err *next(struct perf_reader *r, struct perf_record *ret,
			const uint8_t **rec, size_t *bytes)
{
	struct err *err = perf_raw_next(&r->raw, rec, bytes);
	const struct perf_attr *attr;
	const char *wrong;

	if (err || !*rec)
		return err;
	attr = attr_of(r, *rec, *bytes);
	wrong = perf_record_parse(*rec, *bytes, attr->sample_type,
				  attr->flags & PERF_ATTR_SAMPLE_ID_ALL, ret);
	if (wrong)
		return err_new(ERR_FORMAT, "%s (type %u, %zu bytes)", wrong, ret->type,
			       *bytes);
	if (ret->kind == PERF_AUXTRACE)
		return perf_raw_skip(&r->raw, ret->piece.bytes, &ret->piece.at);
	return NULL;
}

/* A copy of an error, for errors have one owner. */
static struct err *again(const struct err *err)
{
	return err == &err_nomem ? &err_nomem : err_new(err->code, "%s", err->message);
}

struct err *perf_reader_next(struct perf_reader *r, struct perf_record *ret, bool *is_end)
{
	struct perf_record record;
	const uint8_t *rec = NULL;
	size_t bytes;
	struct err *err;

	*is_end = false;
	if (r->n_next < r->n_good) {
		err = next(r, &record, &rec, &bytes);
		if (err)
			return err_prefix(err, "cannot read '%s' at byte %lu", r->path,
					  r->raw.last);
		r->n_next++;
	}
	if (rec) {
		*ret = record;
		return NULL;
	}
	if (r->damage)
		return again(r->damage);
	*is_end = true;
	return NULL;
}

void perf_reader_rewind(struct perf_reader *r)
{
	perf_raw_rewind(&r->raw);
	r->n_next = 0;
}

/* ---- looking through ------------------------------------------------------------------------ */

static struct err *look_through(struct perf_reader *r)
{
	size_t bytes, capacity = 0;

	for (;; r->n_good++) {
		const uint8_t *rec;
		struct perf_record ret;
		struct err *err = next(r, &ret, &rec, &bytes);

		if (!err && rec)
			err = perf_info_note(&r->info, &ret, rec, bytes, &capacity);
		if (err || !rec)
			return err;
	}
}

/* ---- its life ------------------------------------------------------------------------------- */

/* Remember @p err as what reading ends with; that memory is out is none of the file's. */
static struct err *note_damage(struct perf_reader *r, struct err *err, uint64_t at)
{
	if (!err || err == &err_nomem || err->code == ERR_UNSUPPORTED || r->damage) {
		if (r->damage)
			err_destroy(err);
		return r->damage ? NULL : err;
	}
	r->damage = err_prefix(err, "'%s' is damaged at byte %lu", r->path, at);
	r->info.damage = r->damage->message;
	return NULL;
}

static struct err *read_all(struct perf_reader *r)
{
	uint64_t end = r->size, *bits = r->head.features;
	bool is_cut = r->head.data.size > r->size - r->head.data.offset;
	struct err *err = read_attrs(r);

	// A recorder that was killed may not have said how much there is.
	if (r->head.data.size && !is_cut)
		end = r->head.data.offset + r->head.data.size;
	if (!err)
		err = perf_raw_init(&r->raw, r->fd, r->head.data.offset, end);
	if (err)
		return err;
	err = note_damage(r, look_through(r), r->raw.last);
	if (!err && is_cut)
		err = note_damage(r, err_new(ERR_TRUNCATED, "its data should go on"),
				  r->size);
	if (!err)
		err = perf_info_streams(&r->info);
	r->info.is_unfinished = !(bits[0] | bits[1] | bits[2] | bits[3]);
	if (!err && !is_cut)
		err = note_damage(
			r, perf_features_read(r->fd, &r->head, r->size, &r->info), end);
	perf_reader_rewind(r);
	return err;
}

/* The file that is meant by @p path: in a directory that `perf record --kcore' made, the one
 * in it. */
static int open_data(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), inside;

	inside = fd >= 0 ? file_open_below(fd, "data", O_RDONLY | O_NONBLOCK) : -1;
	if (inside < 0)
		return fd;
	close(fd);
	return inside;
}

/* A file for each of perf's threads lies beside it? */
static bool is_in_parts(const char *path)
{
	char part[PATH_MAX];

	return (size_t)snprintf(part, sizeof(part), "%s/data.0", path) < sizeof(part) &&
	       !access(part, F_OK);
}

static struct err *open_file(struct perf_reader *r)
{
	struct err *err;
	struct stat st;

	if (r->fd < 0 || fstat(r->fd, &st))
		return err_errno("no file to read");
	if (S_ISDIR(st.st_mode))
		return err_new(ERR_UNSUPPORTED, "it is a directory, and not perf's");
	if (is_in_parts(r->path))
		return err_new(ERR_UNSUPPORTED,
			       "it is a directory of several files (record without "
			       "--threads)");
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_UNSUPPORTED, "it is no regular file");
	r->size = st.st_size;
	if (r->size < PERF_PIPE_HEAD)
		return err_new(ERR_FORMAT, "not a perf.data file: %lu bytes", r->size);
	err = cap_read_at(r->fd, 0, &r->head,
			  r->size < sizeof(r->head) ? r->size : sizeof(r->head),
			  "its head");
	if (!err)
		err = check_head(r);
	return err ? err : read_all(r);
}

/* @p fd is consumed; -1 with errno: @p path is not there. */
static struct err *open_reader(int fd, const char *path, struct perf_reader **ret)
{
	_cleanup_(perf_reader_closep) struct perf_reader *r = calloc(1, sizeof(*r));
	struct err *err;

	if (!r) {
		closep(&fd);
		return &err_nomem;
	}
	r->fd = fd;
	r->path = strdup(path);
	if (!r->path)
		return &err_nomem;
	err = open_file(r);
	if (err)
		return err_prefix(err, "cannot read '%s'", path);
	*ret = take_ptr(&r);
	return NULL;
}

struct err *perf_reader_open(const char *path, struct perf_reader **ret)
{
	return open_reader(open_data(path), path, ret);
}

struct err *perf_reader_open_in(const struct capture *c, const char *path,
				struct perf_reader **ret)
{
	struct err *err;
	int fd;

	err = file_open_input(capture_dir_fd(c), "perf.data", path, UINT64_MAX, &fd,
			      NULL);
	return err ?: open_reader(fd, path, ret);
}

void perf_reader_close(struct perf_reader *r)
{
	if (!r)
		return;
	perf_info_deinit(&r->info);
	perf_raw_deinit(&r->raw);
	map_deinit(&r->attr_of);
	err_destroy(r->damage);
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r);
}

void perf_reader_closep(struct perf_reader **r)
{
	perf_reader_close(*r);
}

const struct perf_info *perf_reader_info(const struct perf_reader *r)
{
	return &r->info;
}

struct err *perf_reader_piece(const struct perf_reader *r, const struct perf_piece *piece,
			      uint64_t from, void *buf, size_t n)
{
	if (from > piece->bytes || n > piece->bytes - from)
		return err_new(ERR_RANGE, "a piece of %lu bytes has no byte %lu",
			       piece->bytes, from + n);
	return cap_read_at(r->fd, piece->at + from, buf, n, "PT data");
}

int perf_reader_fd(const struct perf_reader *r)
{
	return r->fd;
}

bool perf_data_is(const char *path)
{
	_cleanup_close_ int fd = open_data(path);
	char magic[8];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       (!memcmp(magic, PERF_MAGIC, sizeof(magic)) ||
		!memcmp(magic, PERF_MAGIC_SWAPPED, sizeof(magic)) ||
		!memcmp(magic, PERF_MAGIC_OLD, sizeof(magic)));
}
