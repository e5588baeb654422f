// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is in the page, behind its program, as JSON:
 *
 *   capture	{path, argv, cwd, pid, calls, end}
 *   analysis	as `analyze --json` prints it (doc/README.md)
 *   stories	[{at, position, thread, folded, is_full, places, moments}]
 *		places: [[text, file, line, is_input, instances]]
 *		moments: [[place, position, thread, parent, edge, what it made]], the latest first;
 *		parent -1: it is asked about; behind that 1, if it was made of more that is not there
 *		shares: [[moment, another that needed it, edge]]
 *   sources	[[file, {line: text}, [lines that ran]]]
 *   inputs	[as `inputs --json` prints them, or null]: of each story
 *   time	{end, alloc: [n], free: [n], events: [[position, kind, thread, name]], is_cut}
 *		alloc, free: how many in each of as many equal parts of the run
 *   heap	a page of its own (page.c), as text, or null; heap_left_out: changes before it
 *   served	whether its server answers report/request.h; heap is then true, or null
 *   results	[[kind, what `suppress --json' or `rank --json' printed]]
 *   notes	[text]
 */
#include "report/story.h"

#include <seccomp.h>
#include <string.h>

#include "base/file.h"
#include "report/made.h"
#include "report/report.h"
#include "report/script.h"
#include "report/sources.h"

#define PARTS 240  // of the time line
#define AROUND 400 // lines of the source before and behind one that is of interest

extern const char report_story_html[], report_story_html_end[];

/** A line of a source that ran. */
struct ran {
	int file, line;
};

/** A page being written. */
struct writing {
	const struct report_story *s;
	struct report_sources sources;
	cJSON *analysis; ///< parsed: it owns names of sources
	VEC(struct ran) ran;
	struct report_made made;
	FILE *out;
};

/* ---- JSON of others ------------------------------------------------------------------------ */

/* No string of it may end the script element. */
static void put_json(FILE *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
}

/** Somebody who prints. */
typedef struct err *print_fn(const struct report_story *s, FILE *out);

static struct err *print_analysis(const struct report_story *s, FILE *out)
{
	return report_json(s->analysis, s->findings, out);
}

/* What @p print prints, in @p *ret: free(). */
static struct err *printed(const struct report_story *s, print_fn *print, char **ret,
			   size_t *n)
{
	FILE *memory = open_memstream(ret, n);
	struct err *err = memory ? print(s, memory) : &err_nomem;

	if (memory && fclose(memory) && !err)
		err = &err_nomem;
	return err;
}

/* Want the sources of all places in @p o. */
static void want_places(struct writing *w, const cJSON *o)
{
	const cJSON *address = cJSON_GetObjectItem(o, "address"), *item;
	const cJSON *line = cJSON_GetObjectItem(o, "line");
	struct dec_place p = { .file = cJSON_GetStringValue(
				       cJSON_GetObjectItem(o, "file")) };

	if (p.file && cJSON_IsNumber(line)) {
		p.line = line->valueint;
		if (cJSON_IsNumber(address))
			dec_symbols_place(w->s->symbols, address->valuedouble, &p);
		report_sources_add(&w->sources, &p);
	}
	cJSON_ArrayForEach(item, o) want_places(w, item);
}

/* Want the lines that @p o names, if the file is one of which others are wanted: what else there is
 * on this machine is nothing that a result may ask for. */
static void want_known(struct writing *w, const cJSON *o)
{
	const char *file = cJSON_GetStringValue(cJSON_GetObjectItem(o, "file"));
	const cJSON *line = cJSON_GetObjectItem(o, "line"), *item;

	for (size_t i = 0; file && cJSON_IsNumber(line) && i < w->sources.files.size;
	     i++) {
		struct dec_place p = w->sources.files.data[i].place;

		if (strcmp(p.file, file))
			continue;
		p.line = line->valueint;
		report_sources_add(&w->sources, &p);
		break;
	}
	cJSON_ArrayForEach(item, o) want_known(w, item);
}

/* ---- stories -------------------------------------------------------------------------------- */

static void put_place(struct writing *w, const struct fl_view_statement *st)
{
	char text[400];

	report_sources_add(&w->sources, &st->place);
	fputc('[', w->out);
	report_script_string(w->out, report_slice_place(st, text, sizeof(text)));
	fputc(',', w->out);
	report_script_string(w->out, st->place.file);
	fprintf(w->out, ",%d,%d,%lu]", st->place.file ? st->place.line : 0, st->is_input,
		st->n);
}

static void put_moment(struct writing *w, const struct report_told *t,
		       const struct fl_view_moment *m)
{
	char value[240];
	size_t n;
	const struct fl_node *node = &fl_slice_nodes(t->slice, &n)[m->node];

	report_made_text(&w->made, &m->made, node->is_mem ? node->addr : 0, m->position,
			 value, sizeof(value));
	fprintf(w->out, "[%u,%lu,%u,%d,\"%s\",", m->statement, m->position, m->tid,
		m->parent == FL_NONE ? -1 : (int)m->parent, fl_edge_name(m->edge));
	report_script_string(w->out, value);
	fputs(m->is_cut ? ",1]" : "]", w->out);
}

static void put_shares(FILE *out, const struct fl_view *v)
{
	fputs("],\n\"shares\":[", out);
	for (size_t i = 0; i < v->shares.size; i++) {
		const struct fl_view_share *x = &v->shares.data[i];

		fprintf(out, "%s[%u,%u,\"%s\"]", i ? "," : "", x->from, x->to,
			fl_edge_name(x->edge));
	}
}

static void put_story(struct writing *w, const struct report_told *t)
{
	FILE *out = w->out;

	fputs("{\"at\":", out);
	report_script_string(out, t->at);
	fprintf(out,
		",\"position\":%lu,\"thread\":%u,\"folded\":%lu,\"is_full\":%s,"
		"\"places\":[",
		t->question.position, t->question.tid, t->view.n_folded,
		fl_slice_stats(t->slice)->is_full ||
				t->view.moments.size >= t->view.most_moments ?
			"true" :
			"false");
	for (size_t i = 0; i < t->view.statements.size; i++) {
		if (i)
			fputc(',', out);
		put_place(w, &t->view.statements.data[i]);
	}
	fputs("],\n\"moments\":[", out);
	for (size_t i = 0; i < t->view.moments.size; i++) {
		if (i)
			fputc(',', out);
		put_moment(w, t, &t->view.moments.data[i]);
	}
	put_shares(out, &t->view);
	fputs("]}", out);
}

/* ---- sources -------------------------------------------------------------------------------- */

/* Lines that ran: of all code that the trace knows. */
static struct err *find_ran(struct writing *w)
{
	const struct fl_slice *s = w->s->told->size ? w->s->told->data[0].slice : NULL;
	const struct fl_slice_insn *insn;
	struct map known = {};
	struct err *err = NULL;

	for (uint32_t i = 0; !err && s && (insn = fl_slice_insn(s, i)); i++) {
		struct dec_place p;
		int file;

		if (!dec_symbols_has_debug(w->s->symbols, insn->insn.rip))
			continue;
		dec_symbols_place(w->s->symbols, insn->insn.rip, &p);
		file = p.file && p.line > 0 ? report_sources_find(&w->sources, &p) : -1;
		if (file < 0 || map_get(&known, (uint64_t)file << 32 | p.line))
			continue;
		err = map_put(&known, (uint64_t)file << 32 | p.line, 1) ?
			      &err_nomem :
			      vec_add(&w->ran, (struct ran){ file, p.line });
	}
	map_deinit(&known);
	return err;
}

static struct err *put_sources(struct writing *w)
{
	struct err *err = find_ran(w);

	fputs(",\n\"sources\":[", w->out);
	for (size_t i = 0; i < w->sources.files.size; i++) {
		const char *comma = "";

		fputs(i ? ",\n[" : "\n[", w->out);
		report_script_string(w->out, w->sources.files.data[i].place.file);
		fputc(',', w->out);
		report_sources_print(&w->sources, i, w->s->symbols, w->out);
		fputs(",[", w->out);
		for (size_t k = 0; k < w->ran.size; k++) {
			if (w->ran.data[k].file != (int)i)
				continue;
			fprintf(w->out, "%s%d", comma, w->ran.data[k].line);
			comma = ",";
		}
		fputs("]]", w->out);
	}
	fputc(']', w->out);
	return err;
}

/* ---- time ----------------------------------------------------------------------------------- */

static void put_counts(const struct writing *w, const char *name, const uint32_t *n)
{
	fprintf(w->out, "\"%s\":[", name);
	for (int i = 0; i < PARTS; i++)
		fprintf(w->out, "%s%u", i ? "," : "", n[i]);
	fputs("],", w->out);
}

/* How many allocations and frees there are in each part of the run. */
static struct err *put_heap_counts(const struct writing *w)
{
	// A run that was right for all that could be seen quickly has no history beside the heap's.
	const struct hg_graph *g = w->s->heap ? w->s->heap->namer->graph :
						w->s->analysis->sides[FL_SIDE_APP].graph;
	uint32_t allocs[PARTS] = {}, frees[PARTS] = {};
	struct hg_view *v = NULL;
	struct hg_op op;
	struct err *err = g ? hg_view_create(g, 0, &v) : NULL;

	while (!err && v && hg_view_forward(v, &op)) {
		uint64_t part = op.time * PARTS / (w->s->end + 1);

		part = part < PARTS ? part : PARTS - 1;
		allocs[part] += op.kind == HG_OP_ALLOC;
		frees[part] += op.kind == HG_OP_FREE;
	}
	hg_view_destroy(v);
	put_counts(w, "alloc", allocs);
	put_counts(w, "free", frees);
	return err;
}

static void put_event(FILE *out, const struct dec_trapped *e)
{
	bool is_call = e->on == DEC_TRAP_SYSCALL;
	char *name =
		is_call ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, e->number) :
			  NULL;

	fprintf(out, "[%lu,\"%s\",%u,", e->position,
		is_call			 ? "call" :
		e->on == DEC_TRAP_SIGNAL ? "signal" :
					   "switch",
		e->tid);
	report_script_string(out, name);
	fputc(']', out);
	free(name);
}

static struct err *put_time(const struct writing *w)
{
	struct err *err;

	fprintf(w->out, ",\n\"time\":{\"end\":%lu,", w->s->end);
	err = put_heap_counts(w);
	fprintf(w->out, "\"is_cut\":%s,\"events\":[", w->s->is_cut ? "true" : "false");
	for (size_t i = 0; i < w->s->n_events; i++) {
		if (i)
			fputc(',', w->out);
		put_event(w->out, &w->s->events[i]);
	}
	fputs("]}", w->out);
	return err;
}

/* ---- the page --------------------------------------------------------------------------------- */

static void put_capture(const struct writing *w)
{
	const struct cap_info *info = capture_info(w->s->analysis->capture);

	fprintf(w->out, "{\"served\":%s,\"capture\":{\"path\":",
		w->s->is_served ? "true" : "false");
	report_script_string(w->out, w->s->capture);
	fputs(",\"cwd\":", w->out);
	report_script_string(w->out, info->cwd);
	fprintf(w->out, ",\"pid\":%u,\"calls\":%lu,\"argv\":[", info->pid,
		info->n_syscalls);
	for (size_t i = 0; info->argv && info->argv[i]; i++) {
		if (i)
			fputc(',', w->out);
		report_script_string(w->out, info->argv[i]);
	}
	fputs("]}", w->out);
}

static struct err *put_analysis(struct writing *w)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	struct err *err = printed(w->s, print_analysis, &text, &n);

	if (err)
		return err;
	w->analysis = cJSON_ParseWithLength(text, n);
	if (!w->analysis)
		return &err_nomem;
	for (size_t i = 0; i < w->s->analysis->end.frames.size; i++)
		report_sources_add(&w->sources,
				   &w->s->analysis->end.frames.data[i].place);
	want_places(w, w->analysis);
	fputs(",\n\"analysis\":", w->out);
	put_json(w->out, text, n);
	return NULL;
}

