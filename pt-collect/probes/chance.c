// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdrand, rdseed and rdpid cannot be made to trap, nor can cpuid on many CPUs (AMD's before
 * Zen 5, virtual ones), nor rdtsc on some virtual ones. So they are looked for in each file that is
 * mapped as code, and probed: the kernel executes the instruction by itself and stops the thread
 * behind it, where its result stands in its registers. A uprobe is the kernel's affair: children
 * are not harmed by it, and nothing stays behind when we die.
 *
 * Some hypervisors that execute cpuid in their guest's stead forget the trap behind it: the kernel's
 * copy is left an instruction too late, with whatever stands there, relative addresses too. There
 * the instruction in front of cpuid is probed, and the thread, stopped at cpuid, is answered as
 * if that had trapped (inputs/trap.c). One that is jumped to is not probed.
 *
 * What cpuid gave is made what the program is to see (tracee/cpuid.c) in that stop: it hides
 * rdrand and its kin, so that a program which asks first does not use them. In code that is
 * in no file (a JIT compiler's) nothing is probed: there the program sees all that the CPU
 * has, and replay answers from the manifest's table (capture/cap_cpu.h).
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>

#include "pt-collect/probes/chance.h"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/tracee/traps.h"

#define PIECE (1u << 20)
#define SLOT_BYTES 128 ///< of the kernel's copies of probed instructions
#define SETTLED_S 2    ///< file systems tell no finer times than this
#define LENGTH_MAX 5   ///< of such an instruction: 66, REX, 0f, c7, ModRM
#define ANY_MAX 15     ///< of the one before cpuid

/** What to look for: opcode 0f @p second, then, unless 0, a byte from @p least to @p most. */
static const struct {
	const char *name;
	uint8_t second, least, most;
} kinds[REC_CHANCES] = {
	// ModRM bytes with mod 3 and reg 6 or 7.
	[REC_CHANCE_RANDOM] = { "an instruction of chance", 0xc7, 0xf0, 0xff },
	[REC_CHANCE_CPUID] = { "cpuid", 0xa2 },
	[REC_CHANCE_BEFORE_CPUID] = { "the instruction before cpuid", 0xa2 },
	[REC_CHANCE_TSC] = { "rdtsc", 0x31 },
	[REC_CHANCE_TSCP] = { "rdtscp", 0x01, 0xf9, 0xf9 },
	[REC_CHANCE_BEHIND_TSC] = { "what is behind rdtsc" },
	[REC_CHANCE_BEHIND_TSCP] = { "what is behind rdtscp" },
};

void ptc_chance_places_deinit(struct ptc_chance_places *p)
{
	vec_deinit(&p->at);
	vec_deinit(&p->insn);
}

void ptc_chance_places_add(struct ptc_chance_places *p, uint64_t at, uint64_t insn)
{
	for (size_t i = 0; i < p->at.size; i++)
		if (p->at.data[i] == at)
			return;
	if (vec_reserve(&p->at, p->at.size + 1) ||
	    vec_reserve(&p->insn, p->insn.size + 1))
		return;
	p->at.data[p->at.size++] = at;
	p->insn.data[p->insn.size++] = insn;
}

void ptc_chance_places_add_tsc(struct ptc_chance_places *p, uint64_t at, bool is_tscp,
			       uint64_t behind)
{
	if (behind)
		ptc_chance_places_add(p, behind,
				      is_tscp ? REC_CHANCE_BEHIND_TSCP :
						REC_CHANCE_BEHIND_TSC);
	else
		ptc_chance_places_add(p, at, is_tscp ? REC_CHANCE_TSCP : REC_CHANCE_TSC);
}

bool ptc_chance_sites_add(ptc_chance_sites *sites, const char *path, uint64_t at,
			  uint64_t insn)
{
	struct ptc_chance_site *slot;

	for (size_t i = 0; i < sites->size; i++)
		if (sites->data[i].at == at && !strcmp(sites->data[i].path, path))
			return false;
	slot = vec_push(sites);
	if (slot)
		*slot = (struct ptc_chance_site){ strdup(path), at, insn };
	if (slot && !slot->path)
		sites->size--;
	return true;
}

void ptc_chance_sites_deinit(ptc_chance_sites *sites)
{
	for (size_t i = 0; i < sites->size; i++)
		free(sites->data[i].path);
	vec_deinit(sites);
}

void ptc_chance_found_deinit(struct ptc_probing *all)
{
	ptc_chance_sites_deinit(&all->chance_sites);
	for (size_t i = 0; i < all->chance_searches.size; i++)
		ptc_chance_places_deinit(&all->chance_searches.data[i].places);
	vec_deinit(&all->chance_searches);
}

bool ptc_chance_probe(struct ptc_probes *x, const char *path,
		      const struct ptc_chance_places *places)
{
	_cleanup_err_ struct err *err = NULL;

	if (!places->at.size)
		return true;
	if (vec_find(&places->insn, insn, *insn >= REC_CHANCE_BEHIND_TSC))
		x->has_tsc = true;
	err = ptc_bpf_probe_chance(x->all->bpf, x->tracee->pid, path, places->at.data,
				   places->insn.data, places->at.size);
	if (err)
		log_info("%s", err->message);
	for (size_t i = 0; !err && i < places->at.size; i++)
		log_info("probe %s at %s+%#lx", kinds[places->insn.data[i]].name, path,
			 places->at.data[i]);
	return !err;
}

static void take_candidate(const char *path, struct ptc_code *code, uint64_t at,
			   enum rec_chance_insn insn, struct ptc_chance_places *places)
{
	struct ptc_code_beside beside = {};
	uint64_t start = ptc_code_find(code, at, &beside);

	if (start == PTC_CODE_NONE)
		return;
	if (insn == REC_CHANCE_BEFORE_CPUID)
		start = beside.before;
	if (!start) {
		log_info("%s: what looks like %s at %#lx is not probed", path,
			 kinds[insn].name, at);
		return;
	}
	if (insn == REC_CHANCE_TSC || insn == REC_CHANCE_TSCP)
		ptc_chance_places_add_tsc(places, start, insn == REC_CHANCE_TSCP,
					  start == at ? beside.behind : 0);
	else
		ptc_chance_places_add(places, start, insn);
}

/** A stretch of a file's code. */
struct piece {
	const uint8_t *bytes;
	size_t size;
	uint64_t offset; ///< in the file
};

/** Looked for by the rarer byte of the opcode; memmem takes 1 ms for the C library. */
static void search_piece(const char *path, struct ptc_code *code,
			 const struct piece *piece, enum rec_chance_insn insn,
			 struct ptc_chance_places *places)
{
	const uint8_t *at = piece->bytes + 1, *end = piece->bytes + piece->size;
	uint8_t least = kinds[insn].least, most = kinds[insn].most;

	while ((at = memchr(at, kinds[insn].second, end - at)) && end - at >= 2) {
		if (at[-1] == 0x0f && (!least || (at[1] >= least && at[1] <= most)))
			take_candidate(path, code,
				       piece->offset + (at - 1 - piece->bytes), insn,
				       places);
		at++;
	}
}

static void search_file(const char *path, int fd, uint64_t offset, uint64_t size,
			struct ptc_chance_places *places)
{
	_cleanup_(ptc_code_closep) struct ptc_code *code = NULL;
	_cleanup_free_ uint8_t *bytes = malloc(PIECE);
	_cleanup_err_ struct err *err = bytes ? ptc_code_open(fd, &code) : &err_nomem;
	ssize_t n = 0;

	if (err) {
		log_info("%s: %s", path, err->message);
		return;
	}
	// The last two bytes of a piece are the next one's too.
	for (uint64_t end = offset + size; offset + 2 < end; offset += n - 2) {
		n = pread(fd, bytes, end - offset < PIECE ? end - offset : PIECE, offset);
		if (n <= 2)
			break;

		struct piece piece = { bytes, n, offset };

		search_piece(path, code, &piece, REC_CHANCE_RANDOM, places);
		if (!ptc_can_trap_cpuid())
			search_piece(path, code, &piece,
				     ptc_can_step_cpuid() ? REC_CHANCE_CPUID :
							    REC_CHANCE_BEFORE_CPUID,
				     places);
		if (ptc_can_trap_tsc())
			continue;
		search_piece(path, code, &piece, REC_CHANCE_TSC, places);
		search_piece(path, code, &piece, REC_CHANCE_TSCP, places);
	}
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size && is_same_time(a->st_mtim, b->st_mtim) &&
	       is_same_time(a->st_ctim, b->st_ctim);
}

/** Keep @p places, which it takes over, unless the file is so new that it could change without
 * that its times tell. */
static void keep_search(ptc_chance_searches *searches, struct ptc_chance_search *search)
{
	struct ptc_chance_search *slot = NULL;

	if (time(NULL) - search->file.st_ctim.tv_sec > SETTLED_S)
		slot = vec_push(searches);
	if (slot) {
		*slot = *search;
		search->places = (struct ptc_chance_places){};
	}
}

static void probe_found(struct ptc_probes *x, const char *path,
			const struct ptc_chance_places *places)
{
	for (size_t i = 0; i < places->at.size; i++)
		ptc_chance_sites_add(&x->all->chance_sites, path, places->at.data[i],
				     places->insn.data[i]);
	ptc_chance_probe(x, path, places);
}

void ptc_chance_mapped(struct ptc_probes *x, const char *path, uint64_t offset,
		       uint64_t size)
{
	ptc_chance_searches *searches = &x->all->chance_searches;
	struct ptc_chance_search search = { .offset = offset, .size = size };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct ptc_chance_search *known;

	if (fd < 0 || fstat(fd, &search.file))
		return;
	known = vec_find(searches, s,
			 s->offset == offset && s->size == size &&
				 is_same_file(&s->file, &search.file));
	if (known) {
		probe_found(x, path, &known->places);
		return;
	}
	log_debug("searched %s", path);
	search_file(path, fd, offset, size, &search.places);
	probe_found(x, path, &search.places);
	keep_search(searches, &search);
	ptc_chance_places_deinit(&search.places);
}

void ptc_chance_start(struct ptc_probes *x, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (m->name[0] == '/' && m->prot & PROT_EXEC)
			ptc_chance_mapped(x, m->name, m->offset, m->end - m->start);
	}
}

