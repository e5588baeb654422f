// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "capture"
#include "cmd/dump_int.h"

#include <cjson/cJSON.h>
#include <inttypes.h>

#include "decode/x86/insn.h"
#include "pt-collect/inputs/names.h"

const char *cmd_dump_kind(enum cap_event_kind kind)
{
	static const char *const names[CAP_EV_KINDS] = {
		[CAP_EV_SYSCALL] = "syscall", [CAP_EV_SIGNAL] = "signal",
		[CAP_EV_TSC] = "tsc",	      [CAP_EV_CPUID] = "cpuid",
		[CAP_EV_HEAP] = "heap",	      [CAP_EV_EXIT] = "exit",
		[CAP_EV_GAP] = "gap",	      [CAP_EV_SWITCH] = "switch",
		[CAP_EV_RANDOM] = "random",   [CAP_EV_HEAP_DONE] = "heap_done",
		[CAP_EV_PROBE] = "probe",     [CAP_EV_OMITTED] = "omitted",
		[CAP_EV_SHARED] = "shared",
	};

	return kind < CAP_EV_KINDS ? names[kind] : NULL;
}

static bool has_regs(const struct cap_event *ev)
{
	return ev->kind != CAP_EV_HEAP && ev->kind != CAP_EV_HEAP_DONE &&
	       ev->kind != CAP_EV_GAP && ev->kind != CAP_EV_PROBE &&
	       ev->kind != CAP_EV_SHARED;
}

bool cmd_dump_is_wanted(const struct cap_event *ev, const struct dump_options *o)
{
	if (o->kinds && !(o->kinds & 1u << ev->kind))
		return false;
	return !o->tid || ev->tid == o->tid ||
	       (ev->kind == CAP_EV_SWITCH && ev->next_tid == o->tid);
}

/* 64 bits do not fit a JSON number. */
static void add_hex(cJSON *o, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	cJSON_AddStringToObject(o, name, text);
}

static void add_hex_items(cJSON *o, const char *name, const uint64_t *values, int n)
{
	cJSON *list = cJSON_AddArrayToObject(o, name);
	char text[24];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "0x%" PRIx64, values[i]);
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
	}
}

static void add_regs(cJSON *o, const char *name, const struct cap_regs *r)
{
	cJSON *regs = cJSON_AddObjectToObject(o, name);

	for (int i = 0; i < CAP_GPRS; i++)
		add_hex(regs, dec_reg_gpr_name(i), r->gpr[i]);
	add_hex(regs, "rip", r->rip);
	add_hex(regs, "rflags", r->rflags);
	add_hex(regs, "fs_base", r->fs_base);
	add_hex(regs, "gs_base", r->gs_base);
}

static void add_bytes(cJSON *o, const struct cap_write *w)
{
	char *text = malloc(2 * w->size + 1);

	if (!text)
		return;
	text_hex(text, w->data, w->size);
	cJSON_AddStringToObject(o, "data", text);
	free(text);
}

static void add_writes(cJSON *o, const struct cap_event *ev, bool with_memory)
{
	cJSON *list = ev->n_writes ? cJSON_AddArrayToObject(o, "writes") : NULL;

	for (size_t i = 0; i < ev->n_writes; i++) {
		cJSON *w = cJSON_CreateObject();

		add_hex(w, "address", ev->writes[i].addr);
		cJSON_AddNumberToObject(w, "bytes", ev->writes[i].size);
		if (with_memory)
			add_bytes(w, &ev->writes[i]);
		cJSON_AddItemToArray(list, w);
	}
}

static void add_syscall(cJSON *o, const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;
	const uint64_t args[] = { g[CAP_RDI], g[CAP_RSI], g[CAP_RDX],
				  g[CAP_R10], g[CAP_R8],  g[CAP_R9] };

	cJSON_AddStringToObject(o, "name", ptc_name_or_number(g[CAP_RAX]));
	cJSON_AddNumberToObject(o, "number", g[CAP_RAX]);
	add_hex_items(o, "arguments", args, 6);
	cJSON_AddNumberToObject(o, "result", ev->ret);
	if (ev->file) {
		cJSON_AddNumberToObject(o, "file", ev->file);
		cJSON_AddNumberToObject(o, "file_offset", ev->file_offset);
	}
	cJSON_AddBoolToObject(o, "unlisted", ev->flags & CAP_SYS_UNLISTED);
	cJSON_AddBoolToObject(o, "partial", ev->flags & CAP_SYS_PARTIAL);
}