static struct err *put_inputs_of(const struct writing *w, const struct report_told *t)
{
	struct report_inputs of = *w->s->inputs;
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *memory = t->has_inputs ? open_memstream(&text, &n) : NULL;
	struct err *err;

	if (!t->has_inputs) {
		fputs("null", w->out);
		return NULL;
	}
	of.inputs = &t->inputs;
	of.question = &t->question;
	of.at = t->at;
	err = memory ? report_inputs_json(&of, memory) : &err_nomem;
	if (memory && fclose(memory) && !err)
		err = &err_nomem;
	if (!err)
		put_json(w->out, text, n);
	return err;
}

static struct err *put_inputs(const struct writing *w)
{
	struct err *err = NULL;

	fputs(",\n\"inputs\":[", w->out);
	for (size_t i = 0; i < w->s->told->size && !err; i++) {
		fputs(i ? ",\n" : "", w->out);
		err = put_inputs_of(w, &w->s->told->data[i]);
	}
	fputc(']', w->out);
	return err;
}

static struct err *put_heap(const struct writing *w)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n_left_out = 0;
	size_t n;
	FILE *memory;
	struct err *err;

	if (!w->s->heap || w->s->is_served) {
		fprintf(w->out, ",\n\"heap\":%s,\"heap_left_out\":0",
			w->s->heap ? "true" : "null");
		return NULL;
	}
	memory = open_memstream(&text, &n);
	err = memory ? report_page_print(w->s->heap, memory, &n_left_out) : &err_nomem;
	if (memory && fclose(memory) && !err)
		err = &err_nomem;
	if (err)
		return err;
	fputs(",\n\"heap\":", w->out);
	report_script_string(w->out, text);
	fprintf(w->out, ",\"heap_left_out\":%lu", n_left_out + w->s->heap->from_op);
	return NULL;
}

