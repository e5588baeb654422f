// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * `report --serve': the page, and what is found out when somebody asks.
 */
#include "cmd/report_int.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "cmd/listen.h"
#include "report/later.h"
#include "report/serve.h"

/* What is there of others' names and addresses plays no part. */
struct err *cmd_report_listen(uint16_t *port, int *ret)
{
	_cleanup_err_ struct err *err = NULL;
	char text[8];

	snprintf(text, sizeof(text), "%u", *port);
	err = cmd_listen("127.0.0.1", text, ret);
	if (!err && fcntl(*ret, F_SETFL, O_NONBLOCK))
		err = err_errno("no listener");
	if (err)
		return err_new(
			err->code,
			"cannot serve at port %u (--serve alone takes a free one): %s",
			*port, err->message);
	*port = cmd_listen_port(*ret);
	return NULL;
}

static struct err *make_token(char *ret)
{
	uint8_t bytes[REPORT_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_errno("cannot make a token");
	text_hex(ret, bytes, sizeof(bytes));
	return NULL;
}

struct err *cmd_report_let_in(struct reporting *r, struct report_door *door, pid_t *ret)
{
	struct err *err = make_token(door->token);
	char *doing = MAP_FAILED;

	if (!err)
		doing = mmap(NULL, DOING, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!err && doing == MAP_FAILED)
		err = err_errno("no memory to share");
	if (err)
		return err;
	r->doing = doing;
	cmd_report_show(r, "the capture");
	err = report_serve_waiting(r->args->listener, door, doing, ret);
	if (!err)
		fprintf(stderr, "faultline: http://127.0.0.1:%u/%s/ will have the page\n",
			door->port, door->token);
	return err;
}

/** What a page that is served is about. */
struct served {
	struct reporting *r;
	const struct composed *c;
};

/* Where what was used at a moment came from, however long ago. */
static struct err *find_far(const struct reporting *r, const struct fl_namer *namer,
			    const struct report_request *q, FILE *out)
{
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = NULL;
	struct report_here *here = NULL;
	struct err *err = dec_machine_create(r->capture, NULL, &m);

	if (!err)
		err = dec_machine_checkpoint(m);
	if (!err)
		err = report_here_create(m, r->symbols, r->end, namer, r->written, &here);
	if (err)
		return err;
	report_here_be_patient(here);
	fputs("{\"found\":true,\"origin\":", out);
	err = report_here_print_origin(here, q->position, q->n, out);
	fputs("}\n", out);
	report_here_destroy(here);
	return err;
}

/* A report_later_fn. What was found out when the page was made is still at hand, but its machine is the
 * other process's. */
static struct err *find_later(void *ctx, const struct report_request *q, FILE *out)
{
	const struct served *served = ctx;
	const struct reporting *first = served->r;
	struct reporting r = { .args = first->args,
			       .capture = first->capture,
			       .symbols = first->symbols,
			       .end = first->end,
			       .with_progress = true };
	struct composed c;
	char at[24];
	struct err *err;

	if (q->position > r.end)
		return err_new(ERR_NOT_FOUND, "the run ends before %lu", q->position);
	if (q->ask == REPORT_ASK_FAR) {
		cmd_report_show(&r, "who wrote it last");
		return find_far(&r, served->c->story.heap ? served->c->heap.namer : NULL,
				q, out);
	}
	snprintf(at, sizeof(at), "%lu", q->position);
	err = q->ask == REPORT_ASK_WRONG ? cmd_report_analyze(&r) : cmd_report_trace(&r);
	if (!err && q->ask != REPORT_ASK_WRONG)
		err = cmd_report_ask(&r, q->position == r.end ? "crash" : at);
	if (!err && q->ask == REPORT_ASK_STORY)
		err = cmd_report_tell(&r, &r.told.data[0]);
	if (!err && q->ask == REPORT_ASK_INPUTS)
		err = cmd_report_inputs(&r);
	if (!err)
		err = cmd_report_compose(&r, &c);
	if (err)
		return err;
	c.story.heap = served->c->story.heap; // has the names
	return report_story_print_later(&c.story, q->ask, out);
}

struct err *cmd_report_serve(struct reporting *r, const struct report_door *door,
			     const struct composed *c)
{
	struct served served = { r, c };
	struct fl_namer *namer = c->story.heap ? &r->analysis.sides[FL_SIDE_APP].namer :
						 NULL;
	struct report_serving s = { .listener = r->args->listener,
				    .door = *door,
				    .heap = c->story.heap };
	_cleanup_free_ char *page = NULL;
	FILE *out = open_memstream(&page, &s.page_bytes);
	struct err *err = out ? report_story_print(&c->story, out) : &err_nomem;

	if (out && fclose(out) && !err)
		err = &err_nomem;
	s.page = page;
	if (!err)
		err = report_later_create(find_later, &served, &s.later);
	if (!err && namer)
		err = hg_trails_create(namer->graph, &namer->trails);
	if (!err)
		err = report_here_create(r->machine, r->symbols, c->story.end, namer,
					 r->written, &s.here);
	if (!err)
		fprintf(stderr,
			"faultline: the page is at http://127.0.0.1:%u/%s/ until this is "
			"interrupted\n",
			s.door.port, s.door.token);
	if (!err)
		err = report_serve(&s);
	report_here_destroy(s.here);
	if (namer)
		hg_trails_destroy(namer->trails);
	report_later_destroy(s.later);
	return err;
}
