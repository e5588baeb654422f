// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The only file that sees microhttpd.h. Its library brings one for TLS along, which no other command
 * shall load.
 */
#include "report/serve.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "report/script.h"

#define CONNECTIONS 16
#define IDLE_S 60
#define WAITING_MS 100	// who serves until there is a page looks whether there is one
#define HEAP_AROUND 150 // changes before and behind an instant

extern const char report_wait_html[], report_wait_html_end[];

#define FUNCTIONS(F)                   \
	F(start_daemon)                \
	F(stop_daemon)                 \
	F(run_wait)                    \
	F(lookup_connection_value)     \
	F(get_connection_values)       \
	F(create_response_from_buffer) \
	F(add_response_header)         \
	F(queue_response)              \
	F(destroy_response)

static struct {
#define F(name) __typeof__(MHD_##name) *name;
	FUNCTIONS(F)
#undef F
} mhd;

struct err *report_serve_check(void)
{
	static void *library;

	if (library)
		return NULL;
	library = dlopen("libmicrohttpd.so.12", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		library = dlopen("libmicrohttpd.so", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return err_new(ERR_NOT_FOUND,
			       "cannot load libmicrohttpd, which --serve needs (Debian: "
			       "libmicrohttpd12): %s",
			       dlerror());
#define F(name)                                                                   \
	*(void **)&mhd.name = dlsym(library, "MHD_" #name);                       \
	if (!mhd.name) {                                                          \
		dlclose(library);                                                 \
		library = NULL;                                                   \
		return err_new(ERR_NOT_FOUND,                                     \
			       "this libmicrohttpd is too old: it has no MHD_%s", \
			       #name);                                            \
	}
	FUNCTIONS(F)
#undef F
	return NULL;
}

/* ---- what is asked for ---------------------------------------------------------------------------- */

static struct err *print_heap(const struct report_serving *s, uint64_t position,
			      FILE *out)
{
	struct fl_page part;
	uint64_t at, n_left_out;

	if (!s->heap)
		return err_new(ERR_NOT_FOUND, "there is no heap");
	part = *s->heap;
	at = hg_graph_op_after(part.namer->graph, position);
	part.from_op = at > HEAP_AROUND ? at - HEAP_AROUND : 0;
	part.to_op = at + HEAP_AROUND < part.to_op ? at + HEAP_AROUND : part.to_op;
	part.now = position;
	part.is_near = true;
	return report_page_print(&part, out, &n_left_out);
}

static struct err *print(const struct report_serving *s, const struct report_request *r,
			 FILE *out)
{
	if (s->doing && r->ask != REPORT_ASK_PAGE) {
		fputs("{\"doing\":", out);
		report_script_string(out, s->doing);
		fputs("}\n", out);
		return NULL;
	}
	switch (r->ask) {
	case REPORT_ASK_HERE:
		return report_here_print(s->here, r->position, out);
	case REPORT_ASK_ORIGIN:
		return report_here_print_origin(s->here, r->position, r->n, out);
	case REPORT_ASK_HEAP:
		return print_heap(s, r->position, out);
	case REPORT_ASK_WRONG:
	case REPORT_ASK_STORY:
	case REPORT_ASK_INPUTS:
	case REPORT_ASK_FAR:
		return report_later_print(s->later, r, out);
	case REPORT_ASK_KNOWN:
		report_later_print_known(s->later, out);
		return NULL;
	case REPORT_ASK_PAGE:
		break;
	}
	fwrite(s->page, 1, s->page_bytes, out);
	return NULL;
}

/* @p text gets the answer, free(). @return its status. */
static unsigned answer_to(const struct report_serving *s, const struct report_request *r,
			  char **text, size_t *n)
{
	FILE *out = open_memstream(text, n);
	_cleanup_err_ struct err *err = out ? print(s, r, out) : &err_nomem;
	bool is_missing = err && err->code == ERR_NOT_FOUND;

	if (out && fclose(out) && !err)
		err = &err_nomem;
	if (!err)
		return MHD_HTTP_OK;
	if (!is_missing)
		log_note("%s", err->message);
	free(*text);
	*text = NULL;
	*n = 0;
	return is_missing ? MHD_HTTP_NOT_FOUND : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

/* ---- HTTP ------------------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, char *text,
			      size_t n, bool is_html)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
	};
	struct MHD_Response *r =
		mhd.create_response_from_buffer(n, text ?: "", MHD_RESPMEM_MUST_COPY);
	enum MHD_Result is_queued = MHD_NO;

	free(text);
	if (!r)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		mhd.add_response_header(r, headers[i][0], headers[i][1]);
	mhd.add_response_header(r, "Content-Type",
				is_html ? "text/html; charset=utf-8" :
					  "application/json");
	is_queued = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return is_queued;
}

/* MHD_AccessHandlerCallback: it is told of a request's head, of what is sent along, and at last that
 * all is there. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version,
				  const char *upload, size_t *n_upload, void **stage)
{
	static char has_head, has_more; // where *stage leads says which of them it was
	const struct report_serving *s = ctx;
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	struct report_request r = {};
	unsigned status = report_request_read(&s->door, method, host, url, &r);
	char *text = NULL;
	size_t n = 0;

	(void)version;
	(void)upload;
	if (!*stage || *n_upload) {
		*stage = *n_upload ? &has_more : &has_head;
		*n_upload = 0;
		return MHD_YES;
	}
	// Nobody of ours sends anything along, nor asks behind a question mark.
	if (status == MHD_HTTP_OK &&
	    (*stage == &has_more ||
	     mhd.get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL)))
		status = MHD_HTTP_NOT_FOUND;
	if (status == MHD_HTTP_OK)
		status = answer_to(s, &r, &text, &n);
	return answer(c, status, text, n,
		      r.ask == REPORT_ASK_PAGE || r.ask == REPORT_ASK_HEAP);
}

static struct err *begin(const struct report_serving *s, struct MHD_Daemon **ret)
{
	struct err *err = report_serve_check();

	if (err)
		return err;
	*ret = mhd.start_daemon(MHD_USE_AUTO, 0, NULL, NULL, on_request, (void *)s,
				MHD_OPTION_LISTEN_SOCKET, s->listener,
				MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
				MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	return *ret ? NULL : err_errno("cannot begin to serve");
}

struct err *report_serve(const struct report_serving *s)
{
	struct MHD_Daemon *d;
	struct err *err = begin(s, &d);

	if (err)
		return err;
	while (mhd.run_wait(d, -1) == MHD_YES)
		;
	mhd.stop_daemon(d);
	return err_new(ERR_OS, "cannot serve any longer");
}

/* The listener stays as it is: it is the page's, too. */
static _Noreturn void serve_waiting(const struct report_serving *s)
{
	struct MHD_Daemon *d;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!begin(s, &d))
		while (*s->doing && mhd.run_wait(d, WAITING_MS) == MHD_YES)
			;
	_exit(0);
}

struct err *report_serve_waiting(int listener, const struct report_door *door,
				 const char *doing, pid_t *ret)
{
	const struct report_serving s = {
		.listener = listener,
		.door = *door,
		.page = report_wait_html,
		.page_bytes = report_wait_html_end - report_wait_html,
		.doing = doing,
	};

	fflush(NULL);
	*ret = fork();
	if (!*ret)
		serve_waiting(&s);
	return *ret < 0 ? err_errno("cannot begin to serve") : NULL;
}

void report_serve_end_waiting(pid_t pid, char *doing)
{
	if (pid <= 0)
		return;
	*doing = 0;
	waitpid(pid, NULL, 0);
}
