// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "api/api.h"

#include <string.h>

/* ---- statuses ------------------------------------------------------------------------------- */

static __thread char error_text[1024];

const char *flt_error(void)
{
	return error_text;
}

const char *flt_version(void)
{
	return FAULTLINE_VERSION;
}

enum flt_status api_status(struct err *err)
{
	static const enum flt_status of[] = {
		[ERR_NOMEM] = FLT_NOMEM,
		[ERR_OS] = FLT_OS,
		[ERR_USAGE] = FLT_USAGE,
		[ERR_NOT_FOUND] = FLT_NOT_FOUND,
		[ERR_PERMISSION] = FLT_PERMISSION,
		[ERR_FORMAT] = FLT_FORMAT,
		[ERR_TRUNCATED] = FLT_TRUNCATED,
		[ERR_VERSION] = FLT_VERSION,
		[ERR_RANGE] = FLT_RANGE,
		[ERR_DIVERGED] = FLT_DIVERGED,
		[ERR_UNSUPPORTED] = FLT_UNSUPPORTED,
		[ERR_AMBIGUOUS] = FLT_NOT_FOUND,
	};
	enum flt_status status;

	if (!err)
		return FLT_OK;
	snprintf(error_text, sizeof(error_text), "%s", err->message);
	status = (size_t)err->code < sizeof(of) / sizeof(*of) ? of[err->code] : FLT_OK;
	err_destroy(err);
	return status ?: FLT_OS;
}

void api_tell(void *ret, size_t ret_bytes, const void *from, size_t bytes)
{
	size_t both = ret_bytes < bytes ? ret_bytes : bytes;

	memcpy(ret, from, both);
	memset((char *)ret + both, 0, ret_bytes - both);
}

/* ---- captures ------------------------------------------------------------------------------- */

static struct err *open_capture(struct flt_capture *c, const char *dir,
				const char *process)
{
	_cleanup_free_ char *path = NULL;
	struct err *err = process ? capture_process_dir(dir, process, &path) : NULL;
	const struct cap_info *info;

	if (!err)
		err = capture_open(path ?: dir, &c->capture);
	if (err)
		return err;
	info = capture_info(c->capture);
	c->missing = calloc(info->n_missing + 1, sizeof(*c->missing));
	if (!c->missing)
		return &err_nomem;
	for (size_t i = 0; i < info->n_missing; i++)
		c->missing[i] = info->missing[i];
	return NULL;
}

enum flt_status flt_capture_open(const char *dir, const char *process,
				 struct flt_capture **ret)
{
	struct flt_capture *c = calloc(1, sizeof(*c));
	struct err *err = c ? open_capture(c, dir, process) : &err_nomem;

	if (err)
		flt_capture_close(c);
	else
		*ret = c;
	return api_status(err);
}

void flt_capture_close(struct flt_capture *c)
{
	if (!c)
		return;
	capture_close(c->capture);
	free(c->missing);
	free(c);
}

enum flt_status flt_capture_info(const struct flt_capture *c, struct flt_info *ret,
				 size_t ret_bytes)
{
	static const enum flt_ending endings[] = {
		[CAP_END_UNKNOWN] = FLT_ENDED_UNKNOWN,
		[CAP_END_EXIT] = FLT_ENDED_EXIT,
		[CAP_END_SIGNAL] = FLT_ENDED_SIGNAL,
		[CAP_END_DETACHED] = FLT_ENDED_DETACHED,
		[CAP_END_EXEC] = FLT_ENDED_EXEC,
	};
	const struct cap_info *i = capture_info(c->capture);
	const struct flt_info info = {
		.exe = i->exe,
		.cwd = i->cwd,
		.argv = (const char *const *)i->argv,
		.missing = c->missing,
		.n_events = i->n_events,
		.n_files = i->n_files,
		.n_processes = i->n_processes,
		.pid = i->pid,
		.ending = endings[i->end],
		.ending_value = i->end_value,
		.is_complete = i->is_complete,
	};

	api_tell(ret, ret_bytes, &info, sizeof(info));
	return FLT_OK;
}

