// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "faultlocate/repair/checkpoint.h"
#include "faultlocate/repair/session.h"

enum mode { STOP_ANYWHERE, STOP_HERE, STOP_AT_BREAK, STOP_NOWHERE };

struct session {
	struct rp_session *s;
	struct rp_run run;
	struct rp_recorder rec;
	struct rp_checkpoints checkpoints;
	struct rp_state resumed; ///< where the run from a checkpoint begins
	bool is_resuming;	 ///< the run is to be given up for one from a checkpoint
	enum mode mode;		 ///< where to stop next
	VEC(int) breaks;	 ///< lines, for `continue'
	int depth, line;	 ///< STOP_HERE: not deeper; the line of a breakpoint
	size_t on_way;		 ///< so much of the way is behind it
	bool is_forced, forced;	 ///< at the next decision
	bool is_started, is_over, has_changed;
	int n_specs;
	struct err *err;
	const struct rp_statement *at; ///< where it stands
	char *line_text;
	size_t line_room;
};

static bool mistake(struct session *x, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool mistake(struct session *x, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("cannot: ", x->s->out);
	vfprintf(x->s->out, format, args);
	fputc('\n', x->s->out);
	va_end(args);
	x->s->n_mistakes++;
	return false;
}

static unsigned place(const struct session *x)
{
	return x->at->shape == RP_END ? x->at->at.to : x->at->at.from;
}

/* ---- the witness ------------------------------------------------------------------------------ */

static void entered(struct rp_run *r, int function)
{
	struct session *x = r->user;

	if (!x->checkpoints.to)
		fl_rp_record_call(&x->rec, r, function);
}

static void event(struct rp_run *r, struct rp_event e)
{
	struct session *x = r->user;

	if (x->checkpoints.to && (e.kind != RP_EV_CALL || r->depth > 1))
		fl_rp_checkpoint_event(&x->checkpoints);
	else
		fl_rp_record_event(&x->rec, e);
}

static void add_mark(struct session *x, bool is_change)
{
	fl_rp_record_mark(&x->rec, &x->run, x->at, is_change,
			  is_change ? -1 : x->n_specs);
	x->has_changed = false;
}

/* ---- commands ---------------------------------------------------------------------------------- */

static void show_line(struct session *x)
{
	const struct rp_program *p = x->s->p;
	const char *text = p->text + x->at->at.from;

	if (x->at->shape == RP_END)
		fprintf(x->s->out, "end of %s()\n",
			p->functions.data[x->run.function].name);
	else
		fprintf(x->s->out, "%d\t%.*s\n", x->at->line, (int)strcspn(text, "\n"),
			text);
}

static bool do_spec(struct session *x)
{
	struct rp_witness *w = fl_rp_record_now(&x->rec);
	const struct rp_mark *last;
	char why[160];

	if (!w)
		return mistake(x, "this is not in %s(), which is repaired",
			       x->s->p->functions.data[x->s->function].name);
	last = w->marks.size ? &w->marks.data[w->marks.size - 1] : NULL;
	if (last && !last->is_change && last->events == w->events.size &&
	    last->statement == x->at->id &&
	    !fl_rp_state_is(&x->run.state, &last->state, x->s->p, x->run.function,
			    place(x), why, sizeof(why)))
		return mistake(x, "this contradicts spec %d, which is of this place: %s",
			       last->number, why);
	add_mark(x, false);
	x->err = fl_rp_checkpoint_add(&x->checkpoints, &x->rec, x->s->p);
	fprintf(x->s->out, "spec %d: the state is asserted\n", x->n_specs++);
	return true;
}

/* @return whether @p text is `n3', `null' or a number, of @p type. */
static bool read_value(const struct session *x, const char *text, int type, int64_t *ret)
{
	char *end;

	if (type == RP_INT) {
		*ret = strtol(text, &end, 10);
		return end != text && !*end && *ret == (int32_t)*ret;
	}
	*ret = 0;
	if (!strcmp(text, "null") || !strcmp(text, "NULL"))
		return true;
	if (*text != 'n')
		return false;
	*ret = strtol(text + 1, &end, 10);
	return end != text + 1 && !*end && *ret >= 1 &&
	       *ret <= (int64_t)x->run.state.nodes.size &&
	       x->run.state.nodes.data[*ret - 1].record == type;
}

/* `n3->next' or `head->next'. */
static int64_t *find_field(struct session *x, const char *base, const char *field,
			   int *type)
{
	const struct rp_program *p = x->s->p;
	char *end;
	int64_t node = *base == 'n' ? strtol(base + 1, &end, 10) : 0;

	if (*base != 'n' || end == base + 1 || *end) {
		node = 0;
		for (size_t i = 0; i < p->variables.size; i++)
			if (fl_rp_in_scope(p, (int)i, x->run.function, place(x)) &&
			    p->variables.data[i].type >= 0 &&
			    !strcmp(p->variables.data[i].name, base))
				node = *fl_rp_state_variable(&x->run.state, p, (int)i);
	}
	if (node < 1 || node > (int64_t)x->run.state.nodes.size)
		return NULL;
	for (size_t k = 0;
	     k < p->records.data[x->run.state.nodes.data[node - 1].record].fields.size;
	     k++) {
		const struct rp_field *f =
			&p->records.data[x->run.state.nodes.data[node - 1].record]
				 .fields.data[k];

		*type = f->type;
		if (f->type != RP_OPAQUE && !strcmp(f->name, field))
			return &x->run.state.nodes.data[node - 1].fields[k];
	}
	return NULL;
}

static int64_t *find_entity(struct session *x, char *text, int *type)
{
	const struct rp_program *p = x->s->p;
	char *arrow = strstr(text, "->");
	int64_t *found = NULL;

	if (arrow) {
		*arrow = 0;
		found = find_field(x, text, arrow + 2, type);
		*arrow = '-';
		return found;
	}
	for (size_t i = 0; i < p->variables.size; i++) {
		if (!fl_rp_in_scope(p, (int)i, x->run.function, place(x)) ||
		    strcmp(p->variables.data[i].name, text))
			continue;
		*type = p->variables.data[i].type;
		found = fl_rp_state_variable(&x->run.state, p, (int)i);
	}
	return found;
}

/* `change n4 -> prev n3': spaces around an arrow do not count. */
static bool do_change(struct session *x, char *rest)
{
	char *value, *to = rest;
	int64_t *at, v;
	int type = RP_OPAQUE;

	for (char *c = rest + strlen(rest); c > rest && isspace(c[-1]); c--)
		c[-1] = 0;
	value = strrchr(rest, ' ');
	if (!value)
		return mistake(x, "change what to what? (change E V)");
	*value++ = 0;
	for (char *c = rest; *c; c++)
		if (!isspace(*c))
			*to++ = *c;
	*to = 0;
	at = find_entity(x, rest, &type);
	if (!at)
		return mistake(x, "there is no '%s' here", rest);
	if (!read_value(x, value, type, &v))
		return mistake(x, "'%s' is nothing that '%s' can have", value, rest);
	*at = v;
	x->has_changed = true;
	return true;
}

static void tell_answer(struct session *x, struct rp_answer *a)
{
	FILE *out = x->s->out;

	if (a->verdict == RP_REPAIRED) {
		fprintf(out,
			"repaired: %u guards, %u statements, %u new; %u of %u operations were "
			"suspects, %u bounds raised\n",
			a->guards, a->statements, a->insertions, a->suspects, a->n_ops,
			a->widenings);
		if (a->was_tried)
			fputs("found by trying changes; whether a smaller patch does is not known\n",
			      out);
		fl_rp_patch_print(x->s->p, &a->patch, out);
		if (a->other.edits.size) {
			fputs("as near, and it does all that is asserted, too; a run in which "
			      "they differ would tell:\n",
			      out);
			fl_rp_patch_print(x->s->p, &a->other, out);
		}
		x->err = fl_rp_patch_apply(x->s->p, &a->patch);
		x->s->n_repairs++;
	} else if (a->verdict == RP_RIGHT_ALREADY) {
		fputs("nothing to repair: the program does what was asserted\n", out);
	} else {
		fprintf(out,
			a->verdict == RP_GAVE_UP ? "not known: %s\n" :
						   "no repair within reach: %s\n",
			a->why[0] ? a->why : "no small change does what was asserted");
		x->s->n_failed++;
	}
}

/* What is under way is asked about up to here; or goes on. */
static void hold(struct session *x, bool holds)
{
	struct rp_witness *w = fl_rp_record_now(&x->rec);

	if (!w)
		return;
	if (holds && x->has_changed)
		add_mark(x, true);
	w->stop_events = w->events.size;
	w->stop_statement = holds ? x->at->id : RP_NONE;
}

static void do_repair(struct session *x)
{
	struct rp_question q = { .p = x->s->p,
				 .witnesses = x->rec.witnesses.data,
				 .n_witnesses = x->rec.witnesses.size,
				 .function = x->s->function,
				 .is_everywhere = x->s->is_everywhere,
				 .most_seconds = x->s->most_seconds };
	struct rp_answer a;

	if (!x->n_specs) {
		mistake(x, "nothing was asserted (spec)");
		return;
	}
	hold(x, true);
	x->err = fl_rp_repair(&q, &a);
	if (!x->err)
		tell_answer(x, &a);
	if (!x->err && (a.verdict == RP_NO_REPAIR || a.verdict == RP_GAVE_UP))
		x->err = fl_rp_conflict(&q,
					&x->rec.witnesses.data[x->rec.witnesses.size - 1],
					a.verdict, x->s->out);
	hold(x, false);
	fl_rp_answer_deinit(&a);
}

static void do_suspects(struct session *x)
{
	struct rp_suspects s = {};

	if (!x->n_specs) {
		mistake(x, "nothing was asserted (spec)");
		return;
	}
	hold(x, true);
	x->err = fl_rp_locate(x->s->p, x->rec.witnesses.data, x->rec.witnesses.size,
			      x->s->function, true, &s);
	if (!x->err)
		x->err = fl_rp_rank(x->s->p, x->rec.witnesses.data, x->rec.witnesses.size,
				    x->s->function, RP_TRIALS, &s);
	if (!x->err)
		x->err = fl_rp_suspects_print(x->s->p, &s, x->s->out);
	hold(x, false);
	fl_rp_suspects_deinit(&s);
}

static void do_gamma(struct session *x)
{
	const struct rp_witness *w =
		x->rec.witnesses.size ?
			&x->rec.witnesses.data[x->rec.witnesses.size - 1] :
			NULL;

	if (!w || !w->marks.size)
		mistake(x, "nothing was asserted (spec)");
	else
		x->err = fl_rp_gamma_print(x->s->p, w, x->s->out);
}

static void do_rewrite(struct session *x)
{
	_cleanup_free_ char *text = NULL;

	x->err = fl_rp_rewrite(x->s->p, &text);
	if (!x->err)
		x->err = fl_rp_diff(x->s->p, text, x->s->out);
}

static bool do_force(struct session *x, bool enter)
{
	if (x->at->shape != RP_LOOP || (x->at->is_do && !x->is_started))
		return mistake(x, "this is no loop");
	x->is_forced = true;
	x->forced = enter;
	return true;
}

static bool do_flip(struct session *x)
{
	if (x->at->shape != RP_IF)
		return mistake(x, "this is no branch");
	if (!x->at->is_heavy)
		return mistake(x, "this branch is free already: a repair may turn it");
	x->is_forced = true;
	x->forced = false;
	return true;
}

/* @return whether there is such a checkpoint. */
static bool do_resume(struct session *x, const char *rest)
{
	char *end;
	unsigned long number = strtoul(rest, &end, 10);
	struct rp_state state = {};

	if (end == rest || *end || number >= x->checkpoints.list.size)
		return mistake(x, "there is no checkpoint '%s'", rest);
	x->err = fl_rp_checkpoint_go(&x->checkpoints, number, &x->rec, x->s->p, &state);
	fl_rp_state_deinit(&x->resumed);
	x->resumed = state;
	x->is_resuming = true;
	fprintf(x->s->out, "resumed at checkpoint %lu\n", number);
	return true;
}

static bool is_word(const char *line, const char *word, char **rest)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) || (line[n] && !isspace(line[n])))
		return false;
	*rest = (char *)line + n + strspn(line + n, " \t");
	return true;
}

