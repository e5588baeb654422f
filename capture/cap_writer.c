// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Making a bundle: the directory, and the order in which things become whole (capture.h,
 * invariant 1).
 */
#define LOG_ROOM "capture"
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/give.h"
#include "capture/cap_elf.h"
#include "capture/cap_format.h"
#include "capture/cap_store.h"

/** What the last reads of a few bytes from one descriptor brought, together. */
struct trickle {
	uint64_t fd;
	size_t size;
	uint8_t bytes[1024];
};

/** System calls of a name whose effect is not known. */
struct unlisted {
	char *name;
	uint64_t n;
};

/** What the manifest will say of a history. */
struct book {
	uint64_t n_events, n_syscalls;
	uint64_t core_bytes[2]; ///< of start.core, of end.core
	uint64_t n_partial, n_gaps;
	VEC(struct unlisted) unlisted;
	VEC(char *) gaps; ///< texts of the first GAPS_SHOWN gaps
	/** Places that were masked, but for those in the manifest. */
	struct {
		uint64_t core[2], events;
	} n_masked;
	uint64_t n_trickled; ///< values in the writer's trickles, which remain
	enum cap_end end;
	int end_value;
};

struct cap_writer {
	char *dir;
	int dir_fd;	 ///< -1 = not open
	int around_fd;	 ///< of a followed process: its capture's children/, borrowed
	int children_fd; ///< -1 = nobody was followed yet
	bool made_dir;	 ///< the directory was not there before
	bool has_begun;	 ///< past create: what is there stays
	bool is_child;	 ///< inside another bundle, whose kept files it shares
	struct cap_log *log;
	struct cap_store *store;
	struct book book;
	uint64_t bytes;
	struct cap_mask *mask;
	VEC(uint8_t) masked;		     ///< memory and text of an event
	VEC(struct cap_write) masked_writes; ///< into that
	VEC(char *) split;	    ///< names under children/ of what was split off
	struct trickle trickles[8]; ///< by descriptor
};

#define GAPS_SHOWN 20

static void writer_destroyp(struct cap_writer **w)
{
	cap_writer_destroy(*w);
}

/** It may have been there, but nothing may be in it: what is, is not ours to remove. */
static struct err *check_empty(struct cap_writer *w)
{
	int is_empty = file_dir_is_empty(w->dir_fd);
	struct err *err = is_empty < 0 ? err_errno("cannot record into %s", w->dir) :
					 NULL;

	if (is_empty == 1)
		return NULL;
	closep(&w->dir_fd);
	w->dir_fd = -1;
	return err   ?:
		       err_new(ERR_USAGE,
			       "cannot record into %s: it is not empty (choose another "
			       "directory with -o, or remove it)",
			       w->dir);
}

/** @return the last part of its path. */
static const char *name_of(const struct cap_writer *w)
{
	return strrchr(w->dir, '/') + 1;
}

/** Make @p w's directory, or accept it when it is empty and nobody else's. */
static struct err *make_dir(struct cap_writer *w)
{
	if (!w->is_child) {
		struct err *err = file_make_dir(w->dir, &w->dir_fd, &w->made_dir);

		return err ?: check_empty(w);
	}
	w->made_dir = !file_act(w->around_fd, FILE_NEW_DIR, name_of(w), NULL);
	if (w->made_dir)
		w->dir_fd =
			file_open_below(w->around_fd, name_of(w), O_RDONLY | O_DIRECTORY);
	return w->dir_fd >= 0 ? NULL : err_errno("cannot create %s", w->dir);
}

static struct err *open_log(struct cap_writer *w)
{
	int fd = file_open_below(w->dir_fd, "events.flt", O_WRONLY | O_CREAT);

	if (fd < 0)
		return err_errno("cannot create %s/events.flt", w->dir);
	return cap_log_create(fd, &w->log);
}

static struct err *open_parts(struct cap_writer *w)
{
	if (!w->store) {
		struct err *err = cap_store_create(w->dir_fd, w->dir, &w->store);

		if (err)
			return err;
	}
	return open_log(w);
}

