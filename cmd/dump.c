// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline dump: what a capture holds, one event a line. For people who look into
 * faultline itself; the lines are not a stable format, but with --json.
 */
// COMMAND look/dump: print the events of a capture, one a line
#define LOG_ROOM "capture"
#include <argp.h>
#include <inttypes.h>
#include <string.h>

#include "base/option.h"
#include "cmd/dump_int.h"
#include "decode/x86/insn.h"
#include "pt-collect/inputs/names.h"

#define EXIT_FAILED 2

int cmd_dump(int argc, char **argv);

struct arguments {
	const char *dir, *process;
	bool only_processes, as_json;
	struct dump_options events;
};

enum { OPT_JSON = 256 };

static const struct argp_option options[] = {
	{ "memory", 'm', NULL, 0, "Print the memory that each event wrote", 0 },
	{ "registers", 'r', NULL, 0, "Print the general registers of each event", 0 },
	{ "thread", 't', "TID", 0,
	  "Print only the events of this thread, and the switches to it", 0 },
	{ "kind", 'k', "KIND[,KIND...]", 0,
	  "Print only events of these kinds: syscall, signal, tsc, cpuid, heap, exit, "
	  "gap, switch, random, heap_done, probe",
	  0 },
	{ "json", OPT_JSON, NULL, 0,
	  "Print each event, or process, as a JSON object on its line", 0 },
	{ "processes", 'P', NULL, 0,
	  "Print the tree of the processes that `record -f' followed, with the programs that "
	  "each was before an exec, and nothing else",
	  0 },
	{ "process", 'p', "PROCESS", 0,
	  "Print what the capture holds of this process: its number in that tree, or its "
	  "process id",
	  0 },
	{}
};

static const char doc[] =
	"Print what CAPTURE holds: a summary, the mappings at the start, then one event a "
	"line. With --json, --thread or --kind the events alone.\v"
	"Examples:\n"
	"  faultline dump prog.flt | less\n"
	"  faultline dump prog.flt | grep -c SYSCALL\n"
	"  faultline dump -rm prog.flt >all.txt\n"
	"  faultline dump --thread 4711 --kind syscall,switch server.flt\n"
	"  faultline dump --json -k syscall prog.flt | jq -r 'select(.result < 0).name'\n"
	"  faultline dump --processes make.flt\n"
	"  faultline dump --process 12 make.flt\n";

static uint32_t parse_kinds(const char *arg, struct argp_state *state)
{
	uint32_t kinds = 0;

	for (const char *at = arg; at;
	     at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t n = strcspn(at, ",");
		int kind = CAP_EV_SYSCALL;

		while (kind < CAP_EV_KINDS && (strlen(cmd_dump_kind(kind)) != n ||
					       strncmp(cmd_dump_kind(kind), at, n)))
			kind++;
		if (kind == CAP_EV_KINDS)
			argp_error(state, "unknown kind of event '%.*s'", (int)n, at);
		kinds |= 1u << kind;
	}
	return kinds;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'm':
		a->events.with_memory = true;
		return 0;
	case 'r':
		a->events.with_regs = true;
		return 0;
	case 't':
		a->events.tid = option_tid(state, arg);
		return 0;
	case 'k':
		a->events.kinds |= parse_kinds(arg, state);
		return 0;
	case OPT_JSON:
		a->as_json = true;
		text_guard_json();
		return 0;
	case 'P':
		a->only_processes = true;
		return 0;
	case 'p':
		a->process = arg;
		return 0;
	}
	return option_only(state, key, arg, "capture", &a->dir);
}

static void print_end_core(const struct cap_end_core *e)
{
	if (!e->reason)
		return;
	printf("end.core: %s", cap_end_reason_name(e->reason));
	if (e->signo)
		printf(" by %s, address 0x%" PRIx64, text_signal(e->signo), e->address);
	if (e->function)
		printf(" %s at 0x%" PRIx64, text_line(e->function), e->address);
	printf(" in thread %u at %" PRIu64 " ns\n", e->tid, e->at_ns);
}

static void print_pt(const struct cap_pt *pt)
{
	if (pt->is_recorded)
		printf("pt: %" PRIu64 " bytes, %" PRIu64 " gaps, %" PRIu64
		       " lost records\n",
		       pt->bytes, pt->n_gaps, pt->n_lost);
	if (pt->probe_page)
		printf("pt: the kernel's page for probes is at %" PRIx64 "\n",
		       pt->probe_page);
	for (size_t i = 0; i < pt->n_breakpoints; i++)
		printf("pt: %zu breakpoints of probes in file %u\n", pt->breakpoints[i].n,
		       pt->breakpoints[i].file);
	if (!pt->is_recorded)
		printf("pt: none: %s\n", text_line(pt->why_not ?: ""));
}

/** What one of the flight recorder's rings holds. */
static void print_ring(const char *what, uint64_t n_overwritten, uint64_t from_ns)
{
	printf("flight recorder: %" PRIu64 " %s events before these were overwritten",
	       n_overwritten, what);
	if (from_ns)
		printf("; all from %" PRIu64 " ns on are here", from_ns);
	putchar('\n');
}

