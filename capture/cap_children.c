// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The processes that `record -f` followed: which there are when no manifest tells, and
 * which of them somebody means.
 */
#define LOG_ROOM "capture"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "capture/cap_format.h"

#define PROCESSES_MAX 100000 ///< more is damage

/* ---- without a manifest --------------------------------------------------------------- */

/** Understand "N-NAME.PID". */
static bool parse_name(const char *name, struct cap_process *p)
{
	const char *dash = strchr(name, '-'), *dot = strrchr(name, '.');
	char *end;

	if (!dash || !dot || dot < dash)
		return false;
	p->index = strtoul(name, &end, 10);
	if (end != dash || !p->index)
		return false;
	p->pid = strtoul(dot + 1, &end, 10);
	if (*end || end == dot + 1)
		return false;
	p->dir = strdup(name);
	p->exe = strndup(dash + 1, dot - dash - 1);
	p->argv = calloc(1, sizeof(*p->argv));
	return true;
}

/** What its own manifest says is better than its name. */
static struct err *take_info(struct cap_process *p, const struct cap_info *info)
{
	char *exe = info->exe ? strdup(info->exe) : NULL;

	if (info->is_unfinished || !info->is_child)
		return NULL;
	p->parent = info->parent;
	p->created = info->created;
	p->n_syscalls = info->n_syscalls;
	p->end = info->end;
	p->end_value = info->end_value;
	p->is_complete = info->is_complete;
	if (!exe)
		return &err_nomem;
	free(p->exe);
	p->exe = exe;
	return NULL;
}

static struct err *scan_one(struct capture *c, struct cap_process *p)
{
	_cleanup_(capture_closep) struct capture *child = NULL;
	_cleanup_err_ struct err *err = NULL;
	char path[4096];

	if (!p->dir || !p->exe || !p->argv)
		return &err_nomem;
	if ((size_t)snprintf(path, sizeof(path), "%s/" CAP_CHILDREN "/%s", c->dir,
			     p->dir) >= sizeof(path))
		return NULL;
	err = capture_open(path, &child);
	// One that is damaged is listed by its name: opening it will tell.
	return err ? NULL : take_info(p, capture_info(child));
}

static int by_index(const void *a, const void *b)
{
	const struct cap_process *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static struct err *scan(struct capture *c, DIR *d)
{
	VEC(struct cap_process) list = {};
	struct dirent *entry;
	struct err *err = NULL;

	while (!err && list.size < PROCESSES_MAX && (entry = readdir(d))) {
		struct cap_process p = {}, *slot;

		if (!parse_name(entry->d_name, &p))
			continue;
		slot = vec_push(&list);
		if (slot) {
			*slot = p;
			err = scan_one(c, slot);
		} else {
			cap_process_deinit(&p);
			err = &err_nomem;
		}
	}
	vec_sort(&list, by_index);
	c->info.processes = list.data;
	c->info.n_processes = list.size;
	return err;
}

size_t cap_process_followed(const struct cap_process *list, size_t n)
{
	size_t followed = 0;

	for (size_t i = 0; i < n; i++)
		followed += list[i].created != CAP_CREATED_BEFORE;
	return followed;
}

const char *cap_process_nothing(const struct cap_process *p)
{
	if (p->created == CAP_CREATED_FORK)
		return "killed before its first instruction";
	return "executed no program in memory of its own";
}

struct err *cap_children_scan(struct capture *c)
{
	int fd = file_open_below(c->dir_fd, CAP_CHILDREN, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct err *err;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	err = scan(c, d);
	closedir(d);
	return err;
}

/* ---- which one -------------------------------------------------------------------------- */

static struct err *find_pid(const struct cap_info *info, uint64_t pid,
			    const struct cap_process **ret)
{
	for (size_t i = 0; i < info->n_processes; i++) {
		const struct cap_process *p = &info->processes[i];

		if (p->pid != pid || p->created == CAP_CREATED_BEFORE)
			continue;
		if (*ret)
			return err_new(ERR_NOT_FOUND,
				       "several processes had the id %" PRIu64
				       ": choose by number, %u or %u",
				       pid, (*ret)->index, p->index);
		*ret = p;
	}
	return NULL;
}

static struct err *find_process(const struct cap_info *info, const char *which,
				const struct cap_process **ret)
{
	char *end;
	uint64_t number = strtoull(which, &end, 10);
	struct err *err = NULL;

	*ret = NULL;
	if (*which < '0' || *which > '9' || *end)
		return err_new(ERR_USAGE, "'%s' is no number of a process", which);
	if (!number || number == info->pid)
		return NULL;
	for (size_t i = 0; i < info->n_processes; i++)
		if (info->processes[i].index == number)
			*ret = &info->processes[i];
	if (!*ret)
		err = find_pid(info, number, ret);
	if (err)
		return err;
	if (!*ret)
		return err_new(ERR_NOT_FOUND,
			       "it has no process %s (`faultline dump --processes' lists "
			       "them)",
			       which);
	if (!(*ret)->dir)
		return err_new(ERR_NOT_FOUND, "nothing of process %s was recorded: %s",
			       which, cap_process_nothing(*ret));
	return NULL;
}

struct err *capture_child_dir(const struct capture *c, const struct cap_process *p,
			      char **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/" CAP_CHILDREN "/%s", c->dir, p->dir) < 0) {
		path = NULL;
		return &err_nomem;
	}
	fd = file_open_below(c->dir_fd, path + strlen(c->dir) + 1, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return err_errno("cannot open '%s'", path);
	*ret = take_ptr(&path);
	return NULL;
}

struct err *capture_process_dir(const char *dir, const char *which, char **ret)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	const struct cap_process *p = NULL;
	struct err *err = capture_open(dir, &c);

	if (!err) {
		err = find_process(&c->info, which, &p);
		if (err)
			err = err_prefix(err, "cannot open a process of '%s'", dir);
	}
	if (err || p)
		return err ?: capture_child_dir(c, p, ret);
	*ret = strdup(dir);
	return *ret ? NULL : &err_nomem;
}