/** @p dir is consumed, @p store too; NULL = a store of its own, and no capture around it. */
static struct err *create(char *dir, int around_fd, struct cap_store *store,
			  struct cap_writer **ret)
{
	_cleanup_(writer_destroyp) struct cap_writer *w = calloc(1, sizeof(*w));
	struct err *err;

	if (!w || !dir) {
		free(dir);
		cap_store_unref(store);
		return &err_nomem;
	}
	w->dir_fd = w->children_fd = -1;
	w->around_fd = around_fd;
	w->dir = dir;
	w->store = store;
	w->is_child = store;
	err = make_dir(w);
	if (!err)
		err = open_parts(w);
	if (err)
		return err;
	w->has_begun = true;
	*ret = take_ptr(&w);
	return NULL;
}

struct err *cap_writer_create(const char *dir, struct cap_writer **ret)
{
	return create(strdup(dir), -1, NULL, ret);
}

struct err *cap_writer_create_child(struct cap_writer *root, const char *name,
				    struct cap_writer **ret)
{
	char *dir = NULL;
	struct err *err;

	assert(!root->is_child && cap_name_is_safe(name));
	if (root->children_fd < 0 &&
	    !file_act(root->dir_fd, FILE_NEW_DIR, CAP_CHILDREN, NULL))
		root->children_fd = file_open_below(root->dir_fd, CAP_CHILDREN,
						    O_RDONLY | O_DIRECTORY);
	if (root->children_fd < 0)
		return err_errno("cannot create %s/%s", root->dir, CAP_CHILDREN);
	if (asprintf(&dir, "%s/%s/%s", root->dir, CAP_CHILDREN, name) < 0)
		dir = NULL;
	err = create(dir, root->children_fd, cap_store_ref(root->store), ret);
	if (!err)
		(*ret)->mask = root->mask;
	cap_mask_share(root->mask);
	return err;
}

void cap_writer_set_mask(struct cap_writer *w, struct cap_mask *mask)
{
	w->mask = mask;
}

struct err *cap_writer_rename_child(struct cap_writer *w, const struct cap_writer *root,
				    const char *name)
{
	char *dir;

	assert(w->is_child && cap_name_is_safe(name));
	if (asprintf(&dir, "%s/%s/%s", root->dir, CAP_CHILDREN, name) < 0)
		return &err_nomem;
	if (file_act(root->children_fd, FILE_RENAME, name_of(w), name)) {
		struct err *err = err_errno("cannot rename %s to %s", w->dir, dir);

		free(dir);
		return err;
	}
	free(w->dir);
	w->dir = dir;
	return NULL;
}

/** What a history has in its directory, but for the manifest. */
static const char *const parts[] = { "events.flt", "start.core", "end.core",
				     "perf.data" };

static void book_deinit(struct book *b)
{
	for (size_t i = 0; i < b->gaps.size; i++)
		free(b->gaps.data[i]);
	for (size_t i = 0; i < b->unlisted.size; i++)
		free(b->unlisted.data[i].name);
	vec_deinit(&b->gaps);
	vec_deinit(&b->unlisted);
}

/** The log of a history that begins. */
static struct err *begin_log(struct cap_writer *w)
{
	w->book = (struct book){};
	if (!w->is_child)
		cap_mask_restart(w->mask);
	return open_log(w);
}

struct err *cap_writer_restart(struct cap_writer *w)
{
	cap_log_destroy(take_ptr(&w->log));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (file_act(w->dir_fd, FILE_REMOVE, parts[i], NULL) && errno != ENOENT)
			return err_errno("cannot begin %s again", w->dir);
	book_deinit(&w->book);
	return begin_log(w);
}

/** The files and the book of @p w become those of @p old. */
static struct err *hand_over(struct cap_writer *w, struct cap_writer *old)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (file_move(w->dir_fd, old->dir_fd, parts[i]) && errno != ENOENT)
			return err_errno("cannot move %s of %s to %s", parts[i], w->dir,
					 old->dir);
	cap_log_destroy(old->log);
	old->log = take_ptr(&w->log);
	old->book = w->book;
	return begin_log(w);
}