/** Those of @p sites that lie in mapping @p m. */
static void probe_mapping(struct ptc_probes *x, const struct ptc_map *m,
			  const ptc_chance_sites *sites)
{
	_cleanup_(ptc_chance_places_deinit) struct ptc_chance_places places = {};

	for (size_t i = 0; i < sites->size; i++) {
		const struct ptc_chance_site *site = &sites->data[i];

		if (!strcmp(m->name, site->path) &&
		    site->at - m->offset < m->end - m->start)
			ptc_chance_places_add(&places, site->at, site->insn);
	}
	ptc_chance_probe(x, m->name, &places);
}

void ptc_chance_forked(struct ptc_probes *x, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++)
		if (maps->list.data[i]->prot & PROT_EXEC)
			probe_mapping(x, maps->list.data[i], &x->all->chance_sites);
}

/** @return whether @p regs are those behind the instruction that @p c was about to
 * execute. */
static bool is_behind(const struct ptc_chance *c, const struct cap_regs *regs)
{
	uint64_t most = c->insn == REC_CHANCE_BEFORE_CPUID ? ANY_MAX : LENGTH_MAX;

	return regs->rip > c->rip && regs->rip - c->rip <= most;
}

/** The event's registers are those at the instruction. */
static void set_before(struct cap_event *ev, const struct ptc_chance *c)
{
	ev->regs.rip = c->rip;
	for (int i = 0; i < 4; i++)
		ev->regs.gpr[i] = c->gpr[i];
}