static void print_info(const struct cap_info *info)
{
	printf("version %d, %s, pid %u, %" PRIu64 " events, %" PRIu64 " system calls\n",
	       info->version, info->is_complete ? "complete" : "incomplete", info->pid,
	       info->n_events, info->n_syscalls);
	if (info->mode == CAP_MODE_FLIGHT)
		print_ring("allocator", info->n_overwritten, info->heap_from_ns);
	if (info->mode == CAP_MODE_FLIGHT && info->n_store_sites)
		print_ring("store", info->n_stores_overwritten, info->stores_from_ns);
	print_end_core(&info->end_core);
	if (info->pt.is_wanted)
		print_pt(&info->pt);
	if (info->mode == CAP_MODE_FLIGHT && !info->pt.is_recorded)
		puts("without pt the events are a history: what ran between them, and with "
		     "which values, is not known");
	for (size_t i = 0; i < info->n_missing; i++)
		printf("missing: %s\n", text_line(info->missing[i]));
	for (size_t i = 0; info->argv && info->argv[i]; i++)
		printf("argv[%zu]: %s\n", i, text_line(info->argv[i]));
	for (size_t i = 0; i < info->n_files; i++)
		printf("file %zu: %s = files/%s\n", i + 1, info->files[i].path,
		       info->files[i].stored ?: "(not kept)");
	for (size_t i = 0; i < info->n_store_sites; i++)
		printf("store probe %zu: file %u at 0x%" PRIx64 ", %s\n", i,
		       info->store_sites[i].file, info->store_sites[i].file_offset,
		       info->store_sites[i].is_emulated ? "emulated" : "single-stepped");
	for (size_t i = 0; i < info->n_heap_sites; i++)
		printf("probe: %s in file %u at 0x%" PRIx64 " (entry 0x%" PRIx64 ")\n",
		       cap_heap_name(info->heap_sites[i].fn), info->heap_sites[i].file,
		       info->heap_sites[i].file_offset, info->heap_sites[i].entry_offset);
}

static void print_regs(const char *title, const struct cap_regs *r)
{
	printf("    %s", title);
	for (int i = 0; i < CAP_GPRS; i++)
		printf(" %s=%" PRIx64, dec_reg_gpr_name(i), r->gpr[i]);
	printf(" rip=%" PRIx64 " rflags=%" PRIx64 " fs=%" PRIx64 " gs=%" PRIx64 "\n",
	       r->rip, r->rflags, r->fs_base, r->gs_base);
}

static void print_core(struct cap_core *core, const char *title)
{
	for (size_t i = 0; i < core->n_threads; i++) {
		printf("thread %u:\n", core->threads[i].tid);
		print_regs(title, &core->threads[i].regs);
	}
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		printf("map %" PRIx64 "-%" PRIx64 " prot %d file %u+0x%" PRIx64
		       " core %" PRIu64 " %s\n",
		       m->start, m->end, m->prot, m->file, m->file_offset, m->core_bytes,
		       m->name);
	}
	cap_core_close(core);
}

static struct err *print_cores(const struct capture *c)
{
	const struct cap_info *info = capture_info(c);
	struct cap_core *core;
	struct err *err = NULL;

	if (info->mode == CAP_MODE_REPLAY)
		err = cap_core_open(c, &core);
	if (!err && info->mode == CAP_MODE_REPLAY)
		print_core(core, "start");
	if (!err && info->end_core.reason)
		err = cap_end_core_open(c, &core);
	if (!err && info->end_core.reason)
		print_core(core, "end");
	return err;
}

static void print_syscall(const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;

	printf("SYSCALL %s(%" PRIx64 ", %" PRIx64 ", %" PRIx64 ", %" PRIx64 ", %" PRIx64
	       ", %" PRIx64 ") = %" PRId64,
	       ptc_name_or_number(g[CAP_RAX]), g[CAP_RDI], g[CAP_RSI], g[CAP_RDX],
	       g[CAP_R10], g[CAP_R8], g[CAP_R9], ev->ret);
	if (ev->file)
		printf(" file %u+0x%" PRIx64, ev->file, ev->file_offset);
	if (ev->flags & CAP_SYS_UNLISTED)
		printf(" UNLISTED");
	if (ev->flags & CAP_SYS_PARTIAL)
		printf(" PARTIAL");
}

static void print_probe(const struct cap_event *ev)
{
	printf("PROBE %u at %" PRIx64, ev->probe_site, ev->regs.rip);
	for (int r = 0; r < CAP_GPRS; r++)
		if (ev->probe_gprs >> r & 1)
			printf(" %s=%" PRIx64, dec_reg_gpr_name(r), ev->regs.gpr[r]);
}

