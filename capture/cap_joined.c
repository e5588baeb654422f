// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * joined.flt: the event log once more, with what other processes wrote into shared memory (doc/joint.md).
 * Where it is there, nobody reads events.flt.
 */
#define LOG_ROOM "capture"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "capture/cap_format.h"

struct cap_joined {
	const struct capture *capture;
	struct cap_log *log;
	char name[64]; ///< before it is kept: two may be at it
	bool is_made;  ///< there is a file of that name
};

bool capture_is_joined(const struct capture *c)
{
	return !faccessat(c->dir_fd, CAP_JOINED, F_OK, AT_SYMLINK_NOFOLLOW);
}

struct err *cap_joined_create(const struct capture *c, struct cap_joined **ret)
{
	_cleanup_(cap_joined_destroyp) struct cap_joined *j = calloc(1, sizeof(*j));
	struct err *err;
	int fd;

	if (!j)
		return &err_nomem;
	j->capture = c;
	snprintf(j->name, sizeof(j->name), CAP_JOINED ".%" PRIx64,
		 (uint64_t)(clock_now_s() * 1e9));
	// Somebody was killed who had kept some processes' logs and not yet others': all are made anew.
	if (capture_is_joined(c) && file_act(c->dir_fd, FILE_REMOVE, CAP_JOINED, NULL))
		return err_errno("cannot remove %s/" CAP_JOINED, c->dir);
	fd = file_act(c->dir_fd, FILE_NEW, j->name, NULL);
	if (fd < 0)
		return err_errno("cannot create %s/" CAP_JOINED, c->dir);
	j->is_made = true;
	if (fchmod(fd, capture_mode(c)))
		log_debug("%s/%s keeps its mode", c->dir, j->name);
	err = cap_log_create(fd, &j->log);
	if (err)
		return err;
	*ret = take_ptr(&j);
	return NULL;
}

struct err *cap_joined_put(struct cap_joined *j, const struct cap_event *ev)
{
	return cap_log_append(j->log, ev);
}

struct err *cap_joined_read(struct cap_joined *j, struct cap_events **ret)
{
	struct err *err = cap_log_flush(j->log);

	return err ? err : cap_events_open_log(j->capture, j->name, ret);
}

struct err *cap_joined_finish(struct cap_joined *j)
{
	uint64_t bytes;

	return cap_log_finish(j->log, &bytes);
}

struct err *cap_joined_keep(struct cap_joined *j)
{
	if (file_act(j->capture->dir_fd, FILE_RENAME, j->name, CAP_JOINED))
		return err_errno("cannot create %s/" CAP_JOINED, j->capture->dir);
	j->is_made = false;
	return NULL;
}

void cap_joined_destroy(struct cap_joined *j)
{
	if (!j)
		return;
	cap_log_destroy(j->log);
	if (j->is_made)
		file_act(j->capture->dir_fd, FILE_REMOVE, j->name, NULL);
	free(j);
}

void cap_joined_destroyp(struct cap_joined **j)
{
	cap_joined_destroy(*j);
}