static uint64_t tsc_in(const uint64_t *rax, const uint64_t *rdx)
{
	return *rdx << 32 | (uint32_t)*rax;
}

static void tell_tsc(struct ptc_chance *c, const struct cap_regs *regs,
		     struct cap_event *ev)
{
	ev->kind = CAP_EV_TSC;
	ev->tsc = c->last_tsc = tsc_in(&regs->gpr[CAP_RAX], &regs->gpr[CAP_RDX]);
	ev->is_rdtscp = c->insn == REC_CHANCE_TSCP;
	ev->tsc_aux = ev->is_rdtscp ? regs->gpr[CAP_RCX] : 0;
	set_before(ev, c);
}

/** What cpuid gave, in @p regs, becomes what the program is to see. */
static void answer_cpuid(struct ptc_probes *x, struct ptc_chance *c,
			 const struct cap_regs *regs, struct cap_event *ev)
{
	static const uint8_t order[4] = { CAP_RAX, CAP_RBX, CAP_RCX, CAP_RDX };
	uint32_t given[4];

	ev->kind = CAP_EV_CPUID;
	ev->leaf = c->gpr[CAP_RAX];
	ev->subleaf = c->gpr[CAP_RCX];
	set_before(ev, c);
	for (int i = 0; i < 4; i++)
		given[i] = ev->cpuid[i] = regs->gpr[order[i]];
	ptc_cpuid_hide(x->all->is_portable, ev->leaf, ev->subleaf, ev->cpuid);
	memcpy(c->answer, ev->cpuid, sizeof(ev->cpuid));
	c->behind = regs->rip;
	c->changed_ns = memcmp(given, ev->cpuid, sizeof(given)) ? UINT64_MAX : 0;
}

