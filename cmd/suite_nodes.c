// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * On which nodes a suite's captures can be looked at: those that have the instruction sets of the processor
 * that each was recorded on. Tests of different needs go into different arrays.
 */
#include <dirent.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "capture/capture.h"
#include "cmd/slurm.h"
#include "cmd/suite_array.h"

/* The instruction sets that test @p t is about. */
static cap_isa needs_of(const struct suite_run *r, const struct cap_suite_test *t)
{
	_cleanup_free_ char *path = cap_suite_path(r->dir, t->name, "capture");
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = NULL;

	if (r->analysis->is_own)
		return r->needs;
	err = path ? capture_open(path, &c) : &err_nomem;
	return err ? 0 : cap_isa_of(&capture_info(c)->cpu);
}

/* @return the index of @p needs among the kinds. */
static size_t kind_of(struct suite_array *a, cap_isa needs)
{
	size_t i = 0;

	while (i < a->n_kinds && a->kinds[i] != needs)
		i++;
	if (i == SUITE_KINDS_MOST)
		i--;
	a->kinds[i] |= needs;
	a->n_kinds = i < a->n_kinds ? a->n_kinds : i + 1;
	return i;
}

struct err *cmd_suite_array_find_needs(struct suite_array *a)
{
	if (!a->r->analysis)
		return NULL;
	a->kind = calloc(a->r->suite->n_tests + 1, sizeof(*a->kind));
	for (size_t i = 0; a->kind && i < a->r->suite->n_tests; i++)
		if (a->is_pending[i])
			a->kind[i] =
				kind_of(a, needs_of(a->r, cap_suite_at(a->r->suite, i)));
	return a->kind ? NULL : &err_nomem;
}

bool cmd_suite_array_is_in_round(const struct suite_array *a, size_t i)
{
	return !a->kind || a->kind[i] == a->round;
}

size_t cmd_suite_array_choose_round(struct suite_array *a)
{
	size_t n = 0, i = 0;

	while (a->kind && !a->is_pending[i])
		i++;
	a->round = a->kind ? a->kind[i] : 0;
	for (i = 0; i < a->r->suite->n_tests; i++)
		n += a->is_pending[i] && cmd_suite_array_is_in_round(a, i);
	return n;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || strchr(", \n", at[-1])) && strchr(", \n", at[n]))
			return true;
	return false;
}

/* The names of @p sets, between which @p between comes, into @p out. */
static void put_names(FILE *out, cap_isa sets, const char *between)
{
	bool is_first = true;

	for (unsigned i = 0; cap_isa_name(i); i++)
		if (sets >> i & 1) {
			fprintf(out, "%s%s", is_first ? "" : between, cap_isa_name(i));
			is_first = false;
		}
}

/* The nodes that are known not to do, @p before each but the first. @return how many. */
static size_t put_unfit(const struct suite_array *a, FILE *out, const char *before)
{
	DIR *d = opendir(a->dir);
	const struct dirent *entry;
	size_t n = 0;

	while (d && (entry = readdir(d)))
		if (!strncmp(entry->d_name, SUITE_UNFIT, strlen(SUITE_UNFIT)) && ++n &&
		    out)
			fprintf(out, "%s%s", n > 1 ? before : "",
				entry->d_name + strlen(SUITE_UNFIT));
	if (d)
		closedir(d);
	return n;
}

size_t cmd_suite_array_count_unfit(const struct suite_array *a)
{
	return put_unfit(a, NULL, "");
}

struct err *cmd_suite_array_find_places(const struct suite_array *a, char **where,
					char **out)
{
	_cleanup_free_ char *features = cmd_slurm_features();
	cap_isa named = 0;
	size_t bytes;
	FILE *f;

	for (unsigned i = 0; features && cap_isa_name(i); i++)
		if (a->kinds[a->round] >> i & 1 && has_word(features, cap_isa_name(i)))
			named |= (cap_isa)1 << i;
	f = named ? open_memstream(where, &bytes) : NULL;
	if (f) {
		fputs("--constraint=", f);
		put_names(f, named, "&");
		fclose(f);
	}
	f = cmd_suite_array_count_unfit(a) ? open_memstream(out, &bytes) : NULL;
	if (f) {
		fputs("--exclude=", f);
		put_unfit(a, f, ",");
		fclose(f);
	}
	return features ? NULL : &err_nomem;
}

struct err *cmd_suite_array_no_node(const struct suite_array *a, struct err *err)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (f) {
		fputs("no node has ", f);
		put_names(f, a->kinds[a->round], ", ");
		if (cmd_suite_array_count_unfit(a))
			fputs("; not these: ", f);
		put_unfit(a, f, ", ");
		fclose(f);
		err = err_prefix(err, "%s", text);
	}
	free(text);
	return err;
}

struct err *cmd_suite_array_leave_unfit(const struct suite_run *r, bool *wanted)
{
	const char *node = secure_getenv("SLURMD_NODENAME") ?: "this node";
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *path = NULL;
	cap_isa here = cap_isa_here(), lacking = 0;
	struct err *err;
	size_t n = 0;

	for (size_t i = 0; i < r->suite->n_tests; i++) {
		cap_isa less =
			wanted[i] ? needs_of(r, cap_suite_at(r->suite, i)) & ~here : 0;

		wanted[i] &= !less;
		n += less != 0;
		lacking |= less;
	}
	if (!n)
		return NULL;
	if (asprintf(&path, "%s/slurm/" SUITE_UNFIT "%s", r->dir, node) < 0)
		return &err_nomem;
	fprintf(stderr, "faultline: note: %s lacks ", node);
	put_names(stderr, lacking, ", ");
	fprintf(stderr, ": what was recorded with that is left to others (%zu)\n", n);
	err = new_file_open(&f, path, 0600);
	if (err)
		return err;
	put_names(f.stream, lacking, ",");
	return new_file_commit(&f);
}