/* Commands that need a place to be. @return whether the program goes on. */
static bool do_here(struct session *x, char *line)
{
	char *rest;

	x->depth = x->run.depth;
	x->mode = STOP_HERE;
	if (is_word(line, "next", &rest))
		return true;
	if (is_word(line, "step", &rest)) {
		x->mode = STOP_ANYWHERE;
		return true;
	}
	if (is_word(line, "enter", &rest))
		return do_force(x, true);
	if (is_word(line, "leave", &rest))
		return do_force(x, false);
	if (is_word(line, "flip", &rest))
		return do_flip(x);
	if (is_word(line, "until", &rest)) {
		x->mode = STOP_AT_BREAK;
		x->line = atoi(rest);
		return true;
	}
	if (is_word(line, "break", &rest)) {
		if (vec_add(&x->breaks, atoi(rest)))
			x->err = &err_nomem;
		return false;
	}
	if (is_word(line, "continue", &rest)) {
		x->mode = STOP_NOWHERE;
		return true;
	}
	if (is_word(line, "change", &rest))
		do_change(x, rest);
	else if (is_word(line, "spec", &rest))
		do_spec(x);
	else if (is_word(line, "show", &rest))
		fl_rp_state_print(&x->run.state, x->s->p, x->run.function, place(x),
				  x->s->out);
	else if (is_word(line, "dot", &rest))
		fl_rp_state_dot(&x->run.state, x->s->p, x->run.function, place(x),
				x->s->out);
	else
		mistake(x, "'%s' is no command (doc/repair.md)", line);
	return false;
}

