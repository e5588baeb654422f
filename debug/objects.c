// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * qXfer: what gdb reads as objects, each made anew where its beginning is asked for.
 */
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "debug/stub.h"

#define LIBRARIES_MOST 4096 ///< in a chain that a stranger's program has made
#define NAME_MOST 4096

/* ---- the program's own -------------------------------------------------------------------- */

static void put_auxv(struct dbg_stub *st, struct dbg_text *to)
{
	const struct cap_core *core = st->session.core;

	dbg_put(to, (const char *)core->auxv, core->n_auxv * 2 * sizeof(*core->auxv));
}

static void put_exec_file(struct dbg_stub *st, struct dbg_text *to)
{
	const char *exe = st->session.info->exe ?: "";

	dbg_put(to, exe, strlen(exe));
}

static void put_features(struct dbg_stub *st, struct dbg_text *to)
{
	const struct dbg_text *xml = &st->session.registers.xml;

	dbg_put(to, xml->bytes.data, xml->bytes.size);
}

/* What the kernel would tell a debugger of @p stop, which no signal of the program's is. */
static siginfo_t made_siginfo(const struct dbg_session *s, const struct dbg_stop *stop)
{
	siginfo_t made = { .si_signo = SIGTRAP, .si_code = SI_KERNEL };

	switch (stop->why) {
	case DBG_STOP_STEP:
		made.si_code = TRAP_TRACE;
		made.si_addr = (void *)s->where.rip;
		break;
	case DBG_STOP_POINT:
		if (stop->point.kind == DBG_POINT_SOFTWARE)
			break;
		made.si_code = TRAP_HWBKPT;
		made.si_addr = (void *)s->where.rip;
		break;
	case DBG_STOP_ENTRY:
	case DBG_STOP_RETURN:
		made.si_code = SIGTRAP | 0x80; // PTRACE_O_TRACESYSGOOD
		made.si_pid = stop->tid;
		break;
	case DBG_STOP_INTERRUPT:
		made.si_signo = SIGINT;
		break;
	default:
		break;
	}
	return made;
}

static void put_siginfo(struct dbg_stub *st, struct dbg_text *to)
{
	const struct dbg_signal *signal = dbg_session_signal(&st->session);
	const enum dbg_why why = st->is_moved ? DBG_STOP_PLACE : st->stop.why;
	siginfo_t made = made_siginfo(&st->session, &st->stop);

	if (signal && (why == DBG_STOP_SIGNAL || why == DBG_STOP_PLACE) &&
	    (st->session.is_before_handler || st->session.has_told_end ||
	     signal->seq > st->session.where.seq))
		dbg_put(to, (const char *)signal->siginfo, sizeof(signal->siginfo));
	else
		dbg_put(to, (const char *)&made, sizeof(made));
}

static void put_threads(struct dbg_stub *st, struct dbg_text *to)
{
	struct dec_thread t;
	struct err *err;

	dbg_print(to, "<?xml version=\"1.0\"?>\n<threads>\n");
	for (size_t i = 0; !(err = dec_machine_thread(st->session.machine, i, &t)); i++) {
		dbg_print(to, "<thread id=\"");
		dbg_stub_put_thread(st, to, t.tid);
		dbg_print(to, "\" name=\"");
		dbg_put_xml(to, t.name);
		dbg_print(to, "\">%s</thread>\n", t.is_in_call ? "in a call" : "");
	}
	err_destroy(err);
	dbg_print(to, "</threads>\n");
}

/* User memory, whatever is mapped there: that changes, and gdb asks once. */
static void put_memory_map(struct dbg_stub *st, struct dbg_text *to)
{
	(void)st;
	dbg_print(to, "<?xml version=\"1.0\"?>\n<memory-map>\n"
		      "<memory type=\"ram\" start=\"0x0\" length=\"0x800000000000\"/>\n"
		      "</memory-map>\n");
}

/* ---- libraries ------------------------------------------------------------------------------ */

static uint64_t auxv_value(const struct cap_core *core, uint64_t key)
{
	for (size_t i = 0; i < core->n_auxv; i++)
		if (core->auxv[2 * i] == key)
			return core->auxv[2 * i + 1];
	return 0;
}

static bool peek(struct dbg_stub *st, uint64_t addr, void *to, size_t n)
{
	return dbg_session_read(&st->session, addr, to, n) == n;
}

/* @return where the dynamic linker keeps its list, as the executable's DT_DEBUG says; 0: nowhere. */
static uint64_t find_debug(struct dbg_stub *st)
{
	const struct cap_core *core = st->session.core;
	uint64_t phdr = auxv_value(core, AT_PHDR), n = auxv_value(core, AT_PHNUM);
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr p;
	Elf64_Dyn d;

	for (uint64_t i = 0; i < n && peek(st, phdr + i * sizeof(p), &p, sizeof(p));
	     i++) {
		if (p.p_type == PT_PHDR)
			bias = phdr - p.p_vaddr;
		if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_vaddr;
	}
	for (uint64_t at = bias + dynamic; dynamic && peek(st, at, &d, sizeof(d));
	     at += sizeof(d)) {
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
		if (d.d_tag == DT_NULL)
			break;
	}
	return 0;
}