static struct err *put_results(struct writing *w)
{
	fputs(",\n\"results\":[", w->out);
	for (size_t i = 0; i < w->s->results->size; i++) {
		const struct report_result *r = &w->s->results->data[i];
		char *text = cJSON_PrintUnformatted(r->json);

		if (!text)
			return &err_nomem;
		want_known(w, r->json);
		fprintf(w->out, "%s[\"%s\",", i ? ",\n" : "", r->kind);
		put_json(w->out, text, strlen(text));
		fputc(']', w->out);
		cJSON_free(text);
	}
	fputc(']', w->out);
	return NULL;
}

static void put_notes(const struct writing *w)
{
	fputs(",\n\"notes\":[", w->out);
	for (size_t i = 0; i < w->s->notes->size; i++) {
		if (i)
			fputc(',', w->out);
		report_script_string(w->out, w->s->notes->data[i]);
	}
	fputc(']', w->out);
}

static void put_stories(struct writing *w)
{
	fputs(",\n\"stories\":[", w->out);
	for (size_t i = 0; i < w->s->told->size; i++) {
		if (i)
			fputs(",\n", w->out);
		put_story(w, &w->s->told->data[i]);
	}
	fputc(']', w->out);
}

static struct err *put_page(struct writing *w)
{
	struct err *err;

