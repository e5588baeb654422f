// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/log.h"
#include "cmd/command.h"

#include <string.h>

void cmd_command_push(struct argp_state *state, fl_texts *v, const char *text)
{
	const char **slot = vec_push(v);

	if (!slot)
		argp_failure(state, argp_err_exit_status, 0, "out of memory");
	else
		*slot = text;
}

struct err *cmd_command_process(const char *capture, const char *process, char **ret)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = NULL;

	if (process)
		return capture_process_dir(capture, process, ret);
	*ret = strdup(capture);
	err = capture_open(capture, &c); // the analysis tells what is wrong with it
	if (!err && capture_info(c)->n_processes)
		log_note("the capture holds %zu more process%s: choose with --process",
			 capture_info(c)->n_processes,
			 capture_info(c)->n_processes == 1 ? "" : "es");
	return *ret ? NULL : &err_nomem;
}