struct err *cap_writer_split(struct cap_writer *w, struct cap_writer *root,
			     const char *name, struct cap_writer **ret)
{
	char *copy = strdup(name), **slot = copy ? vec_push(&root->split) : NULL;
	struct err *err;

	*ret = NULL;
	if (!slot) {
		free(copy);
		return &err_nomem;
	}
	*slot = copy;
	err = cap_writer_create_child(root, name, ret);
	return err ?: hand_over(w, *ret);
}

/** What is in directory @p dir_fd, the history and its manifest. */
static void remove_parts(int dir_fd)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		file_act(dir_fd, FILE_REMOVE, parts[i], NULL);
	file_act(dir_fd, FILE_REMOVE, "manifest.json", NULL);
}

static void remove_split(struct cap_writer *w)
{
	for (size_t i = 0; i < w->split.size; i++) {
		const char *name = w->split.data[i];
		_cleanup_close_ int fd =
			file_open_below(w->children_fd, name, O_RDONLY | O_DIRECTORY);

		if (fd >= 0)
			remove_parts(fd);
		file_act(w->children_fd, FILE_REMOVE_DIR, name, NULL);
	}
	if (w->split.size)
		file_act(w->dir_fd, FILE_REMOVE_DIR, CAP_CHILDREN, NULL);
}

void cap_writer_remove(struct cap_writer *w)
{
	if (!w)
		return;
	if (w->store && !w->is_child)
		cap_store_remove(w->store, w->dir_fd);
	remove_split(w);
	if (w->dir_fd >= 0)
		remove_parts(w->dir_fd);
	if (w->made_dir && w->is_child)
		file_act(w->around_fd, FILE_REMOVE_DIR, name_of(w), NULL);
	else if (w->made_dir)
		rmdir(w->dir); // or whoever made it does
	w->has_begun = true;
	cap_writer_destroy(w);
}

void cap_writer_destroy(struct cap_writer *w)
{
	if (!w)
		return;
	if (!w->has_begun) {
		cap_writer_remove(w);
		return;
	}
	cap_log_destroy(w->log);
	cap_store_unref(w->store);
	book_deinit(&w->book);
	for (size_t i = 0; i < w->split.size; i++)
		free(w->split.data[i]);
	vec_deinit(&w->split);
	vec_deinit(&w->masked);
	vec_deinit(&w->masked_writes);
	closep(&w->dir_fd);
	closep(&w->children_fd);
	free(w->dir);
	free(w);
}

uint64_t cap_writer_events(const struct cap_writer *w)
{
	return w->book.n_events;
}

static struct err *count_unlisted(struct cap_writer *w, const char *name)
{
	struct unlisted *u =
		vec_find(&w->book.unlisted, known, !strcmp(known->name, name));

	if (!u) {
		char *copy = strdup(name);

		u = copy ? vec_push(&w->book.unlisted) : NULL;
		if (!u) {
			free(copy);
			return &err_nomem;
		}
		*u = (struct unlisted){ copy, 0 };
	}
	u->n++;
	return NULL;
}

/** Keep the books that cap_writer_finish() turns into the manifest. */
static struct err *count_event(struct cap_writer *w, const struct cap_event *ev)
{
	char **text;

	w->book.n_events++;
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		w->book.n_syscalls++;
		w->book.n_partial += !!(ev->flags & CAP_SYS_PARTIAL);
		if (ev->flags & CAP_SYS_UNLISTED)
			return count_unlisted(w, ev->text ?: "a system call");
		return NULL;
	case CAP_EV_SIGNAL:
		if (ev->is_fatal) {
			w->book.end = CAP_END_SIGNAL;
			w->book.end_value = ev->signo;
		}
		return NULL;
	case CAP_EV_EXIT:
		if (ev->exit_code >= 0 && w->book.end != CAP_END_SIGNAL) {
			w->book.end = CAP_END_EXIT;
			w->book.end_value = ev->exit_code;
		}
		return NULL;
	case CAP_EV_GAP:
		if (w->book.n_gaps++ >= GAPS_SHOWN)
			return NULL;
		text = vec_push(&w->book.gaps);
		if (!text)
			return &err_nomem;
		*text = strdup(ev->text ?: "unknown");
		return *text ? NULL : &err_nomem;
	default:
		return NULL;
	}
}

