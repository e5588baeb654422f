// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdrand, rdseed and rdpid cannot be made to trap. cpuid hides them, so a program that
 * asks first does not use them. For one that does not ask they are looked for in each file
 * that is mapped as code, and probed: the kernel executes the instruction by itself and
 * stops the thread behind it, where its result stands in its registers. A uprobe is the
 * kernel's affair: children are not harmed by it, and nothing stays behind when we die.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "pt-collect/ptc.h"
#include "pt-collect/ptc_bpf.h"
#include "pt-collect/ptc_chance.h"
#include "pt-collect/ptc_tracee.h"

#define PIECE (1u << 20)
#define SLOT_BYTES 128 ///< of the kernel's copies of probed instructions
#define LENGTH_MAX 5   ///< of such an instruction: 66, REX, 0f, c7, ModRM

static void note_site(ptc_chance_sites *sites, const char *path, uint64_t at)
{
	struct ptc_chance_site *slot;

	for (size_t i = 0; i < sites->size; i++)
		if (sites->data[i].at == at && !strcmp(sites->data[i].path, path))
			return;
	slot = vec_push(sites);
	if (slot)
		*slot = (struct ptc_chance_site){ strdup(path), at };
	if (slot && !slot->path)
		sites->size--;
}

void ptc_chance_sites_deinit(ptc_chance_sites *sites)
{
	for (size_t i = 0; i < sites->size; i++)
		free(sites->data[i].path);
	vec_deinit(sites);
}

static void probe_site(struct ptc_process *p, const char *path, uint64_t at)
{
	_cleanup_err_ struct err *err =
		ptc_bpf_probe_chance(p->session->bpf, p->pid, path, at);

	if (err)
		log_info("%s", err->message);
	else
		log_info("probe an instruction of chance at %s+%#lx", path, at);
}

/** Candidates are 0f c7 with a ModRM byte of mod 3 and reg 6 or 7. */
static void probe_candidate(struct ptc_process *p, const char *path,
			    struct ptc_code *code, uint64_t at)
{
	uint64_t insn = ptc_code_find(code, at);

	if (!insn) {
		log_info("%s: what looks like rdrand at %#lx is not probed", path, at);
		return;
	}
	note_site(&p->session->chance_sites, path, insn);
	probe_site(p, path, insn);
}

/** Look through one piece; the last two bytes are the next one's too. */
static void search_piece(struct ptc_process *p, const char *path, struct ptc_code *code,
			 const uint8_t *bytes, size_t size, uint64_t offset)
{
	const uint8_t *at = bytes + 1, *end = bytes + size;

	// The rarer byte of the two; memmem takes 1 ms for the C library.
	while ((at = memchr(at, 0xc7, end - at)) && end - at >= 2) {
		if (at[-1] == 0x0f && at[1] >= 0xf0)
			probe_candidate(p, path, code, offset + (at - 1 - bytes));
		at++;
	}
}

void ptc_chance_mapped(struct ptc_process *p, const char *path, uint64_t offset,
		       uint64_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(ptc_code_closep) struct ptc_code *code = NULL;
	_cleanup_free_ uint8_t *bytes = malloc(PIECE);
	_cleanup_err_ struct err *err = NULL;
	ssize_t n = 0;

	if (fd < 0 || !bytes)
		return;
	err = ptc_code_open(fd, &code);
	if (err) {
		log_info("%s: %s", path, err->message);
		return;
	}
	for (uint64_t end = offset + size; offset + 2 < end; offset += n - 2) {
		n = pread(fd, bytes, end - offset < PIECE ? end - offset : PIECE, offset);
		if (n <= 2)
			return;
		search_piece(p, path, code, bytes, n, offset);
	}
}

void ptc_chance_start(struct ptc_process *p, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (m->name[0] == '/' && m->prot & PROT_EXEC)
			ptc_chance_mapped(p, m->name, m->offset, m->end - m->start);
	}
}

void ptc_chance_forked(struct ptc_process *p, const struct ptc_maps *maps)
{
	const ptc_chance_sites *sites = &p->session->chance_sites;

	for (size_t i = 0; i < sites->size; i++)
		for (size_t k = 0; k < maps->list.size; k++) {
			const struct ptc_map *m = maps->list.data[k];
			const struct ptc_chance_site *site = &sites->data[i];

			if (m->prot & PROT_EXEC && !strcmp(m->name, site->path) &&
			    site->at - m->offset < m->end - m->start) {
				probe_site(p, site->path, site->at);
				break;
			}
		}
}

/** @return whether @p regs are those behind the instruction that @p t was about to
 * execute. */
static bool is_behind(const struct ptc_thread *t, const struct cap_regs *regs)
{
	return regs->rip > t->chance_rip && regs->rip - t->chance_rip <= LENGTH_MAX;
}

/* At once, not by ptc_pending_log(): the thread stands behind the instruction already. */
static void log_result(struct ptc_process *p, struct ptc_thread *t,
		       const struct cap_regs *regs)
{
	struct cap_event ev = {
		.kind = CAP_EV_RANDOM, .tid = t->tid, .at_ns = ptc_now_ns(), .regs = *regs
	};

	t->chance_rip = 0;
	ptc_log(p, &ev);
}

void ptc_chance_stopped(struct ptc_process *p, pid_t tid)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct user_regs_struct u;
	struct cap_regs regs;

	if (!t || !t->chance_rip || ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return;
	regs = ptc_to_cap(&u);
	if (is_behind(t, &regs))
		log_result(p, t, &regs);
}

void ptc_chance_begun(struct ptc_thread *t, const struct rec_chance *e)
{
	t->chance_rip = e->rip;
}

/*
 * The thread lost the CPU while the kernel dealt with the probe. Where it stands then:
 *
 *	site + 1	behind the breakpoint, the kernel has not looked yet: at the site
 *	a slot's start	about to be stepped in the kernel's copy: at the site
 *	inside a slot	stepped, not moved back yet: behind the instruction
 */
void ptc_chance_switched(struct ptc_process *p, struct ptc_thread *t,
			 struct rec_switch *s)
{
	uint64_t done = s->regs.rip % SLOT_BYTES;
	struct cap_regs regs;

	if (!t->chance_rip)
		return;
	memcpy(&regs, &s->regs, sizeof(regs));
	if (!is_behind(t, &regs)) {
		if (s->regs.rip != t->chance_rip)
			s->regs.rip = t->chance_rip + done;
		regs.rip = s->regs.rip;
	}
	if (is_behind(t, &regs))
		log_result(p, t, &regs);
}