/* At once, not by ptc_pending_log(): the thread stands behind the instruction already. */
static void log_result(struct ptc_probes *x, struct ptc_chance *c, pid_t tid,
		       const struct cap_regs *regs)
{
	struct cap_event ev = {
		.kind = CAP_EV_RANDOM, .tid = tid, .at_ns = ptc_now_ns(), .regs = *regs
	};

	if (c->insn == REC_CHANCE_CPUID)
		answer_cpuid(x, c, regs, &ev);
	else if (c->insn != REC_CHANCE_RANDOM)
		tell_tsc(c, regs, &ev);
	c->rip = 0;
	ptc_log_event(x->log, &ev);
}

/** Thread @p tid has @p regs behind an rdtsc or, if @p is_tscp, rdtscp. It may have been seen there
 * before, or have come there again, from a signal's handler. */
static void log_behind(struct ptc_probes *x, struct ptc_chance *c, pid_t tid,
		       uint64_t at_ns, const struct cap_regs *regs, bool is_tscp)
{
	struct cap_event ev = {
		.kind = CAP_EV_TSC,
		.tid = tid,
		.at_ns = at_ns,
		.regs = *regs,
		.tsc = tsc_in(&regs->gpr[CAP_RAX], &regs->gpr[CAP_RDX]),
		.is_rdtscp = is_tscp,
		.tsc_aux = is_tscp ? regs->gpr[CAP_RCX] : 0,
	};

	if (ev.tsc <= c->last_tsc)
		return;
	c->last_tsc = ev.tsc;
	ev.regs.rip -= is_tscp ? 3 : 2;
	ptc_log_event(x->log, &ev);
}

/** A thread was seen with @p regs: if that is behind an rdtsc, and it has not come to the probe, what
 * it got comes first. */
static void seen_behind(struct ptc_probes *x, struct ptc_chance *c, pid_t tid,
			const struct cap_regs *regs)
{
	uint8_t code[4];
	bool is_tscp;

	if (!x->has_tsc ||
	    ptc_read_some(x->tracee, regs->rip - 3, code, sizeof(code)) != sizeof(code) ||
	    code[3] != PTC_INT3)
		return;
	is_tscp = !memcmp(code, "\x0f\x01\xf9", 3);
	if (is_tscp || !memcmp(code + 1, "\x0f\x31", 2))
		log_behind(x, c, tid, ptc_now_ns(), regs, is_tscp);
}