static const char *name_of(struct dbg_stub *st, const struct dbg_mapped *m)
{
	const struct cap_info *info = st->session.info;

	return m->file - 1u < info->n_files && info->files[m->file - 1].path ?
		       info->files[m->file - 1].path :
		       "";
}

static void put_libraries(struct dbg_stub *st, struct dbg_text *to)
{
	uint64_t debug = find_debug(st), at = 0;
	struct r_debug r = {};
	struct link_map map;

	if (debug && peek(st, debug, &r, sizeof(r)))
		at = (uint64_t)r.r_map;
	dbg_print(to, "<library-list-svr4 version=\"1.0\"");
	if (at) // the executable
		dbg_print(to, " main-lm=\"0x%lx\"", at);
	dbg_print(to, ">\n");
	for (size_t i = 0; i < LIBRARIES_MOST && at && peek(st, at, &map, sizeof(map));
	     i++) {
		const struct dbg_mapped *m =
			dbg_session_mapped(&st->session, (uint64_t)map.l_ld);
		char name[NAME_MOST] = "";

		dbg_session_read(&st->session, (uint64_t)map.l_name, name,
				 sizeof(name) - 1);
		if (i && *name) {
			dbg_print(to, "<library name=\"");
			// The linker's name may be a link's, which the capture does not have.
			dbg_put_xml(to, m && *name_of(st, m) ? name_of(st, m) : name);
			dbg_print(to,
				  "\" lm=\"0x%lx\" l_addr=\"0x%lx\" l_ld=\"0x%lx\" "
				  "lmid=\"0x0\"/>\n",
				  at, (uint64_t)map.l_addr, (uint64_t)map.l_ld);
		}
		at = (uint64_t)map.l_next;
	}
	dbg_print(to, "</library-list-svr4>\n");
}

/* ---- /proc/PID/maps -------------------------------------------------------------------------- */

void dbg_object_maps(struct dbg_stub *st, struct dbg_text *to)
{
	struct dec_range r;
	struct err *err;

	for (size_t i = 0; !(err = dec_machine_range(st->session.machine, i, &r)); i++) {
		const struct dbg_mapped *m = dbg_session_mapped(&st->session, r.start);

		dbg_print(to, "%lx-%lx %c%c%c%c %08lx 00:00 0 %s%s\n", r.start, r.end,
			  r.prot & PROT_READ ? 'r' : '-', r.prot & PROT_WRITE ? 'w' : '-',
			  r.prot & PROT_EXEC ? 'x' : '-', r.is_shared ? 's' : 'p',
			  m ? m->offset + (r.start - m->start) : 0, m ? "  " : "",
			  m ? name_of(st, m) : "");
	}
	err_destroy(err);
}

/* ---- qXfer ----------------------------------------------------------------------------------- */

static const struct {
	const char *request;
	void (*put)(struct dbg_stub *st, struct dbg_text *to);
} objects[] = {
	{ "features:read:target.xml:", put_features },
	{ "auxv:read::", put_auxv },
	{ "exec-file:read:", put_exec_file }, // a process id may follow
	{ "threads:read::", put_threads },
	{ "libraries-svr4:read:", put_libraries }, // so may where to begin
	{ "memory-map:read::", put_memory_map },
	{ "siginfo:read::", put_siginfo },
};

static void put_part(struct dbg_stub *st, const struct dbg_text *t, uint64_t offset,
		     uint64_t size)
{
	uint64_t left = offset < t->bytes.size ? t->bytes.size - offset : 0;
	// Escaped, a byte may be two.
	uint64_t most = DBG_PACKET_MOST / 2 - 16, n = size < left ? size : left;

	n = n < most ? n : most;
	dbg_put(&st->reply, n < left ? "m" : "l", 1);
	dbg_put_binary(&st->reply, t->bytes.data + offset, n);
}

void dbg_object_read(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint64_t offset, size;
	struct dbg_text t = {};

	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		if (!dbg_take(c, objects[i].request))
			continue;
		c->at = memrchr(c->at - 1, ':', c->end - c->at + 1) + 1;
		if (!dbg_take_hex(c, &offset) || !dbg_take(c, ",") ||
		    !dbg_take_hex(c, &size)) {
			dbg_print(&st->reply, "E01");
			return;
		}
		objects[i].put(st, &t);
		if (t.is_out_of_memory)
			dbg_stub_fail(st, &err_nomem);
		else
			put_part(st, &t, offset, size);
		dbg_text_deinit(&t);
		return;
	}
}