enum flt_status flt_capture_file(const struct flt_capture *c, uint64_t i,
				 struct flt_file *ret, size_t ret_bytes)
{
	const struct cap_info *info = capture_info(c->capture);
	struct flt_file file;

	if (i >= info->n_files)
		return FLT_END;
	file = (struct flt_file){ .path = info->files[i].path,
				  .build_id = info->files[i].build_id,
				  .copy = info->files[i].stored };
	api_tell(ret, ret_bytes, &file, sizeof(file));
	return FLT_OK;
}

/* ---- events --------------------------------------------------------------------------------- */

struct flt_events {
	struct cap_events *events;
	VEC(struct flt_write) writes; ///< of the last event
};

enum flt_status flt_events_open(const struct flt_capture *c, struct flt_events **ret)
{
	struct flt_events *e = calloc(1, sizeof(*e));
	struct err *err = e ? cap_events_open(c->capture, &e->events) : &err_nomem;

	if (err)
		free(e);
	else
		*ret = e;
	return api_status(err);
}

void flt_events_close(struct flt_events *e)
{
	if (!e)
		return;
	cap_events_close(e->events);
	vec_deinit(&e->writes);
	free(e);
}

static int64_t event_value(const struct cap_event *ev)
{
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		return ev->ret;
	case CAP_EV_TSC:
		return ev->tsc;
	case CAP_EV_EXIT:
		return ev->exit_code;
	case CAP_EV_SWITCH:
		return ev->next_tid;
	case CAP_EV_HEAP_DONE:
		return ev->heap_args[0];
	default:
		return 0;
	}
}

static const char *event_text(const struct cap_event *ev)
{
	if (ev->kind == CAP_EV_HEAP || ev->kind == CAP_EV_HEAP_DONE)
		return cap_heap_name(ev->heap_fn);
	return ev->kind == CAP_EV_GAP ? ev->text : NULL;
}

void api_regs(struct flt_regs *ret, const struct cap_regs *regs)
{
	memcpy(ret->gpr, regs->gpr, sizeof(ret->gpr));
	ret->rip = regs->rip;
	ret->rflags = regs->rflags;
	ret->fs_base = regs->fs_base;
	ret->gs_base = regs->gs_base;
}

enum flt_status flt_events_next(struct flt_events *e, struct flt_event *ret,
				size_t ret_bytes)
{
	struct flt_event event;
	struct cap_event ev;
	bool is_end = false;
	struct err *err = cap_events_next(e->events, &ev, &is_end);

	if (err || is_end)
		return err ? api_status(err) : FLT_END;
	e->writes.size = 0;
	for (size_t i = 0; i < ev.n_writes && !err; i++)
		err = vec_add(&e->writes,
			      (struct flt_write){ .addr = ev.writes[i].addr,
						  .size = ev.writes[i].size,
						  .bytes = ev.writes[i].data });
	if (err)
		return api_status(err);
	event = (struct flt_event){
		.kind = (uint32_t)ev.kind,
		.tid = ev.tid,
		.seq = ev.seq,
		.at_ns = ev.at_ns,
		.value = event_value(&ev),
		.signal = ev.kind == CAP_EV_SIGNAL ? ev.signo : 0,
		.is_fatal = ev.kind == CAP_EV_SIGNAL && ev.is_fatal,
		.writes = e->writes.data,
		.n_writes = e->writes.size,
		.text = event_text(&ev),
	};
	if (ev.kind == CAP_EV_HEAP)
		memcpy(event.args, ev.heap_args, sizeof(event.args));
	api_regs(&event.regs, &ev.regs);
	api_tell(ret, ret_bytes, &event, sizeof(event));
	return FLT_OK;
}
