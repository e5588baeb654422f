// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The functions that a stopped thread is in. Runs have one address layout, so that libdw's modules,
 * and what it has found in them, serve for many; they are made anew when the mappings differ.
 */

#include "faultlocate/reduce/worker.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/hash.h"

#define FRAMES_SHOWN 8
#define FRAMES_LOOKED_AT 64
#define MAPS_MAX (1u << 20)

static Dwfl *dwfl;
static uint64_t dwfl_maps; ///< a hash of the mappings that it is of
static pid_t stopped, stopped_tid;

/* ---- what libdw asks ----------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *d, void *arg, void **state)
{
	(void)d, (void)arg;
	if (*state)
		return 0;
	*state = &stopped;
	return 1;
}

static bool get_thread(Dwfl *d, pid_t tid, void *arg, void **state)
{
	(void)d, (void)tid, (void)arg;
	*state = &stopped;
	return true;
}

static bool read_word(Dwfl *d, Dwarf_Addr addr, Dwarf_Word *ret, void *arg)
{
	struct iovec to = { ret, sizeof(*ret) }, from = { (void *)addr, sizeof(*ret) };

	(void)d, (void)arg;
	return process_vm_readv(stopped, &to, 1, &from, 1, 0) == sizeof(*ret);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct user_regs_struct u;

	(void)arg;
	if (ptrace(PTRACE_GETREGS, stopped_tid, NULL, &u))
		return false;
	// In DWARF's order.
	return dwfl_thread_state_registers(
		thread, 0, 17,
		(Dwarf_Word[]){ u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp,
				u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15,
				u.rip });
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

/* ---- modules --------------------------------------------------------------------------------- */

static char *read_maps(pid_t pid, size_t *size)
{
	char path[64], *text = malloc(MAPS_MAX);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	*size = f && text ? fread(text, 1, MAPS_MAX - 1, f) : 0;
	if (f)
		fclose(f);
	if (text)
		text[*size] = 0;
	return text;
}

static Dwfl *make_modules(char *maps)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	Dwfl *d = dwfl_begin(&callbacks);
	char last[4096] = "";

	for (char *rest = NULL, *line = strtok_r(maps, "\n", &rest); line && d;
	     line = strtok_r(NULL, "\n", &rest)) {
		unsigned long start, offset;
		char path[4096];

		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095[^\n]", &start, &offset,
			   path) != 3 ||
		    *path != '/' || offset || !strcmp(path, last))
			continue;
		memcpy(last, path, sizeof(last));
		dwfl_report_elf(d, path, path, -1, start, false);
	}
	if (d)
		dwfl_report_end(d, NULL, NULL);
	if (d && !dwfl_attach_state(d, NULL, 1, &thread_callbacks, NULL)) {
		dwfl_end(d);
		return NULL;
	}
	return d;
}

/* Code and its places, not the heap's size, make a layout. */
static uint64_t hash_maps(const char *text)
{
	uint64_t h = HASH_START;

	for (const char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		end += !!*end;
		if (!memchr(line, '/', end - line))
			continue;
		h = hash_bytes(h, line, end - line);
	}
	return h;
}

static bool have_modules(pid_t pid)
{
	size_t size;
	char *maps = read_maps(pid, &size);
	uint64_t h;

	if (!maps || !size) {
		free(maps);
		return false;
	}
	h = hash_maps(maps);
	if (!dwfl || h != dwfl_maps) {
		if (dwfl)
			dwfl_end(dwfl);
		dwfl = make_modules(maps);
		dwfl_maps = h;
	}
	free(maps);
	return dwfl;
}

/* ---- frames ------------------------------------------------------------------------------------- */

struct taking {
	struct fl_run_end *ret;
	unsigned n_wanted, n_own, n_seen, n_shown;
	size_t at;
};

/* Is it of the C library or the like: who is where says nothing of the failure? */
static bool is_support(const char *path)
{
	static const char *const names[] = { "libc.so", "libc-",    "libpthread",
					     "libm.so", "ld-linux", "ld-",
					     "libasan", "libubsan", "libstdc++",
					     "libgcc_s" };
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static void mix(struct taking *t, const char *name)
{
	t->ret->frames_hash = hash_text(t->ret->frames_hash, name) * 31;
}

static void show(struct taking *t, const char *name)
{
	struct fl_run_end *r = t->ret;

	if (t->n_shown++ >= FRAMES_SHOWN)
		return;
	t->at += snprintf(r->frames + t->at, sizeof(r->frames) - t->at, "%s%.60s",
			  t->at ? " < " : "", name);
}

static int take_frame(Dwfl_Frame *state, void *arg)
{
	struct taking *t = arg;
	Dwarf_Addr pc;
	bool is_exact;
	Dwfl_Module *mod;
	const char *path = "?", *name;
	char place[128];

	if (!dwfl_frame_pc(state, &pc, &is_exact))
		return DWARF_CB_ABORT;
	pc -= !is_exact;
	mod = dwfl_addrmodule(dwfl, pc);
	if (mod)
		path = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ?:
			       "?";
	name = mod ? dwfl_module_addrname(mod, pc) : NULL;
	// What the compiler adds for copies of its own tells nothing.
	if (name)
		snprintf(place, sizeof(place), "%.*s", 1 + (int)strcspn(name + 1, "."),
			 name);
	else
		snprintf(place, sizeof(place), "0x%lx", (unsigned long)pc);
	name = place;
	if (!is_support(path) && t->n_own < t->n_wanted) {
		mix(t, name);
		t->n_own++;
	}
	if (!is_support(path))
		show(t, name);
	return ++t->n_seen < FRAMES_LOOKED_AT &&
			       (t->n_own < t->n_wanted || t->n_shown < FRAMES_SHOWN) ?
		       DWARF_CB_OK :
		       DWARF_CB_ABORT;
}

void fl_frames_take(pid_t pid, pid_t tid, const struct fl_run_options *o,
		    struct fl_run_end *ret)
{
	struct taking t = { .ret = ret, .n_wanted = o->n_frames };

	ret->frames_hash = HASH_START;
	ret->frames[0] = 0;
	stopped = pid;
	stopped_tid = tid;
	if (have_modules(pid))
		dwfl_getthread_frames(dwfl, 1, take_frame, &t);
	ret->has_frames = t.n_seen;
}