static void print_body(const struct cap_event *ev)
{
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		print_syscall(ev);
		break;
	case CAP_EV_SIGNAL:
		printf("SIGNAL %d%s at %" PRIx64, ev->signo, ev->is_fatal ? " fatal" : "",
		       ev->regs.rip);
		break;
	case CAP_EV_TSC:
		printf("TSC %" PRIx64 " at %" PRIx64, ev->tsc, ev->regs.rip);
		break;
	case CAP_EV_RANDOM:
		printf("RANDOM, behind it at %" PRIx64, ev->regs.rip);
		break;
	case CAP_EV_CPUID:
		printf("CPUID %x.%x = %x %x %x %x at %" PRIx64, ev->leaf, ev->subleaf,
		       ev->cpuid[0], ev->cpuid[1], ev->cpuid[2], ev->cpuid[3],
		       ev->regs.rip);
		break;
	case CAP_EV_HEAP:
		printf("HEAP %s(%" PRIx64 ", %" PRIx64 ", %" PRIx64 ")",
		       cap_heap_name(ev->heap_fn), ev->heap_args[0], ev->heap_args[1],
		       ev->heap_args[2]);
		break;
	case CAP_EV_HEAP_DONE:
		printf("HEAP_DONE %s = %" PRIx64, cap_heap_name(ev->heap_fn),
		       ev->heap_args[0]);
		break;
	case CAP_EV_PROBE:
		print_probe(ev);
		break;
	case CAP_EV_EXIT:
		printf("EXIT %d", ev->exit_code);
		break;
	case CAP_EV_GAP:
		printf("GAP %s", text_line(ev->text));
		break;
	case CAP_EV_SWITCH:
		printf("SWITCH to %u, at %" PRIx64 "%s%s%s", ev->next_tid, ev->regs.rip,
		       ev->switch_flags & CAP_SWITCH_TURN ? " turn" : "",
		       ev->switch_flags & CAP_SWITCH_IN_CALL ? " in a call" : "",
		       ev->switch_flags & CAP_SWITCH_TID_CLEARED ? " tid cleared" :
		       ev->switch_flags & CAP_SWITCH_ROBUST_LEFT ? " robust list left" :
								   "");
		break;
	case CAP_EV_OMITTED:
		if (ev->n_steps)
			printf("OMITTED %" PRIu64 " steps at position %" PRIu64
			       ", behind them at %" PRIx64,
			       ev->n_steps, ev->position, ev->regs.rip);
		else
			printf("OMITTED the rest from position %" PRIu64, ev->position);
		break;
	case CAP_EV_SHARED:
		printf("SHARED %" PRIx64 "+%" PRIu64 " is %016" PRIx64 "+%" PRIu64,
		       ev->shared.start, ev->shared.size, ev->shared.key,
		       ev->shared.offset);
		break;
	case CAP_EV_KINDS:
		break;
	}
}

static void print_write(const struct cap_write *w, bool with_memory)
{
	printf(" [%" PRIx64 "+%" PRIu64 "]", w->addr, w->size);
	for (uint64_t i = 0; with_memory && i < w->size; i++)
		printf("%s%02x", i ? "" : "=", w->data[i]);
}

static struct err *print_event(void *ctx, const struct cap_event *ev)
{
	const struct arguments *a = ctx;
	const struct dump_options *o = &a->events;

	if (!cmd_dump_is_wanted(ev, o))
		return NULL;
	if (a->as_json)
		return cmd_dump_json(ev, o, stdout);
	printf("%" PRIu64 " %u ", ev->seq, ev->tid);
	print_body(ev);
	for (size_t i = 0; i < ev->n_writes; i++)
		print_write(&ev->writes[i], o->with_memory);
	putchar('\n');
	if (o->with_regs)
		print_regs("regs", &ev->regs);
	if (ev->has_after)
		print_regs("after", &ev->after);
	return NULL;
}

static struct err *print_capture(const struct capture *c, struct arguments *a)
{
	const struct cap_info *info = capture_info(c);
	struct err *err;

	if (a->only_processes)
		return a->as_json ? cmd_dump_processes_json(info, stdout) :
				    cmd_dump_processes(info, stdout);
	if (a->as_json || a->events.tid || a->events.kinds)
		return cap_events_each(c, print_event, a);
	print_info(info);
	err = info->n_processes ? cmd_dump_processes(info, stdout) : NULL;
	if (!err)
		err = print_cores(c);
	return err ?: cap_events_each(c, print_event, a);
}

int cmd_dump(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "CAPTURE", doc,
					  NULL,	   NULL,	 NULL };
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = NULL;
	_cleanup_free_ char *dir = NULL;
	struct arguments a = {};

	argp_err_exit_status = EXIT_FAILED;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.process)
		err = capture_process_dir(a.dir, a.process, &dir);
	if (!err)
		err = capture_open(dir ?: a.dir, &c);
	if (!err) {
		err = print_capture(c, &a);
		if (err)
			err = err_prefix(err, "cannot dump all of '%s'", dir ?: a.dir);
	}
	if (err) {
		fflush(stdout);
		fprintf(stderr, "faultline: %s\n", err->message);
		return EXIT_FAILED;
	}
	return 0;
}