	fwrite(report_story_html, 1, report_story_html_end - report_story_html, w->out);
	fputs("</script>\n<script type=\"application/json\" id=\"data\">", w->out);
	put_capture(w);
	err = put_analysis(w);
	put_stories(w);
	if (!err)
		err = put_inputs(w);
	if (!err)
		err = put_time(w);
	if (!err)
		err = put_heap(w);
	if (!err)
		err = put_results(w);
	put_notes(w);
	// Last: all the others have wanted theirs by now.
	if (!err)
		err = put_sources(w);
	fputs("}</script>\n<script>begin();</script>\n</body>\n</html>\n", w->out);
	return err;
}

static struct err *put_later(struct writing *w, enum report_ask ask)
{
	struct err *err = NULL;

	fputs("{\"found\":true", w->out);
	if (ask == REPORT_ASK_WRONG)
		err = put_analysis(w);
	else if (ask == REPORT_ASK_STORY)
		put_stories(w);
	else
		err = put_inputs(w);
	if (!err)
		err = put_sources(w);
	fputs("}\n", w->out);
	return err;
}

static struct err *writing_init(struct writing *w, const struct report_story *s,
				FILE *out)
{
	*w = (struct writing){ .s = s, .sources = { .around = AROUND }, .out = out };
	return report_made_init(&w->made, s->heap ? s->heap->namer : NULL);
}

static void writing_deinit(struct writing *w)
{
	report_made_deinit(&w->made);
	report_sources_deinit(&w->sources);
	vec_deinit(&w->ran);
	cJSON_Delete(w->analysis);
}

struct err *report_story_print(const struct report_story *s, FILE *out)
{
	_cleanup_(writing_deinit) struct writing w;
	struct err *err = writing_init(&w, s, out);

	return err ?: put_page(&w);
}

struct err *report_story_print_later(const struct report_story *s, enum report_ask ask,
				     FILE *out)
{
	_cleanup_(writing_deinit) struct writing w;
	struct err *err = writing_init(&w, s, out);

	return err ?: put_later(&w, ask);
}

struct err *report_story_write(const struct report_story *s, const char *path)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, s->mode);

	if (!err)
		err = report_story_print(s, f.stream);
	return err ? err : new_file_commit(&f);
}