/** Copy @p size bytes at @p data behind what w->masked holds, which has room. @return where */
static uint8_t *copy_in(struct cap_writer *w, const void *data, size_t size)
{
	uint8_t *at = w->masked.data + w->masked.size;

	if (size)
		memcpy(at, data, size);
	w->masked.size += size;
	return at;
}

/** A value that comes byte by byte is not replaced (most of it is written by the time that it is
 * one), but counted. @p data: the @p size bytes that @p ev wrote. */
static void look_at_trickle(struct cap_writer *w, const struct cap_event *ev,
			    const uint8_t *data, size_t size)
{
	uint64_t fd = ev->regs.gpr[CAP_RDI];
	struct trickle *t = &w->trickles[fd % 8];
	uint8_t copy[sizeof(t->bytes)];
	size_t n;

	if (ev->kind != CAP_EV_SYSCALL || ev->regs.gpr[CAP_RAX] != SYS_read || !size ||
	    size >= CAP_MASK_PIECE)
		return;
	if (t->fd != fd)
		t->size = 0;
	t->fd = fd;
	if (t->size + size > sizeof(t->bytes)) {
		size_t keeps = t->size / 2;

		memmove(t->bytes, t->bytes + t->size - keeps, keeps);
		t->size = keeps;
	}
	memcpy(t->bytes + t->size, data, size);
	t->size += size;
	memcpy(copy, t->bytes, t->size);
	n = cap_mask_bytes(w->mask, copy, t->size);
	w->book.n_trickled += n;
	if (n)
		t->size = 0;
}

/** Make @p ev, which is a copy, one of what may be kept. All its writes are looked through as
 * one: a value may lie in two, as readv() puts it. */
static struct err *mask_event(struct cap_writer *w, struct cap_event *ev)
{
	size_t size = 0, text = ev->text ? strlen(ev->text) + 1 : 0;

	for (size_t i = 0; i < ev->n_writes; i++)
		size += ev->writes[i].size;
	w->masked.size = 0;
	if (vec_reserve(&w->masked, size + text) ||
	    vec_reserve(&w->masked_writes, ev->n_writes))
		return &err_nomem;
	for (size_t i = 0; i < ev->n_writes; i++) {
		const struct cap_write *from = &ev->writes[i];

		w->masked_writes.data[i] = *from;
		w->masked_writes.data[i].data = copy_in(w, from->data, from->size);
	}
	look_at_trickle(w, ev, w->masked.data, size);
	w->book.n_masked.events += cap_mask_data(w->mask, w->masked.data, size);
	// A frame holds registers, and lies at a multiple of 8.
	if (ev->kind == CAP_EV_SIGNAL)
		cap_mask_words(w->mask, (uint64_t *)w->masked.data, size / 8);
	ev->writes = w->masked_writes.data;
	if (text)
		ev->text = (char *)copy_in(w, ev->text, text);
	if (text)
		w->book.n_masked.events +=
			cap_mask_bytes(w->mask, (char *)ev->text, text);
	cap_mask_words(w->mask, ev->regs.gpr, CAP_GPRS);
	cap_mask_words(w->mask, ev->after.gpr, CAP_GPRS);
	return NULL;
}

struct err *cap_writer_event(struct cap_writer *w, const struct cap_event *ev)
{
	struct cap_event masked;
	struct err *err = NULL;

	if (cap_mask_is_on(w->mask)) {
		masked = *ev;
		err = mask_event(w, &masked);
		ev = &masked;
	}
	if (!err)
		err = cap_log_append(w->log, ev);
	if (err)
		return err_prefix(err, "cannot record into %s", w->dir);
	return count_event(w, ev);
}

