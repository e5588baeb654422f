// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Loading the programs of record.bpf.c. What comes later is loaded from the same object file
 * opened again, with the maps that are there.
 */
#define LOG_ROOM "record"
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pt-collect/kernel/programs.h"
#include "pt-collect/kernel/types.h"

#include "bpf/record.h"
#include "bpf/record.skel.h"

#define TYPED "typed_raw_tp" ///< section of programs whose tracepoint has types

/** The verifier says each instruction, and at the end what is wrong. */
#define LIBBPF_LINES 12

/** libbpf's talk: its warnings are debugging for us, the user gets one line. */
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	if (level > LIBBPF_WARN || !log_is_on(LOG_DEBUG, LOG_ROOM) ||
	    vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	for (char *at = text, *line; (line = strsep(&at, "\n")); n--)
		if (*line && n <= LIBBPF_LINES)
			log_debug("%s", line);
	return 0;
}

static bool is_among(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

static bool is_multi(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && !strcmp(name + n - 6, "_multi");
}

/** Of the object, only these; of the maps, only what is not there yet. */
static int choose(const struct ptc_programs *p, struct record_bpf *skel,
		  const char *const *names)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, skel->obj) {
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, is_among(names, name));
		// For that, on kernels that know it; others load it, too.
		if (is_multi(name))
			bpf_program__set_expected_attach_type(prog, PTC_UPROBE_MULTI);
	}
	// Room for its entries costs 1 ms.
	bpf_map__set_autocreate(skel->maps.store_sites,
				is_among(names, "record_store_multi") ||
					is_among(names, "record_store"));
	bpf_object__for_each_map(map, skel->obj) {
		int fd = ptc_programs_map(p, bpf_map__name(map));

		if (fd >= 0 && bpf_map__reuse_fd(map, fd))
			return -1;
	}
	return 0;
}

/** The kernel's numbers, where record_pages.h has something else instead: libbpf would look for them in all of the
 * kernel's types. */
static int put_numbers(struct bpf_program *prog, const struct ptc_numbers *numbers)
{
	bool has_cast = numbers->cast && numbers->words;
	size_t n = bpf_program__insn_cnt(prog);
	_cleanup_free_ struct bpf_insn *insns = malloc(n * sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	for (struct bpf_insn *i = insns; i < insns + n; i++) {
		if (i->code == (BPF_ALU64 | BPF_MOV | BPF_K) && i->imm == REC_CAST_TYPE) {
			i->imm = has_cast ? numbers->words : 0;
		} else if (has_cast && i->code == (BPF_JMP | BPF_CALL) && !i->src_reg &&
			   i->imm == REC_CAST_CALL) {
			i->src_reg = BPF_PSEUDO_KFUNC_CALL;
			i->imm = numbers->cast;
		}
	}
	return bpf_program__set_insns(prog, insns, n);
}

/** libbpf loads it as the kind that it was opened as, of which it knows no more: now it is told the rest. */
static int prepare_typed(struct bpf_program *prog, struct bpf_prog_load_opts *opts,
			 long cookie)
{
	const struct ptc_numbers *numbers = (const struct ptc_numbers *)cookie;

	opts->expected_attach_type = BPF_TRACE_RAW_TP;
	opts->attach_btf_id = numbers->call_end;
	return put_numbers(prog, numbers) ?:
		       bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/** Whether programs can be attached where the verifier knows the types of the arguments. libbpf, by
 * its own name for them, would read all of the kernel's types for one number (12 ms). */
static void allow_typed(struct ptc_programs *p)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)&p->numbers,
		    .prog_prepare_load_fn = prepare_typed);

	if (p->numbers.call_end)
		p->handler = libbpf_register_prog_handler(
			TYPED "+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP, &opts);
}

static bool is_typed(const struct bpf_program *prog)
{
	return !strncmp(bpf_program__section_name(prog), TYPED, strlen(TYPED));
}

static void object_destroyp(struct record_bpf **skel)
{
	record_bpf__destroy(*skel);
}

struct err *ptc_programs_load(struct ptc_programs *p, const char *const *names)
{
	_cleanup_(object_destroyp) struct record_bpf *skel = NULL;
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	int cpus = libbpf_num_possible_cpus();
	struct record_bpf **slot;
	char path[64];

	libbpf_set_print(print_libbpf);
	if (!p->has_types) {
		p->types_fd = ptc_types_open(&p->numbers);
		allow_typed(p);
	}
	p->has_types = true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->types_fd);
	if (p->types_fd >= 0)
		opts.btf_custom_path = path;
	skel = record_bpf__open_opts(&opts);
	if (!skel || cpus < 0)
		return err_errno("cannot open the BPF programs");
	bpf_map__set_max_entries(skel->maps.scratches, cpus);
	if (choose(p, skel, names) || record_bpf__load(skel))
		return err_errno("cannot load the BPF programs into the kernel "
				 "(FAULTLINE_LOG=record:2 shows its complaint)");
	slot = vec_push(&p->objects);
	if (!slot)
		return &err_nomem;
	*slot = take_ptr(&skel);
	return NULL;
}

void ptc_programs_deinit(struct ptc_programs *p)
{
	for (size_t i = 0; i < p->objects.size; i++)
		record_bpf__destroy(p->objects.data[i]);
	vec_deinit(&p->objects);
	if (p->has_types && p->types_fd >= 0)
		close(p->types_fd);
	if (p->handler > 0)
		libbpf_unregister_prog_handler(p->handler);
}

static struct bpf_program *find(const struct ptc_programs *p, const char *name)
{
	for (size_t i = 0; i < p->objects.size; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->objects.data[i]->obj, name);

		if (prog && bpf_program__fd(prog) >= 0)
			return prog;
	}
	return NULL;
}

bool ptc_programs_has(const struct ptc_programs *p, const char *name)
{
	return find(p, name);
}

struct bpf_program *ptc_programs_get(struct ptc_programs *p, const char *name)
{
	const char *const names[] = { name, NULL };
	struct bpf_program *prog = find(p, name);
	_cleanup_err_ struct err *err = NULL;

	if (prog)
		return prog;
	err = ptc_programs_load(p, names);
	if (err)
		log_info("%s: %s", name, err->message);
	return err ? NULL : find(p, name);
}

struct bpf_link *ptc_programs_attach(struct ptc_programs *p, const char *name)
{
	struct bpf_program *prog = ptc_programs_get(p, name);

	if (!prog)
		return NULL;
	return is_typed(prog) ? bpf_program__attach_trace(prog) :
				bpf_program__attach(prog);
}

int ptc_programs_map(const struct ptc_programs *p, const char *name)
{
	for (size_t i = 0; i < p->objects.size; i++) {
		const struct bpf_map *map =
			bpf_object__find_map_by_name(p->objects.data[i]->obj, name);

		if (map && bpf_map__fd(map) >= 0)
			return bpf_map__fd(map);
	}
	return -1;
}