static void add_cpuid(cJSON *o, const struct cap_event *ev)
{
	static const char *const names[] = { "eax", "ebx", "ecx", "edx" };

	cJSON_AddNumberToObject(o, "leaf", ev->leaf);
	cJSON_AddNumberToObject(o, "subleaf", ev->subleaf);
	for (int i = 0; i < 4; i++)
		add_hex(o, names[i], ev->cpuid[i]);
}

static void add_switch(cJSON *o, const struct cap_event *ev)
{
	cJSON_AddNumberToObject(o, "next", ev->next_tid);
	cJSON_AddBoolToObject(o, "in_call", ev->switch_flags & CAP_SWITCH_IN_CALL);
	cJSON_AddBoolToObject(o, "tid_cleared",
			      ev->switch_flags & CAP_SWITCH_TID_CLEARED);
}

static void add_probe(cJSON *o, const struct cap_event *ev)
{
	cJSON *list;
	char name[8];

	cJSON_AddNumberToObject(o, "site", ev->probe_site);
	add_hex(o, "rip", ev->regs.rip);
	list = cJSON_AddObjectToObject(o, "gprs");
	for (int r = 0; list && r < CAP_GPRS; r++)
		if (ev->probe_gprs >> r & 1) {
			snprintf(name, sizeof(name), "%d", r);
			add_hex(list, name, ev->regs.gpr[r]);
		}
}

static void add_body(cJSON *o, const struct cap_event *ev)
{
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		add_syscall(o, ev);
		break;
	case CAP_EV_SIGNAL:
		cJSON_AddNumberToObject(o, "signal", ev->signo);
		cJSON_AddBoolToObject(o, "fatal", ev->is_fatal);
		break;
	case CAP_EV_TSC:
		add_hex(o, "tsc", ev->tsc);
		break;
	case CAP_EV_RANDOM: // the registers say it
		break;
	case CAP_EV_CPUID:
		add_cpuid(o, ev);
		break;
	case CAP_EV_HEAP:
		cJSON_AddStringToObject(o, "function", cap_heap_name(ev->heap_fn));
		add_hex_items(o, "arguments", ev->heap_args, 3);
		break;
	case CAP_EV_HEAP_DONE:
		cJSON_AddStringToObject(o, "function", cap_heap_name(ev->heap_fn));
		add_hex(o, "result", ev->heap_args[0]);
		break;
	case CAP_EV_PROBE:
		add_probe(o, ev);
		break;
	case CAP_EV_EXIT:
		cJSON_AddNumberToObject(o, "status", ev->exit_code);
		break;
	case CAP_EV_GAP:
		cJSON_AddStringToObject(o, "text", ev->text);
		break;
	case CAP_EV_SWITCH:
		add_switch(o, ev);
		break;
	case CAP_EV_OMITTED:
		cJSON_AddNumberToObject(o, "position", ev->position);
		cJSON_AddNumberToObject(o, "steps", ev->n_steps);
		break;
	case CAP_EV_SHARED:
		add_hex(o, "start", ev->shared.start);
		cJSON_AddNumberToObject(o, "size", ev->shared.size);
		add_hex(o, "key", ev->shared.key);
		cJSON_AddNumberToObject(o, "offset", ev->shared.offset);
		break;
	case CAP_EV_KINDS:
		break;
	}
}

struct err *cmd_dump_json(const struct cap_event *ev, const struct dump_options *o,
			  FILE *out)
{
	const char *kind = cmd_dump_kind(ev->kind);
	cJSON *json = cJSON_CreateObject();
	char *text;

	cJSON_AddNumberToObject(json, "event", ev->seq);
	cJSON_AddNumberToObject(json, "thread", ev->tid);
	cJSON_AddNumberToObject(json, "at_ns", ev->at_ns);
	cJSON_AddStringToObject(json, "kind", kind ? kind : "unknown");
	if (has_regs(ev))
		add_hex(json, "rip", ev->regs.rip);
	add_body(json, ev);
	add_writes(json, ev, o->with_memory);
	if (o->with_regs && has_regs(ev))
		add_regs(json, "registers", &ev->regs);
	if (o->with_regs && ev->has_after)
		add_regs(json, "after", &ev->after);
	text = cJSON_PrintUnformatted(json);
	cJSON_Delete(json);
	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	free(text);
	return NULL;
}