struct err *cap_writer_flush(struct cap_writer *w)
{
	struct err *err = cap_log_flush(w->log);

	return err ? err_prefix(err, "cannot record into %s", w->dir) : NULL;
}

struct err *cap_writer_file(struct cap_writer *w, int fd, const char *path, uint32_t *ret)
{
	return cap_store_keep(w->store, fd, path, ret, &w->bytes);
}

const char *cap_writer_dir(const struct cap_writer *w)
{
	return w->dir;
}

struct err *cap_writer_give(const struct cap_writer *w)
{
	return w->made_dir && !w->is_child ? give_to_caller(w->dir_fd) : NULL;
}

int cap_writer_dir_fd(const struct cap_writer *w)
{
	return w->dir_fd;
}

const struct cap_file *cap_writer_files(const struct cap_writer *w, size_t *n)
{
	*n = cap_store_size(w->store);
	return cap_store_files(w->store);
}

struct err *cap_writer_core(struct cap_writer *w, const struct cap_core *core,
			    struct err *(*read_mem)(void *ctx, uint64_t addr, void *buf,
						    size_t size),
			    void *ctx)
{
	const char *name = core->is_end ? "end.core" : "start.core";
	int fd = file_open_below(w->dir_fd, name, O_WRONLY | O_CREAT);
	struct err *err;
	struct stat st;

	if (fd < 0)
		return err_errno("cannot create %s/%s", w->dir, name);
	err = cap_core_write(fd, core, cap_store_size(w->store), w->mask,
			     &w->book.n_masked.core[core->is_end], read_mem, ctx);
	cap_mask_begin(w->mask);
	if (!err && !fstat(fd, &st))
		w->book.core_bytes[core->is_end] = st.st_size;
	if (close(fd) && !err)
		err = err_errno("cannot write");
	return err ? err_prefix(err, "cannot record into %s", w->dir) : NULL;
}

/** Add a text to info->missing. */
__attribute__((format(printf, 2, 3))) static struct err *
add_missing(struct cap_info *info, const char *fmt, ...)
{
	char **more = reallocarray(info->missing, info->n_missing + 1, sizeof(*more));
	va_list ap;
	int n;

	if (!more)
		return &err_nomem;
	info->missing = more;
	va_start(ap, fmt);
	n = vasprintf(&more[info->n_missing], fmt, ap);
	va_end(ap);
	if (n < 0)
		return &err_nomem;
	info->n_missing++;
	return NULL;
}

/** Mask what is in file @p name of directory @p dir_fd, if it is there. Of an ELF file it is
 * only counted, in @p n_kept: that is code, and stays as it is. */
static struct err *mask_file(const struct cap_writer *w, int dir_fd, const char *name,
			     uint64_t *n_masked, uint64_t *n_kept)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	char magic[SELFMAG];
	uint64_t n = 0;
	bool is_elf;
	struct err *err;

	if (fd < 0)
		return NULL;
	is_elf = pread(fd, magic, SELFMAG, 0) == SELFMAG &&
		 !memcmp(magic, ELFMAG, SELFMAG);
	err = (is_elf ? cap_mask_count : cap_mask_file)(w->mask, fd, &n);
	*(is_elf ? n_kept : n_masked) += n;
	return err ? err_prefix(err, "cannot look for masked values in %s", name) : NULL;
}