void ptc_chance_behind(struct ptc_probes *x, struct ptc_chance *c,
		       const struct rec_chance *e)
{
	static const uint8_t order[4] = { CAP_RAX, CAP_RCX, CAP_RDX, CAP_RBX };
	struct cap_regs regs = { .rip = e->rip };

	regs.gpr[CAP_RSP] = e->sp;
	for (int i = 0; i < 4; i++)
		regs.gpr[order[i]] = e->gpr[i];
	log_behind(x, c, e->head.tid, e->head.at_ns, &regs,
		   e->insn == REC_CHANCE_BEHIND_TSCP);
}

void ptc_chance_stopped(struct ptc_probes *x, pid_t tid, struct ptc_chance *c)
{
	struct user_regs_struct u;
	struct cap_regs regs;

	if ((!c->rip && c->changed_ns != UINT64_MAX && !x->has_tsc) ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return;
	regs = ptc_to_cap(&u);
	seen_behind(x, c, tid, &regs);
	if (c->rip && is_behind(c, &regs) && c->insn != REC_CHANCE_BEFORE_CPUID)
		log_result(x, c, tid, &regs);
	if (c->changed_ns != UINT64_MAX)
		return;
	c->changed_ns = ptc_now_ns();
	u.rax = c->answer[0];
	u.rbx = c->answer[1];
	u.rcx = c->answer[2];
	u.rdx = c->answer[3];
	ptrace(PTRACE_SETREGS, tid, NULL, &u);
}

bool ptc_chance_is_before_cpuid(const struct ptc_chance *c)
{
	return c->rip && c->insn == REC_CHANCE_BEFORE_CPUID;
}

void ptc_chance_begun(struct ptc_chance *c, const struct rec_chance *e)
{
	*c = (struct ptc_chance){ .rip = e->rip,
				  .insn = e->insn,
				  .last_tsc = c->last_tsc };
	for (int i = 0; i < 4; i++)
		c->gpr[i] = e->gpr[i];
}

/*
 * The thread lost the CPU while the kernel dealt with the probe. Where it stands then:
 *
 *	site + 1	behind the breakpoint, the kernel has not looked yet: at the site
 *	a slot's start	about to be stepped in the kernel's copy: at the site
 *	inside a slot	stepped, not moved back yet: behind the instruction
 */
static bool is_done(struct ptc_probes *x, struct ptc_chance *c, struct rec_switch *s)
{
	uint64_t done = s->regs.rip % SLOT_BYTES;
	struct cap_regs regs;

	memcpy(&regs, &s->regs, sizeof(regs));
	if (!is_behind(c, &regs)) {
		if (s->regs.rip != c->rip)
			s->regs.rip = c->rip + done;
		regs.rip = s->regs.rip;
	}
	if (!is_behind(c, &regs) || c->insn == REC_CHANCE_BEFORE_CPUID)
		return false;
	log_result(x, c, s->head.tid, &regs);
	return true;
}

void ptc_chance_switched(struct ptc_probes *x, struct ptc_chance *c, struct rec_switch *s)
{
	struct cap_regs regs;

	if (c->rip && !is_done(x, c, s))
		return;
	memcpy(&regs, &s->regs, sizeof(regs));
	if (!(s->flags & REC_SWITCH_IN_CALL))
		seen_behind(x, c, s->head.tid, &regs);
	if (!c->changed_ns || s->out_ns > c->changed_ns || s->regs.rip != c->behind)
		return;
	// It gets the answer when it stops, which may be some switches later. The replay gives
	// it at once; what registers pointed to before is of no consequence.
	s->regs.gpr[CAP_RAX] = c->answer[0];
	s->regs.gpr[CAP_RBX] = c->answer[1];
	s->regs.gpr[CAP_RCX] = c->answer[2];
	s->regs.gpr[CAP_RDX] = c->answer[3];
	s->signature =
		(struct rec_signature){ CAP_SIGNATURE_SEED, CAP_SIGNATURE_SEED, 0, 0 };
}
