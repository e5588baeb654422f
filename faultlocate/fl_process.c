// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_process.h"

#include <signal.h>
#include <string.h>

#include "faultlocate/fl_types.h"

// Why a process is chosen: each reason counts for more than all those before.
enum { FAILED = 1, HAS_TYPES = 2 };

struct chooser {
	const struct capture *capture;
	struct spec *spec;	 ///< NULL: none was given
	const char *looked_into; ///< the program that was looked into last
	bool has_types;		 ///< it has some
};

static bool is_failure(enum cap_end end, int value)
{
	static const int failures[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
					SIGABRT, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++)
		if (end == CAP_END_SIGNAL && value == failures[i])
			return true;
	return false;
}

/* Does the program of the process whose bundle is @p dir have a type that is declared? */
static bool look_into(struct chooser *c, const char *dir)
{
	_cleanup_(capture_closep) struct capture *capture = NULL;
	struct dec_symbols *symbols = NULL;
	bool found = false;
	struct err *err = capture_open(dir, &capture);

	if (!err)
		err = dec_symbols_create(capture, &symbols);
	for (size_t i = 0; !err && !found && i < spec_types(c->spec); i++) {
		const struct dec_struct *layout;
		struct err *none =
			dec_symbols_struct(symbols, spec_type(c->spec, i)->name, &layout);

		found = !none;
		err_destroy(none);
	}
	dec_symbols_destroy(symbols);
	err_destroy(err);
	return found;
}

static int judge(struct chooser *c, const char *dir, const char *exe, enum cap_end end,
		 int value)
{
	int why = is_failure(end, value) ? FAILED : 0;

	if (!c->spec || !exe)
		return why;
	if (!c->looked_into || strcmp(c->looked_into, exe))
		c->has_types = look_into(c, dir);
	c->looked_into = exe;
	return why + (c->has_types ? HAS_TYPES : 0);
}

static const char *reason(int why)
{
	switch (why) {
	case FAILED:
		return "which a signal ended";
	case HAS_TYPES:
		return "whose program has the types of the specification";
	default:
		return "whose program has the types of the specification and which a "
		       "signal ended";
	}
}

/* Choose among the processes of a capture that has several. */
static struct err *choose(struct chooser *c, char **dir, char **note)
{
	const struct cap_info *info = capture_info(c->capture);
	int why = judge(c, *dir, info->exe, info->end, info->end_value), best = why;
	const struct cap_process *chosen = NULL;
	size_t n;

	for (size_t i = 0; i < info->n_processes; i++) {
		const struct cap_process *p = &info->processes[i];
		_cleanup_free_ char *at = NULL;
		struct err *err = p->dir ? capture_child_dir(c->capture, p, &at) : NULL;

		why = err || !at ? 0 : judge(c, at, p->exe, p->end, p->end_value);
		err_destroy(err);
		if (why <= best)
			continue;
		best = why;
		chosen = p;
		free(*dir);
		*dir = take_ptr(&at);
	}
	n = cap_process_followed(info->processes, info->n_processes);
	if (!n && !chosen)
		return NULL;
	if ((n ? asprintf(note, "the capture holds %zu more process%s: ", n,
			  n == 1 ? "" : "es") :
		 asprintf(note, "the capture holds what the process was before: ")) < 0)
		return &err_nomem;
	if (chosen) {
		_cleanup_free_ char *begin = take_ptr(note);

		if (asprintf(note, "%sthis is number %u, %s, %s; ", begin, chosen->index,
			     chosen->exe ? text_line(chosen->exe) : "?",
			     reason(best)) < 0)
			return &err_nomem;
	}
	return NULL;
}

struct err *fl_process_choose(const char *capture, const char *const *specs,
			      size_t n_specs, char **dir, char **note)
{
	_cleanup_(capture_closep) struct capture *opened = NULL;
	struct chooser c = {};
	struct err *err = capture_open(capture, &opened), *wrong = NULL;

	*note = NULL;
	*dir = strdup(capture);
	// The analysis tells what is wrong with it.
	if (err || !*dir || !capture_info(opened)->n_processes) {
		err_destroy(err);
		return *dir ? NULL : &err_nomem;
	}
	c.capture = opened;
	if (n_specs)
		wrong = spec_create(&c.spec);
	for (size_t i = 0; i < n_specs && !wrong; i++)
		wrong = spec_add_file(c.spec, specs[i]);
	err_destroy(wrong);
	err = choose(&c, dir, note);
	spec_destroy(c.spec);
	return err;
}
