// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The rights of the recorder (doc/privilege.md). A user's recorder has capabilities from
 * its file, none of them in effect but in the calls that need one, and gives them up for
 * good once it can. The program that it starts never has any. Root's keeps what recording
 * other users' programs takes, and drops the rest.
 */
#define LOG_ROOM "record"
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "pt-collect/tracee/privilege.h"

/** What more is of use when root records: processes of others, memory and files of theirs,
 * a sandbox whose filter is not to see our calls, CPUs, setuid programs, and large rings. */
static const cap_value_t root_keeps[] = {
	CAP_BPF,	  CAP_PERFMON, CAP_SYS_PTRACE,	       CAP_SYS_ADMIN,
	CAP_SYS_NICE,	  CAP_KILL,    CAP_DAC_OVERRIDE,       CAP_DAC_READ_SEARCH,
	CAP_SYS_RESOURCE, CAP_CHOWN,   CAP_CHECKPOINT_RESTORE, CAP_IPC_LOCK,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct _cap_struct *caps;

static void caps_freep(caps *c)
{
	if (*c)
		cap_free(*c);
}

static bool is_root(void)
{
	return !geteuid();
}

static bool is_permitted(caps c, cap_value_t v)
{
	cap_flag_value_t on = CAP_CLEAR;

	return c && !cap_get_flag(c, v, CAP_PERMITTED, &on) && on == CAP_SET;
}

/** Before Linux 5.8 both were part of CAP_SYS_ADMIN, and they still are. */
static bool has(caps c, cap_value_t v)
{
	return is_permitted(c, v) || is_permitted(c, CAP_SYS_ADMIN);
}

static struct err *check(caps c)
{
	char missing[64] = "", self[4096] = "faultline";
	int n = 0;

	if (!has(c, CAP_BPF))
		n += snprintf(missing, sizeof(missing), "CAP_BPF");
	if (!has(c, CAP_PERFMON))
		n += snprintf(missing + n, sizeof(missing) - n, "%sCAP_PERFMON",
			      n ? ", " : "");
	if (!n)
		return NULL;
	if (is_root())
		return err_new(
			ERR_PERMISSION,
			"cannot record: needs %s, which root does not have here (docker "
			"and podman: run --cap-add=BPF --cap-add=PERFMON --pid=host)",
			missing);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		strcpy(self, "faultline");
	return err_new(ERR_PERMISSION,
		       "cannot record: needs %s (run it with sudo, or once: sudo setcap "
		       "cap_bpf,cap_perfmon+p %s)",
		       missing, self);
}

/** Have @p n of @p values at most in both sets (of a user: in effect none). */
static bool keep(caps now, const cap_value_t *values, size_t n)
{
	_cleanup_(caps_freep) caps c = cap_init();

	if (!c || cap_fill_flag(c, CAP_INHERITABLE, now, CAP_INHERITABLE))
		return false;
	for (size_t i = 0; i < n; i++)
		if (is_permitted(now, values[i]) &&
		    (cap_set_flag(c, CAP_PERMITTED, 1, &values[i], CAP_SET) ||
		     (is_root() &&
		      cap_set_flag(c, CAP_EFFECTIVE, 1, &values[i], CAP_SET))))
			return false;
	return !cap_set_proc(c);
}

struct err *ptc_privilege_init(void)
{
	_cleanup_(caps_freep) caps c = cap_get_proc();
	// To lock the rings of PT, where the user was given that, too.
	static const cap_value_t older[] = { CAP_BPF, CAP_PERFMON, CAP_IPC_LOCK,
					     CAP_SYS_ADMIN };
	bool is_older = !is_permitted(c, CAP_BPF) || !is_permitted(c, CAP_PERFMON);
	struct err *err = check(c);

	if (err)
		return err;
	if (is_root() ? keep(c, root_keeps, COUNT(root_keeps)) :
			keep(c, older, is_older ? 4 : 3))
		return NULL;
	return err_errno("cannot give up what recording does not need");
}

void ptc_privilege_use(bool is_used)
{
	_cleanup_(caps_freep) caps c = cap_get_proc();

	if (is_root() || !c)
		return;
	if (is_used)
		cap_fill_flag(c, CAP_EFFECTIVE, c, CAP_PERMITTED);
	else
		cap_clear_flag(c, CAP_EFFECTIVE);
	if (cap_set_proc(c))
		log_debug("cannot change the capabilities in effect");
}

void ptc_privilege_end(void)
{
	_cleanup_(caps_freep) caps c = cap_get_proc();

	if (!is_root() && c && !keep(c, NULL, 0))
		log_warn("cannot give up the capabilities");
}
