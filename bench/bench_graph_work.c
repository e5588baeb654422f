// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_graph_work.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Paper 001's inputs, where it says: `ls -R' of coreutils 8.0, a web page, a grammar of
 * ANSI C, a page rank program, a file search, and graphs of 1,589 vertices and 2,742
 * edges, 2,361 and 7,182, 7,115 and 103,689.
 */
#define TREE_DIRECTORIES 100
#define TREE_FILES 40 ///< in each; 4,000 in all
#define PAGE_SECTIONS 60
#define RANK_PAGES 400
#define RANK_ROUNDS 20

static uint32_t any(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint64_t)(*state >> 8) * below >> 24;
}

static const char *printed(struct bench *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *printed(struct bench *b, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return arena_strndup(&b->arena, text, strlen(text));
}

/* ---- inputs ------------------------------------------------------------------------------- */

static const char *const words[] = { "list", "tree", "edge",  "heap",  "sort", "copy",
				     "link", "path", "print", "stdio", "time", "utf8" };

#define N_WORDS (sizeof(words) / sizeof(*words))

static struct err *tree_file_write(const char *path, uint32_t *state)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");

	for (int line = 0; f && line < 20; line++)
		fprintf(f, "%s %s = %u;\n", words[any(state, N_WORDS)],
			words[any(state, N_WORDS)], any(state, 1000));
	return f && !fflush(f) ? NULL : err_errno("cannot write '%s'", path);
}

/** A tree of directories, as of a program's source. */
static struct err *tree_make(const char *root)
{
	char path[PATH_MAX];
	struct err *err = NULL;
	uint32_t state = 1;

	if (mkdir(root, 0700))
		return err_errno("cannot make '%s'", root);
	for (int i = 0; i < TREE_DIRECTORIES && !err; i++) {
		int n = snprintf(path, sizeof(path), "%s/%s-%d", root, words[i % N_WORDS],
				 i);

		if (mkdir(path, 0700))
			return err_errno("cannot make '%s'", path);
		for (int k = 0; k < TREE_FILES && !err; k++) {
			snprintf(path + n, sizeof(path) - n, "/%s-%s%u.%c",
				 words[any(&state, N_WORDS)], words[any(&state, N_WORDS)],
				 any(&state, 100000), "chpm"[k % 4]);
			err = tree_file_write(path, &state);
		}
	}
	return err;
}

/** A page as people wrote them: nested tables and lists, tags not closed. */
static struct err *page_write(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	uint32_t state = 2;

	if (!f)
		return err_errno("cannot write '%s'", path);
	fprintf(f, "<html><head><title>A project</title><body bgcolor=white>\n");
	for (int i = 0; i < PAGE_SECTIONS; i++) {
		fprintf(f, "<h2><a name=s%d>Section %d</h2><table border=1 width=90%%>\n",
			i, i);
		for (int row = 0; row < 4; row++)
			fprintf(f, "<tr><td><b>%s<td><i>%s</b></i><td>%u\n",
				words[any(&state, N_WORDS)], words[any(&state, N_WORDS)],
				any(&state, 1000));
		fprintf(f, "</table><ul>\n");
		for (int item = 0; item < 4; item++)
			fprintf(f,
				"<li><a href=\"%s.html?a=1&b=%u\">%s</a> <font "
				"color=red>%s & %s</font>\n",
				words[any(&state, N_WORDS)], any(&state, 100),
				words[any(&state, N_WORDS)], words[any(&state, N_WORDS)],
				words[any(&state, N_WORDS)]);
		fprintf(f, "</ul><p>The %s of the %s.<br><img src=%s.gif>\n",
			words[any(&state, N_WORDS)], words[any(&state, N_WORDS)],
			words[any(&state, N_WORDS)]);
	}
	return fflush(f) ? err_errno("cannot write '%s'", path) : NULL;
}

static struct err *text_write(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");

	return f && fputs(text, f) >= 0 && !fflush(f) ?
		       NULL :
		       err_errno("cannot write '%s'", path);
}

#define TEXT(n) TEXT_(n)
#define TEXT_(n) #n

static const char page_rank[] = "n, state = " TEXT(
	RANK_PAGES) ", 1\n"
		    "class Page:\n"
		    "    def __init__(self, name):\n"
		    "        self.name, self.links, self.rank = name, [], 1.0 / n\n"
		    "pages = [Page('page%d' % i) for i in range(n)]\n"
		    "for page in pages:\n"
		    "    for i in range(5):\n"
		    "        state = (state * 1103515245 + 12345) % 2147483648\n"
		    "        page.links.append(pages[state // 65536 % n])\n"
		    "for turn in range(" TEXT(
			    RANK_ROUNDS) "):\n"
					 "    gets = dict((page, 0.15 / n) for page in pages)\n"
					 "    for page in pages:\n"
					 "        for to in page.links:\n"
					 "            gets[to] += 0.85 * page.rank / len(page.links)\n"
					 "    for page in pages:\n"
					 "        page.rank = gets[page]\n"
					 "pages.sort(key=lambda page: -page.rank)\n"
					 "for page in pages[:10]:\n"
					 "    print('%.6f %s' % (page.rank, page.name))\n";

static const char file_search[] =
	"my ($root, $what) = @ARGV;\n"
	"my @left = ($root);\n"
	"my %found;\n"
	"while (defined(my $dir = shift @left)) {\n"
	"    opendir(my $d, $dir) or die \"$dir: $!\\n\";\n"
	"    for my $name (sort grep { !/^\\.\\.?$/ } readdir $d) {\n"
	"        my $path = \"$dir/$name\";\n"
	"        if (-d $path) { push @left, $path; next; }\n"
	"        open(my $f, '<', $path) or next;\n"
	"        while (my $line = <$f>) {\n"
	"            push @{$found{$path}}, $. if $line =~ /$what/;\n"
	"        }\n"
	"    }\n"
	"}\n"
	"printf \"%s: %s\\n\", $_, join(' ', @{$found{$_}}) for sort keys %found;\n";

