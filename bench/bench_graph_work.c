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
static struct err *tree_make(const char *root, int n_directories, int n_files)
{
	char path[PATH_MAX];
	struct err *err = NULL;
	uint32_t state = 1;

	if (mkdir(root, 0700))
		return err_errno("cannot make '%s'", root);
	for (int i = 0; i < n_directories && !err; i++) {
		int n = snprintf(path, sizeof(path), "%s/%s-%d", root, words[i % N_WORDS],
				 i);

		if (mkdir(path, 0700))
			return err_errno("cannot make '%s'", path);
		for (int k = 0; k < n_files && !err; k++) {
			snprintf(path + n, sizeof(path) - n, "/%s-%s%u.%c",
				 words[any(&state, N_WORDS)], words[any(&state, N_WORDS)],
				 any(&state, 100000), "chpm"[k % 4]);
			err = tree_file_write(path, &state);
		}
	}
	return err;
}

/** A page as people wrote them: nested tables and lists, tags not closed. */
static struct err *page_write(const char *path, int n_sections)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	uint32_t state = 2;

	if (!f)
		return err_errno("cannot write '%s'", path);
	fprintf(f, "<html><head><title>A project</title><body bgcolor=white>\n");
	for (int i = 0; i < n_sections; i++) {
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

static const char page_rank[] =
	"import sys\n"
	"n, rounds, state = int(sys.argv[1]), int(sys.argv[2]), 1\n"
	"class Page:\n"
	"    def __init__(self, name):\n"
	"        self.name, self.links, self.rank = name, [], 1.0 / n\n"
	"pages = [Page('page%d' % i) for i in range(n)]\n"
	"for page in pages:\n"
	"    for i in range(5):\n"
	"        state = (state * 1103515245 + 12345) % 2147483648\n"
	"        page.links.append(pages[state // 65536 % n])\n"
	"for turn in range(rounds):\n"
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

/** The paper's figures: tables 3.3 and 3.4. */
static const struct graph_published
	published_ls = { { 3.8, 6.9 }, 1895, 0.02, { 2.14, 5.41 } },
	published_tidy = { { 22.4, 32.1 }, 2484, 0.01, { 8.9, 9.63 } },
	published_bison = { { 2.5, 32.3 }, 283, 0.06, { 2.68, 9.82 } },
	published_python = { { 137.8, 140.5 }, 110242, 0.09, { 30.74, 32.85 } },
	published_perl = { { 48.1, 50.2 }, 65652, 1.11, { 26.41, 32.52 } },
	published_colouring = { { 82.3, 83.5 }, 311, 0.05, { 37.33, 38.08 } },
	published_independent = { { 6.3, 10.2 }, 451, 0.05, { 47.27, 50.79 } },
	published_shortest = { { 47.9, 84.7 }, 50827, 0.06, { 13.68, 45.84 } };

#define ALL_WAYS (1u << GRAPH_APP | 1u << GRAPH_ALLOCATOR | 1u << GRAPH_INFERRED)
#define KNOWN (1u << GRAPH_APP | 1u << GRAPH_ALLOCATOR)
#define UNKNOWN (1u << GRAPH_INFERRED)

/** Inputs in the scratch directory: what makes them, with one or two sizes. */
static const struct input {
	const char *name;
	char kind; ///< tree, page, grammar, levels, rank, search, edges
	unsigned n, m;
} inputs[] = {
	{ "tree", 't', 100, 40 },	{ "tree-large", 't', 5, 1000 },
	{ "tree-2", 't', 2, 800 },	{ "tree-75", 't', 75, 40 },
	{ "tree-26", 't', 26, 40 },	{ "page.html", 'p', 60, 0 },
	{ "page-13.html", 'p', 13, 0 }, { "c.y", 'g', 0, 0 },
	{ "levels.y", 'l', 4, 0 },	{ "rank.py", 'r', 0, 0 },
	{ "search.pl", 's', 0, 0 },	{ "1589", 'e', 1589, 2742 },
	{ "2361", 'e', 2361, 7182 },	{ "7115", 'e', 7115, 103689 },
	{ "1010", 'e', 1010, 1743 },	{ "510", 'e', 510, 1552 },
	{ "4100", 'e', 4100, 59750 },
};

static struct err *input_make(struct bench *b, const struct input *in)
{
	const char *path = printed(b, "%s/%s", b->scratch, in->name);

	switch (in->kind) {
	case 't':
		return tree_make(path, in->n, in->m);
	case 'p':
		return page_write(path, in->n);
	case 'g':
		return bench_graph_grammar_write(path);
	case 'l':
		return bench_graph_levels_write(path, in->n);
	case 'r':
		return text_write(path, page_rank);
	case 's':
		return text_write(path, file_search);
	default:
		return edges_write(path, in->n, in->m);
	}
}

#define TIDY(page)                                                           \
	{                                                                    \
		"tidy", "-q", "--force-output", "yes", "--show-errors", "0", \
			"--show-warnings", "no", page                        \
	}

// An argument that begins with "@/" is a file of the scratch folder.
static const struct graph_work works[GRAPH_WORKS] = {
	{ .name = "ls",
	  .input = "-R of a source tree: 4000 files in 100 directories",
	  .argv = { "ls", "-R", "@/tree" },
	  .published = &published_ls },
	{ .name = "ls, equal work",
	  .input = "5000 files in 5 directories",
	  .ways = KNOWN,
	  .argv = { "ls", "-R", "@/tree-large" },
	  .published = &published_ls },
	{ .name = "ls, equal work",
	  .input = "1600 files in 2 directories: more nodes are found than the "
		   "allocator knows",
	  .ways = UNKNOWN,
	  .argv = { "ls", "-R", "@/tree-2" },
	  .published = &published_ls },
	{ .name = "tidy",
	  .input = "a project's page, 40 kB",
	  .argv = TIDY("@/page.html"),
	  .status = 1,
	  .published = &published_tidy },
	{ .name = "tidy, equal work",
	  .input = "a page of 9 kB",
	  .ways = ALL_WAYS,
	  .argv = TIDY("@/page-13.html"),
	  .status = 1,
	  .published = &published_tidy },
	{ .name = "bison",
	  .input = "a grammar of ANSI C, 211 rules (version 3.8; the paper's was "
		   "2.4.1)",
	  .argv = { "bison", "-o", "@/c.c", "@/c.y" },
	  .published = &published_bison },
	{ .name = "bison, equal work",
	  .input = "a grammar of expressions, 10 rules",
	  .ways = ALL_WAYS,
	  .argv = { "bison", "-o", "@/levels.c", "@/levels.y" },
	  .published = &published_bison },
	{ .name = "python3",
	  .input = "page rank of 400 pages, 20 rounds; small objects lie in arenas "
		   "of its own, which are no nodes where its allocator is not "
		   "looked through",
	  .argv = { "python3", "@/rank.py", "400", "20" },
	  .published = &published_python },
	{ .name = "python3, equal work",
	  .input = "200 pages, 5 rounds, and PYTHONMALLOC=malloc: each object is a "
		   "node",
	  .ways = KNOWN,
	  .env = "PYTHONMALLOC",
	  .value = "malloc",
	  .argv = { "python3", "@/rank.py", "200", "5" },
	  .published = &published_python },
	{ .name = "python3, equal work",
	  .input = "40 pages, 2 rounds",
	  .ways = UNKNOWN,
	  .argv = { "python3", "@/rank.py", "40", "2" },
	  .published = &published_python },
	{ .name = "perl",
	  .input = "file search in the tree of ls",
	  .argv = { "perl", "@/search.pl", "@/tree", "heap.*42" },
	  .published = &published_perl },
	{ .name = "perl, equal work",
	  .input = "in 75 directories of 40 files",
	  .ways = KNOWN,
	  .argv = { "perl", "@/search.pl", "@/tree-75", "heap.*42" },
	  .published = &published_perl },
	{ .name = "perl, equal work",
	  .input = "in 26 directories of 40 files",
	  .ways = UNKNOWN,
	  .argv = { "perl", "@/search.pl", "@/tree-26", "heap.*42" },
	  .published = &published_perl },
	{ .name = "colouring",
	  .input = "1589 vertices, 2742 edges, in a list of arrays",
	  .argv = { "colouring", "@/1589" },
	  .is_own = true,
	  .published = &published_colouring },
	{ .name = "colouring, equal work",
	  .input = "1010 vertices, 1743 edges",
	  .ways = ALL_WAYS,
	  .argv = { "colouring", "@/1010" },
	  .is_own = true,
	  .published = &published_colouring },
	{ .name = "independent",
	  .input = "2361 vertices, 7182 edges, in lists",
	  .argv = { "independent", "@/2361" },
	  .is_own = true,
	  .published = &published_independent },
	{ .name = "independent, equal work",
	  .input = "510 vertices, 1552 edges",
	  .ways = ALL_WAYS,
	  .argv = { "independent", "@/510" },
	  .is_own = true,
	  .published = &published_independent },
	{ .name = "shortest",
	  .input = "7115 vertices, 103689 edges, 8 shards",
	  .argv = { "shortest", "@/7115" },
	  .is_own = true,
	  .published = &published_shortest },
	{ .name = "shortest, equal work",
	  .input = "4100 vertices, 59750 edges",
	  .ways = ALL_WAYS,
	  .argv = { "shortest", "@/4100" },
	  .is_own = true,
	  .published = &published_shortest },
};

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

static void find_program(struct bench *b, struct graph_work *w)
{
	const char *path = w->is_own ? own_program(b, w->argv[0]) :
				       debian_program(b, w->argv[0]);

	if (!path || access(path, X_OK))
		w->missing = w->is_own ? "it is not built (make tests)" :
					 "it is not installed";
	else
		w->argv[0] = path;
}

static void find_files(struct bench *b, struct graph_work *w)
{
	for (const char **arg = w->argv; *arg; arg++)
		if (!strncmp(*arg, "@/", 2))
			*arg = printed(b, "%s%s", b->scratch, *arg + 1);
}

struct err *bench_graph_works_make(struct bench *b, struct graph_work ret[GRAPH_WORKS])
{
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs) && !err; i++)
		err = input_make(b, &inputs[i]);
	memcpy(ret, works, sizeof(works));
	for (size_t i = 0; i < GRAPH_WORKS; i++) {
		find_files(b, &ret[i]);
		find_program(b, &ret[i]);
	}
	return err;
}
