// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Altered runs of a failing test: at an instance another value that was seen at its instruction,
 * in whichever test, or the branch's other way; and is the output right then? Those of a stretch
 * of the run are branched off at its beginning: what is before is not run again.
 */
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "suppress-hw/rank/rank_int.h"

#define BATCH 128
#define INSTANCES_MAX 32 ///< of an instruction in a run, unless all are to be tried
#define AT_INSTANCES \
	8	      ///< the same where one statement is looked at, for all of its IVMPs
#define AT_IVMPS 4096 ///< of that
#define LIMIT_TIMES 2 ///< an altered run may take so many times what was left
#define LIMIT_MORE 200000 ///< and so many instructions more
#define TEXT_MAX (64u << 20)

struct text {
	char *bytes;
	size_t n;
};

/** One altered run. */
struct trial {
	const struct rank_place *place;
	uint64_t value;
	bool is_each_time;
	struct dec_alter alter;
};

struct search {
	struct rank_session *s;
	struct rank_run *run;
	struct capture *capture;
	struct dec_machine *machine;
	struct text expected, printed;
	struct dec_written rest; ///< of the expected output, behind where branches begin
	bool is_lost;		 ///< what was printed before that is wrong
	VEC(struct trial) trials;
	VEC(struct dec_branch) branches;
	struct map begun,   ///< places of which one was tried
		instances;  ///< instruction -> how many there are; then how many were met
	uint64_t n_sampled; ///< instances left out
};

/* ---- what is right --------------------------------------------------------------------------- */

static struct err *read_text(const char *path, int fd, struct text *ret)
{
	FILE *f = fd >= 0 ? fdopen(fd, "r") : fopen(path, "re");
	size_t capacity = 0, n;
	char *more;

	if (!f)
		return err_errno("cannot read '%s'", path);
	do {
		capacity = capacity ? 2 * capacity : 4096;
		more = realloc(ret->bytes, capacity);
		if (!more) {
			fclose(f);
			return &err_nomem;
		}
		ret->bytes = more;
		n = fread(ret->bytes + ret->n, 1, capacity - ret->n, f);
		ret->n += n;
	} while (ret->n == capacity && capacity < TEXT_MAX);
	fclose(f);
	return NULL;
}

/* Branches begin at @p position: what has to be printed from there on? */
static void expect_from(struct search *x, uint64_t position)
{
	const struct rank_run *run = x->run;
	uint64_t before = 0, h = CAP_SIGNATURE_SEED;

	for (size_t i = 0;
	     i < run->printed.size && run->printed.data[i].position < position; i++)
		before = run->printed.data[i].bytes;
	x->is_lost = false;
	if (!run->test->expected)
		return;
	x->is_lost = before > x->expected.n ||
		     (before && before <= x->printed.n &&
		      memcmp(x->expected.bytes, x->printed.bytes, before));
	if (x->is_lost)
		return;
	for (size_t i = before; i < x->expected.n; i++)
		h = (h ^ (uint8_t)x->expected.bytes[i]) * CAP_SIGNATURE_PRIME;
	x->rest.bytes = x->expected.n - before;
	x->rest.hash = x->rest.bytes ? h : 0;
}

static bool is_right(const struct search *x, const struct dec_outcome *o)
{
	int want = x->run->test->want_status;

	if (want == CAP_SUITE_ANY) {
		if (o->fate != DEC_FATE_EXIT)
			return false;
	} else if (o->fate == DEC_FATE_EXIT   ? (o->value & 255) != want :
		   o->fate == DEC_FATE_SIGNAL ? 128 + o->value != want :
						true) {
		return false;
	}
	return !x->run->test->expected ||
	       (o->out[0].bytes == x->rest.bytes && o->out[0].hash == x->rest.hash);
}

/* ---- trials ------------------------------------------------------------------------------------ */

bool rank_is_in_question(const struct rank_session *s, uint32_t at)
{
	if (s->o->n_parts && at % s->o->n_parts != s->o->part)
		return false;
	return !s->in_question || (at < s->n_in_question && s->in_question[at]);
}

static struct err *add_trial(struct search *x, const struct rank_place *p, uint64_t value,
			     bool is_each_time)
{
	struct dec_alter a = { .rip = p->rip, .nth = p->nth, .every = is_each_time };

	switch (p->kind) {
	case RANK_VALUE_BRANCH:
		a.kind = DEC_ALTER_INVERT;
		break;
	case RANK_VALUE_STORE:
		a.kind = DEC_ALTER_SKIP;
		break;
	case RANK_VALUE_MEMORY:
		a.kind = DEC_ALTER_MEMORY;
		a.addr = p->addr;
		a.bytes = p->bytes;
		a.value = value;
		break;
	default:
		a.kind = DEC_ALTER_REG;
		a.reg = p->reg;
		a.value = value;
		break;
	}
	return vec_add(&x->trials, (struct trial){ p, value, is_each_time, a });
}