/* @return whether the program goes on; else it is over. */
static bool do_commands(struct session *x)
{
	char *rest;

	while (!x->err && !fflush(x->s->out) &&
	       getline(&x->line_text, &x->line_room, x->s->commands) > 0) {
		char *line = x->line_text + strspn(x->line_text, " \t");

		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		if (is_word(line, "echo", &rest)) {
			fprintf(x->s->out, "%s\n", rest);
			continue;
		}
		fprintf(x->s->out, "> %s\n", line);
		if (is_word(line, "repair start", &rest) ||
		    is_word(line, "start", &rest)) {
			if (!x->is_started)
				return true;
			mistake(x, "it has started");
		} else if (is_word(line, "repair", &rest)) {
			do_repair(x);
		} else if (is_word(line, "rewrite", &rest)) {
			do_rewrite(x);
		} else if (is_word(line, "suspects", &rest)) {
			do_suspects(x);
		} else if (is_word(line, "gamma", &rest)) {
			do_gamma(x);
		} else if (is_word(line, "resume", &rest)) {
			if (do_resume(x, rest))
				return false;
		} else if (!x->is_started || x->is_over) {
			mistake(x, x->is_over ? "the program is over" :
						"the program has not started (start)");
		} else if (do_here(x, line)) {
			return true;
		}
	}
	return false;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static bool is_break(const struct session *x, int line)
{
	for (size_t i = 0; i < x->breaks.size; i++)
		if (x->breaks.data[i] == line)
			return true;
	return false;
}

static bool stops(const struct session *x, const struct rp_statement *s)
{
	switch (x->mode) {
	case STOP_ANYWHERE:
		return true;
	case STOP_HERE:
		return x->run.depth <= x->depth;
	case STOP_NOWHERE:
		return is_break(x, s->line);
	case STOP_AT_BREAK:
		return s->line == x->line && s->shape != RP_END;
	}
	return true;
}

/* On the way to the instant at which commands begin. @return whether it is there yet. */
static bool has_come(struct session *x, const struct rp_statement *s)
{
	if (x->on_way == x->s->n_way)
		return true;
	x->on_way += s->line == x->s->way[x->on_way];
	return x->on_way == x->s->n_way;
}

static bool before(struct rp_run *r, const struct rp_statement *s)
{
	struct session *x = r->user;

	x->at = s;
	if (!has_come(x, s))
		return true;
	if (x->checkpoints.to && !fl_rp_checkpoint_before(&x->checkpoints, &x->rec, r, s))
		return !x->err;
	if (!stops(x, s))
		return !x->err;
	show_line(x);
	x->has_changed = false;
	if (!do_commands(x))
		return false;
	if (x->has_changed && x->rec.is_recording)
		add_mark(x, true);
	return !x->err;
}

static bool force(struct rp_run *r, const struct rp_statement *s, bool *ret)
{
	struct session *x = r->user;

	if (x->checkpoints.to)
		return fl_rp_checkpoint_force(&x->checkpoints, s, ret);
	if (!x->is_forced || s != x->at)
		return false;
	x->is_forced = false;
	*ret = s->shape == RP_IF ? !*ret : x->forced;
	return true;
}

/* The run came to its end. */
static void tell_end(struct session *x)
{
	const struct rp_run *r = &x->run;

	x->is_over = true;
	if (x->on_way < x->s->n_way)
		mistake(x,
			"the recorded run goes another way: it comes to line %d, and this does not",
			x->s->way[x->on_way]);
	if (r->end != RP_RAN)
		fprintf(x->s->out, "it ends at %s\n", r->why);
	else if (x->s->first)
		fprintf(x->s->out, "%s() returns\n",
			x->s->p->functions.data[x->s->function].name);
	else
		fputs("the program is over\n", x->s->out);
	if (x->rec.is_recording) { // it crashed there: what came before is witnessed
		struct rp_witness *w = fl_rp_record_now(&x->rec);

		w->stop_statement = x->at->id;
		w->stop_events = w->events.size;
		x->rec.is_recording = false;
	}
	if (r->end == RP_RAN && x->mode == STOP_NOWHERE && x->s->go_on)
		x->err = x->s->go_on(x->s->ctx, &r->state, x->s->out);
}

static void run_to_end(struct session *x, int function)
{
	if (fl_rp_run(&x->run, function) == RP_STOPPED || x->err)
		return;
	tell_end(x);
	do_commands(x);
}

static struct err *start(struct session *x)
{
	int first = x->s->first ? x->s->function :
				  fl_rp_program_function(x->s->p, "main");
	struct rp_run *r = &x->run;

	if (first == RP_NONE)
		return err_new(ERR_NOT_FOUND, "'%s' has no main() to start from",
			       x->s->p->path);
	x->is_started = true;
	r->p = x->s->p;
	r->user = x;
	r->inputs = x->s->inputs;
	r->n_inputs = x->s->n_inputs;
	r->watch = (struct rp_watch){
		.before = before, .force = force, .event = event, .entered = entered
	};
	x->err = x->s->first ? fl_rp_state_copy(&r->state, x->s->first, x->s->p) :
			       fl_rp_state_init(&r->state, x->s->p);
	if (!x->err)
		run_to_end(x, first);
	while (x->is_resuming && !x->err) {
		fl_rp_run_deinit(r);
		r->state = x->resumed;
		x->resumed = (struct rp_state){};
		x->is_resuming = x->is_over = x->is_forced = false;
		x->mode = STOP_ANYWHERE;
		r->steps = 0;
		r->depth = 0;
		run_to_end(x, x->s->function);
	}
	return x->err;
}

struct err *fl_rp_session_run(struct rp_session *s)
{
	struct session x = { .s = s, .rec.function = s->function };
	struct err *err = NULL;

	if (s->also) {
		x.rec = *s->also;
		x.rec.function = s->function;
		*s->also = (struct rp_recorder){};
	}
	if (do_commands(&x))
		err = start(&x);
	if (!err)
		err = x.err;
	if (!err && s->shown && x.at && x.run.state.globals.size)
		err = s->shown(s->ctx, &x.run.state, x.run.function, place(&x));
	if (!err && x.rec.has_failed)
		err = &err_nomem;
	fl_rp_recorder_deinit(&x.rec);
	fl_rp_checkpoints_deinit(&x.checkpoints);
	fl_rp_state_deinit(&x.resumed);
	vec_deinit(&x.breaks);
	fl_rp_run_deinit(&x.run);
	free(x.line_text);
	return err;
}