static struct err *mask_kept(const struct cap_writer *w, struct cap_info *info,
			     uint64_t *n_masked)
{
	_cleanup_close_ int dir =
		openat(w->dir_fd, "files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct cap_file *files = cap_store_files(w->store);
	uint64_t n_kept = 0;
	struct err *err = mask_file(w, dir, CAP_INDEX, n_masked, &n_kept);

	for (size_t i = 0; !err && i < cap_store_size(w->store); i++, n_kept = 0) {
		if (files[i].stored)
			err = mask_file(w, dir, files[i].stored, n_masked, &n_kept);
		if (!err && n_kept)
			err = add_missing(info,
					  "masked values remain in the kept copy of %s: "
					  "%" PRIu64,
					  files[i].path, n_kept);
	}
	return err;
}

/** Mask what was not masked on its way; say where values were, and where they remain. */
static struct err *tell_masked(const struct cap_writer *w, struct cap_info *info)
{
	const uint64_t *in_core = w->book.n_masked.core;
	uint64_t n_files = 0;
	struct err *err;

	if (!cap_mask_is_on(w->mask))
		return NULL;
	err = mask_file(w, w->dir_fd, "perf.data", &n_files, &n_files);
	if (!err && !w->is_child)
		err = mask_kept(w, info, &n_files);
	if (!err && in_core[0] + in_core[1] + w->book.n_masked.events + n_files)
		err = add_missing(info,
				  "left out on request: copies of masked values, %" PRIu64
				  " in start.core, %" PRIu64 " in end.core, %" PRIu64
				  " in what it got from outside, %" PRIu64
				  " in other files",
				  in_core[0], in_core[1], w->book.n_masked.events,
				  n_files);
	if (!err && w->book.n_trickled)
		err = add_missing(
			info,
			"masked values remain where they were read in pieces of "
			"a few bytes: %" PRIu64,
			w->book.n_trickled);
	if (!err && !w->is_child && cap_mask_is_late(w->mask))
		err = add_missing(
			info, "masked values that a followed process was the first to "
			      "have in its environment may remain in what was written "
			      "before it was executed");
	return err;
}

static struct err *list_missing(const struct cap_writer *w, struct cap_info *info)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->book.gaps.size && !err; i++)
		err = add_missing(info, "%s", w->book.gaps.data[i]);
	if (w->book.n_gaps > w->book.gaps.size && !err)
		err = add_missing(info, "%" PRIu64 " more gaps",
				  w->book.n_gaps - w->book.gaps.size);
	for (size_t i = 0; i < w->book.unlisted.size && !err; i++)
		err = add_missing(
			info, "what %s does to memory is not known (%" PRIu64 " call%s)",
			w->book.unlisted.data[i].name, w->book.unlisted.data[i].n,
			w->book.unlisted.data[i].n == 1 ? "" : "s");
	if (w->book.n_partial && !err)
		err = add_missing(info,
				  "%" PRIu64 " system calls whose results could not all "
				  "be read",
				  w->book.n_partial);
	return err ?: tell_masked(w, info);
}

static struct err *write_manifest(struct cap_writer *w, const struct cap_info *info)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = cap_manifest_print(info, w->mask, &text);

	if (!err)
		err = new_file_open_in(&f, w->dir_fd, "manifest.json", "manifest.json");
	if (err)
		return err;
	fputs(text, f.stream);
	w->bytes += strlen(text);
	return new_file_commit(&f);
}

struct err *cap_writer_finish(struct cap_writer *w, struct cap_info *info,
			      uint64_t *bytes)
{
	uint64_t log_bytes = 0;
	struct stat st;
	struct err *err = cap_log_finish(w->log, &log_bytes);

	w->bytes += log_bytes;
	info->version = CAP_VERSION;
	info->n_events = w->book.n_events;
	info->n_syscalls = w->book.n_syscalls;
	info->has_masked |= cap_mask_is_on(w->mask);
	info->files = w->is_child ? NULL : cap_store_files(w->store);
	info->n_files = w->is_child ? 0 : cap_store_size(w->store);
	if (info->end == CAP_END_UNKNOWN) {
		info->end = w->book.end;
		info->end_value = w->book.end_value;
	}
	if (!err)
		err = list_missing(w, info);
	info->is_complete = !info->n_missing;
	if (!err)
		err = write_manifest(w, info);
	*bytes = w->bytes + w->book.core_bytes[0] + w->book.core_bytes[1];
	if (!fstatat(w->dir_fd, "perf.data", &st, 0))
		*bytes += st.st_size;
	// The caller keeps info; the files in it live as long as the writer does.
	return err ? err_prefix(err, "cannot finish the capture in %s", w->dir) : NULL;
}