/* A constant has no alternates: its neighbours may do, and nothing. */
static size_t neighbours(uint64_t v, uint64_t values[3])
{
	size_t n = 0;

	values[n++] = v + 1;
	values[n++] = v - 1;
	if (v > 1 && v != UINT64_MAX)
		values[n++] = 0;
	return n;
}

/* Places of an instruction, by what is done there. */
static uint64_t key_of(const struct rank_place *p)
{
	return (uint64_t)p->profile << 1 | (p->kind == RANK_VALUE_STORE);
}

/* Is @p p the first of its places that is tried? */
static bool is_first(struct search *x, const struct rank_place *p)
{
	if (map_get(&x->begun, key_of(p)))
		return false;
	return !map_put(&x->begun, key_of(p), 1);
}

static struct err *add_trials(struct search *x, const struct rank_place *p)
{
	const struct rank_profile *profile = &x->s->profiles.data[p->profile];
	size_t n = profile->values.size;
	bool is_constant = n <= 1, begins = is_first(x, p);
	uint64_t *values;
	struct err *err = NULL;

	if (p->kind == RANK_VALUE_BRANCH || p->kind == RANK_VALUE_STORE) {
		if (p->kind == RANK_VALUE_STORE && begins)
			err = add_trial(x, p, 0, true);
		return err ?: add_trial(x, p, 0, false);
	}
	values = malloc((n + 3) * sizeof(*values));
	if (!values)
		return &err_nomem;
	memcpy(values, profile->values.data, n * sizeof(*values));
	if (is_constant)
		n = neighbours(p->value, values);
	else if (!x->s->o->is_lossless)
		n = rank_spanning(values, n, p->value, p->bytes);
	for (size_t i = 0; i < n && !err; i++)
		if (values[i] != p->value)
			err = add_trial(x, p, values[i], false);
	// Were it another constant: from the first instance on.
	for (size_t i = 0; is_constant && begins && i < n && !err; i++)
		err = add_trial(x, p, values[i], true);
	free(values);
	return err;
}

/* Of an instruction that ran often some instances only, spread over the run. */
static bool is_left_out(struct search *x, const struct rank_place *p)
{
	uint64_t *n = map_get(&x->instances, key_of(p) << 1 | 1);
	uint64_t *total = map_get(&x->instances, key_of(p) << 1);
	uint64_t at, most = x->s->o->at ? AT_INSTANCES : INSTANCES_MAX;

	if (x->s->o->is_lossless || !n || !total || *total <= most)
		return false;
	at = (*n)++;
	if (!at || at * most / *total != (at + 1) * most / *total)
		return false;
	x->n_sampled++;
	return true;
}

static struct err *count_instances(struct search *x)
{
	for (size_t i = 0; i < x->run->places.size; i++) {
		uint64_t key = key_of(&x->run->places.data[i]) << 1;
		uint64_t *n = map_get(&x->instances, key);

		if (n)
			++*n;
		else if (map_put(&x->instances, key, 1) ||
			 map_put(&x->instances, key | 1, 0))
			return &err_nomem;
	}
	return NULL;
}

/* ---- runs ----------------------------------------------------------------------------------------- */

static struct err *note_ivmp(struct search *x, const struct trial *t)
{
	struct rank_run *run = x->run;
	uint32_t statement = t->place->statement;

	if (run->has_ivmp[statement] &&
	    (!x->s->o->at || x->s->ret->ivmps.size >= AT_IVMPS))
		return NULL;
	run->has_ivmp[statement] = 1;
	return vec_add(
		&x->s->ret->ivmps,
		(struct rank_ivmp){ .test = run->test->name,
				    .statement = statement,
				    .is_branch = t->place->kind == RANK_VALUE_BRANCH,
				    .is_left_out = t->place->kind == RANK_VALUE_STORE,
				    .original = t->place->value,
				    .alternate = t->value,
				    .is_each_time = t->is_each_time,
				    .bytes = t->place->bytes,
				    .role = t->place->role,
				    .set = t->place->set,
				    .position = t->place->position });
}

static void show_progress(struct rank_session *s, const struct search *x, size_t at)
{
	double now = clock_now_s(), took = now - s->start_s;
	double done = s->ret->n_searched;

	if (!s->o->with_progress || now - s->shown_s < 1 || took < 2)
		return;
	s->shown_s = now;
	done += x->run->places.size ? (double)at / x->run->places.size : 0;
	fprintf(stderr,
		TEXT_AGAIN "faultline: failing test %u of %u, %lu altered runs, %.0f a "
			   "second; about %.0f s to go ",
		s->ret->n_searched + 1, s->ret->n_failed, s->ret->n_runs,
		s->ret->n_runs / took,
		done > 0 ? took * (s->ret->n_failed - done) / done : 0);
}

/* Run trials [from, to). */
static struct err *run_batch(struct search *x, size_t from, size_t to)
{
	uint32_t stretch = x->trials.data[from].place->stretch;
	uint64_t left = x->run->length - x->run->begins.data[stretch];
	struct err *err = NULL;