/** Edges between @p n vertices, each of which has one; a few have very many. Ordered by
 * where they come from, as such files are. */
static struct err *edges_write(const char *path, unsigned n, unsigned n_edges)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	uint32_t state = n;

	if (!f)
		return err_errno("cannot write '%s'", path);
	for (unsigned from = 0, k = 0; from < n; from++) {
		unsigned until = (uint64_t)n_edges * (from + 1) / n;

		for (; k < until; k++) {
			unsigned x = any(&state, n), to = (uint64_t)x * x / n;

			if (to == from)
				to = (from + 1) % n;
			fprintf(f, "%u %u\n", from, to);
		}
	}
	return fflush(f) ? err_errno("cannot write '%s'", path) : NULL;
}

/* ---- programs ----------------------------------------------------------------------------- */

/** Debian's, not one that stands before it in PATH. */
static const char *debian_program(struct bench *b, const char *name)
{
	const char *path = printed(b, "/usr/bin/%s", name);

	return path && access(path, X_OK) == 0 ? path :
						 bench_find_program(&b->arena, name);
}

static const char *own_program(struct bench *b, const char *name)
{
	return printed(b, "%.*s/bench/programs/%s", (int)(strrchr(b->exe, '/') - b->exe),
		       b->exe, name);
}

static void find_programs(struct bench *b, struct graph_work works[GRAPH_WORKS])
{
	for (size_t i = 0; i < GRAPH_WORKS; i++) {
		struct graph_work *w = &works[i];
		bool is_own = i >= 5;
		const char *path = is_own ? own_program(b, w->argv[0]) :
					    debian_program(b, w->argv[0]);

		if (!path || access(path, X_OK))
			w->missing = is_own ? "it is not built (make tests)" :
					      "it is not installed";
		else
			w->argv[0] = path;
	}
}

static struct err *inputs_make(struct bench *b)
{
	const char *s = b->scratch;
	struct err *err = tree_make(printed(b, "%s/tree", s));

	if (!err)
		err = page_write(printed(b, "%s/page.html", s));
	if (!err)
		err = bench_graph_grammar_write(printed(b, "%s/c.y", s));
	if (!err)
		err = text_write(printed(b, "%s/rank.py", s), page_rank);
	if (!err)
		err = text_write(printed(b, "%s/search.pl", s), file_search);
	if (!err)
		err = edges_write(printed(b, "%s/1589", s), 1589, 2742);
	if (!err)
		err = edges_write(printed(b, "%s/2361", s), 2361, 7182);
	if (!err)
		err = edges_write(printed(b, "%s/7115", s), 7115, 103689);
	return err;
}

struct err *bench_graph_works_make(struct bench *b, struct graph_work ret[GRAPH_WORKS])
{
	const char *s = b->scratch, *tree = printed(b, "%s/tree", s);
	const struct graph_work works[GRAPH_WORKS] = {
		{ "ls",
		  "-R of a source tree: 4,000 files in 100 directories",
		  { "ls", "-R", tree },
		  0,
		  { { 3.8, 6.9 }, 1895, 0.02, { 2.14, 5.41 } },
		  NULL },
		{ "tidy",
		  "a project's page, 40 kB",
		  { "tidy", "-q", "--force-output", "yes", "--show-errors", "0",
		    "--show-warnings", "no", printed(b, "%s/page.html", s) },
		  1,
		  { { 22.4, 32.1 }, 2484, 0.01, { 8.9, 9.63 } },
		  NULL },
		{ "bison",
		  "a grammar of ANSI C, 211 rules (version 3.8; the paper's was 2.4.1)",
		  { "bison", "-o", printed(b, "%s/c.c", s), printed(b, "%s/c.y", s) },
		  0,
		  { { 2.5, 32.3 }, 283, 0.06, { 2.68, 9.82 } },
		  NULL },
		{ "python3",
		  "page rank of 400 pages, 20 rounds; small objects lie in arenas of its own, "
		  "which are no nodes where its allocator is not looked through",
		  { "python3", printed(b, "%s/rank.py", s) },
		  0,
		  { { 137.8, 140.5 }, 110242, 0.09, { 30.74, 32.85 } },
		  NULL },
		{ "perl",
		  "file search in the tree of ls",
		  { "perl", printed(b, "%s/search.pl", s), tree, "heap.*42" },
		  0,
		  { { 48.1, 50.2 }, 65652, 1.11, { 26.41, 32.52 } },
		  NULL },
		{ "colouring",
		  "1,589 vertices, 2,742 edges, in a list of arrays",
		  { "colouring", printed(b, "%s/1589", s) },
		  0,
		  { { 82.3, 83.5 }, 311, 0.05, { 37.33, 38.08 } },
		  NULL },
		{ "independent",
		  "2,361 vertices, 7,182 edges, in lists",
		  { "independent", printed(b, "%s/2361", s) },
		  0,
		  { { 6.3, 10.2 }, 451, 0.05, { 47.27, 50.79 } },
		  NULL },
		{ "shortest",
		  "7,115 vertices, 103,689 edges, 8 shards",
		  { "shortest", printed(b, "%s/7115", s) },
		  0,
		  { { 47.9, 84.7 }, 50827, 0.06, { 13.68, 45.84 } },
		  NULL },
	};

	memcpy(ret, works, sizeof(works));
	find_programs(b, ret);
	return inputs_make(b);
}