	x->branches.size = 0;
	for (size_t i = from; i < to && !err; i++)
		err = vec_add(
			&x->branches,
			(struct dec_branch){ .alters = &x->trials.data[i].alter,
					     .n = 1,
					     .limit = LIMIT_TIMES * left + LIMIT_MORE });
	if (!err)
		err = dec_machine_branches(x->machine, x->branches.data, x->branches.size,
					   x->s->o->at_once ?: 1);
	for (size_t i = from; i < to && !err; i++)
		if (is_right(x, &x->branches.data[i - from].outcome) &&
		    x->branches.data[i - from].outcome.n_altered)
			err = note_ivmp(x, &x->trials.data[i]);
	x->s->ret->n_runs += x->branches.size;
	x->trials.size = 0;
	return err;
}

static bool has_to_stop(struct rank_session *s)
{
	if (s->o->stops && s->o->stops())
		s->ret->is_interrupted = true;
	return s->ret->is_interrupted;
}

/* The places of a stretch, [from, to). */
static struct err *search_stretch(struct search *x, size_t from, size_t to)
{
	const struct rank_place *places = x->run->places.data;
	uint64_t begin = x->run->begins.data[places[from].stretch];
	struct dec_where w;
	struct err *err;

	expect_from(x, begin);
	if (x->is_lost)
		return NULL;
	err = dec_machine_seek(x->machine, begin, &w);
	for (size_t i = from; i < to && !err; i++) {
		const struct rank_place *p = &places[i];

		if (rank_is_in_question(x->s, p->statement) &&
		    (x->s->o->is_lossless || x->s->o->at ||
		     !x->run->has_ivmp[p->statement]) &&
		    !is_left_out(x, p))
			err = add_trials(x, p);
		if (!err && (x->trials.size >= BATCH || i + 1 == to) && x->trials.size) {
			err = run_batch(x, 0, x->trials.size);
			show_progress(x->s, x, i);
			if (has_to_stop(x->s))
				break;
		}
	}
	return err;
}

static int by_stretch(const void *a, const void *b)
{
	const struct rank_place *p = a, *q = b;

	if (p->stretch != q->stretch)
		return p->stretch < q->stretch ? -1 : 1;
	return (p->position > q->position) - (p->position < q->position);
}

/* Without an alteration it is wrong: else nothing that follows means anything. */
static struct err *check(struct search *x, bool *is_fine)
{
	struct dec_outcome o;
	struct dec_where w;
	struct err *err;

	expect_from(x, 0);
	err = dec_machine_seek(x->machine, 0, &w);
	if (!err)
		err = dec_machine_branch(x->machine, NULL, 0, x->run->length + LIMIT_MORE,
					 &o);
	*is_fine = !err && !is_right(x, &o);
	if (err || *is_fine)
		return err;
	return lines_add(
		&x->s->ret->notes,
		"test '%s' failed when it was recorded, and what the capture shows is "
		"right: its outcome is not certain, and it is not searched",
		x->run->test->name);
}

static struct err *open_search(struct search *x)
{
	struct dec_machine_options mo = { .output_fd = -1 };
	struct err *err = NULL;
	int fd;

	if (x->run->test->expected)
		err = read_text(x->run->test->expected, -1, &x->expected);
	fd = x->s->o->is_capture ? -1 :
				   cap_suite_open(x->s->o->suite, x->run->test->name,
						  "stdout", O_RDONLY);
	if (!err && fd >= 0)
		err = read_text("stdout", fd, &x->printed);
	if (!err)
		err = capture_open(x->run->dir, &x->capture);
	if (!err)
		err = dec_machine_create(x->capture, &mo, &x->machine);
	x->run->has_ivmp = calloc(x->s->ret->statements.size + 1, 1);
	return err ?: x->run->has_ivmp ? count_instances(x) : &err_nomem;
}

struct err *rank_search(struct rank_session *s, struct rank_run *run)
{
	struct search x = { .s = s, .run = run };
	bool is_fine = false;
	struct err *err = open_search(&x);

	vec_sort(&run->places, by_stretch);
	if (!err)
		err = check(&x, &is_fine);
	for (size_t i = 0, next; i < run->places.size && !err && is_fine; i = next) {
		for (next = i;
		     next < run->places.size &&
		     run->places.data[next].stretch == run->places.data[i].stretch;)
			next++;
		err = search_stretch(&x, i, next);
		if (s->ret->is_interrupted)
			break;
	}
	if (!err && x.n_sampled)
		err = lines_add(&s->ret->notes,
				"of instructions that ran more than %d times in a test "
				"not all instances were tried (--lossless: all)",
				INSTANCES_MAX);
	s->ret->n_searched += !s->ret->is_interrupted;
	dec_machine_destroy(x.machine);
	capture_close(x.capture);
	free(x.expected.bytes);
	free(x.printed.bytes);
	vec_deinit(&x.trials);
	vec_deinit(&x.branches);
	map_deinit(&x.instances);
	map_deinit(&x.begun);
	return err ? err_prefix(err, "test '%s'", run->test->name) : NULL;
}
