// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline sites: which stores of a program need a probe, and what that costs.
 */
// COMMAND record/sites: show which stores of a program need a probe
#include <argp.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "storeplan/storeplan.h"

int cmd_sites(int argc, char **argv);

enum { EXIT_COULD_NOT = 2, KEY_JSON = 256, KEY_FRAME };

static const struct argp_option options[] = {
	{ "function", 'F', "GLOB", 0, "Only functions whose names match", 0 },
	{ "frame", KEY_FRAME, NULL, 0,
	  "Stores into the function's own stack frame count, too (their addresses are always "
	  "known)",
	  0 },
	{ "list", 'l', NULL, 0, "List every store and every probe", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print one JSON object", 0 },
	{}
};

static const char doc[] =
	"Analyze the code of PROGRAM (or of a library): the addresses and values of which "
	"stores follow from the path alone, where `faultline record -e stores' places probes "
	"for the others, and what a probe at each store would cost instead. The times are "
	"estimates for one call of each function, from the costs of a probe that the kernel "
	"emulates (0.55 us) and of one that it single-steps (19 us). Nothing is run."
	"\v"
	"Examples:\n"
	"  faultline sites ./prog\n"
	"  faultline sites --function 'tree_*' --list ./prog\n"
	"  faultline sites --json /usr/bin/gzip\n";

struct sites_options {
	struct sp_options plan;
	const char *path;
	bool wants_list, wants_json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sites_options *o = state->input;

	switch (key) {
	case 'F':
		o->plan.function = arg;
		return 0;
	case KEY_FRAME:
		o->plan.wants_frame = true;
		return 0;
	case 'l':
		o->wants_list = true;
		return 0;
	case KEY_JSON:
		o->wants_json = true;
		text_guard_json();
		return 0;
	}
	return option_only(state, key, arg, "program", &o->path);
}

static const char *const states[SP_STORE_STATES] = { "free", "served", "copy", "lost" };

static const char *name_of(const struct sp_function_plan *f, char buf[32])
{
	if (f->name)
		return f->name;
	snprintf(buf, 32, "0x%llx", (unsigned long long)f->start);
	return buf;
}

/* ---- text ------------------------------------------------------------------------- */

static void print_list(const struct sp_plan *p, uint32_t f)
{
	const struct sp_function_plan *fp = &p->functions[f];

	for (uint32_t i = 0; i < fp->n_stores; i++) {
		const struct sp_store *s = &p->stores[fp->first_store + i];

		printf("    store 0x%llx %s", (unsigned long long)s->addr,
		       states[s->state]);
		if (s->read_at)
			printf(", read back at 0x%llx", (unsigned long long)s->read_at);
		puts("");
	}
	for (uint32_t i = 0; i < fp->n_sites; i++) {
		const struct sp_site *s = &p->sites[fp->first_site + i];

		printf("    probe 0x%llx %s, %s, %u reads, %.3g times a call\n",
		       (unsigned long long)s->addr, s->mnemonic,
		       s->is_emulated ? "emulated" : "stepped", s->n_reads, s->often);
	}
}

static void print_row(const struct sp_plan *p, uint32_t f)
{
	const struct sp_function_plan *fp = &p->functions[f];
	struct sp_cost plan = sp_plan_cost(p, f), naive = sp_plan_naive(p, f);
	char buf[32];

	printf("%-28.28s %6u %5zu %6zu %5zu %5zu %4zu+%-3zu %5zu+%-4zu %9.2f %10.2f\n",
	       name_of(fp, buf), fp->n_stores, sp_plan_count(p, f, SP_STORE_FREE),
	       sp_plan_count(p, f, SP_STORE_SERVED), sp_plan_count(p, f, SP_STORE_COPY),
	       sp_plan_count(p, f, SP_STORE_LOST), plan.n_emulated, plan.n_stepped,
	       naive.n_emulated, naive.n_stepped, plan.us, naive.us);
}

static void print_sum(const struct sp_plan *p)
{
	struct sp_cost plan = sp_plan_cost(p, UINT32_MAX);
	struct sp_cost naive = sp_plan_naive(p, UINT32_MAX);
	size_t n_unsound = 0, n_frame = 0, n_known = 0;

	for (size_t f = 0; f < p->n_functions; f++) {
		n_unsound += p->functions[f].unsound != NULL;
		n_frame += p->functions[f].n_frame;
		n_known += p->functions[f].n_frame_known;
	}
	printf("\n%zu functions (%zu left alone), %zu stores: %zu follow without a probe, "
	       "%zu with the plan's, %zu copies, %zu lost\n",
	       p->n_functions, n_unsound, p->n_stores,
	       sp_plan_count(p, UINT32_MAX, SP_STORE_FREE),
	       sp_plan_count(p, UINT32_MAX, SP_STORE_SERVED),
	       sp_plan_count(p, UINT32_MAX, SP_STORE_COPY),
	       sp_plan_count(p, UINT32_MAX, SP_STORE_LOST));
	if (n_frame)
		printf("%zu more stores are into the functions' own frames (addresses all "
		       "known, values of %zu)\n",
		       n_frame, n_known);
	printf("plan:  %zu probes, %zu emulated and %zu stepped; %.1f us for one call of "
	       "each function\n",
	       plan.n_emulated + plan.n_stepped, plan.n_emulated, plan.n_stepped,
	       plan.us);
	printf("naive: %zu probes, %zu emulated, %zu stepped, %zu refused by the kernel; "
	       "%.1f us",
	       naive.n_emulated + naive.n_stepped + naive.n_refused, naive.n_emulated,
	       naive.n_stepped, naive.n_refused, naive.us);
	if (plan.us > 0)
		printf(", %.1f times the plan's", naive.us / plan.us);
	puts("");
}

static void print_text(const struct sp_plan *p, bool wants_list)
{
	printf("%-28s %6s %5s %6s %5s %5s %8s %10s %9s %10s\n", "function", "stores",
	       "free", "served", "copy", "lost", "probes", "naive", "plan us",
	       "naive us");
	for (uint32_t f = 0; f < p->n_functions; f++) {
		char buf[32];

		if (p->functions[f].unsound) {
			printf("%-28.28s left alone: %s\n",
			       name_of(&p->functions[f], buf), p->functions[f].unsound);
			continue;
		}
		if (!p->functions[f].n_stores)
			continue;
		print_row(p, f);
		if (wants_list)
			print_list(p, f);
	}
	print_sum(p);
}

/* ---- JSON ------------------------------------------------------------------------- */

static void add_hex(cJSON *o, const char *name, uint64_t v)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "0x%llx", (unsigned long long)v);
	cJSON_AddStringToObject(o, name, buf);
}

static void add_cost(cJSON *o, const char *name, struct sp_cost c)
{
	cJSON *j = cJSON_AddObjectToObject(o, name);

	cJSON_AddNumberToObject(j, "emulated", c.n_emulated);
	cJSON_AddNumberToObject(j, "stepped", c.n_stepped);
	cJSON_AddNumberToObject(j, "refused", c.n_refused);
	cJSON_AddNumberToObject(j, "estimate_us", c.us);
}

static void add_counts(cJSON *o, const struct sp_plan *p, uint32_t f)
{
	for (int s = 0; s < SP_STORE_STATES; s++)
		cJSON_AddNumberToObject(o, states[s], sp_plan_count(p, f, s));
	add_cost(o, "plan", sp_plan_cost(p, f));
	add_cost(o, "naive", sp_plan_naive(p, f));
}

static void add_lists(cJSON *o, const struct sp_plan *p,
		      const struct sp_function_plan *fp)
{
	cJSON *stores = cJSON_AddArrayToObject(o, "store_list");
	cJSON *sites = cJSON_AddArrayToObject(o, "probe_list");

	for (uint32_t i = 0; i < fp->n_stores; i++) {
		const struct sp_store *s = &p->stores[fp->first_store + i];
		cJSON *j = cJSON_CreateObject();

		add_hex(j, "address", s->addr);
		cJSON_AddStringToObject(j, "state", states[s->state]);
		if (s->read_at)
			add_hex(j, "read_at", s->read_at);
		cJSON_AddItemToArray(stores, j);
	}
	for (uint32_t i = 0; i < fp->n_sites; i++) {
		const struct sp_site *s = &p->sites[fp->first_site + i];
		cJSON *j = cJSON_CreateObject();

		add_hex(j, "address", s->addr);
		cJSON_AddStringToObject(j, "mnemonic", s->mnemonic);
		cJSON_AddBoolToObject(j, "is_emulated", s->is_emulated);
		cJSON_AddNumberToObject(j, "reads", s->n_reads);
		cJSON_AddNumberToObject(j, "often", s->often);
		cJSON_AddItemToArray(sites, j);
	}
}

static void print_json(const struct sp_plan *p, bool wants_list)
{
	cJSON *j = cJSON_CreateObject(), *functions;
	char *text;

	cJSON_AddNumberToObject(j, "stores", p->n_stores);
	add_counts(j, p, UINT32_MAX);
	functions = cJSON_AddArrayToObject(j, "functions");
	for (uint32_t f = 0; f < p->n_functions; f++) {
		const struct sp_function_plan *fp = &p->functions[f];
		cJSON *o = cJSON_CreateObject();
		char buf[32];

		cJSON_AddStringToObject(o, "name", name_of(fp, buf));
		add_hex(o, "address", fp->start);
		if (fp->unsound)
			cJSON_AddStringToObject(o, "left_alone", fp->unsound);
		cJSON_AddNumberToObject(o, "stores", fp->n_stores);
		cJSON_AddNumberToObject(o, "frame_stores", fp->n_frame);
		cJSON_AddNumberToObject(o, "frame_values_known", fp->n_frame_known);
		add_counts(o, p, f);
		if (wants_list)
			add_lists(o, p, fp);
		cJSON_AddItemToArray(functions, o);
	}
	text = cJSON_Print(j);
	puts(text ?: "");
	free(text);
	cJSON_Delete(j);
}

int cmd_sites(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "PROGRAM", doc,
					  NULL,	   NULL,	 NULL };
	_cleanup_(sp_plan_destroyp) struct sp_plan *p = NULL;
	struct sites_options o = {};
	_cleanup_err_ struct err *err = NULL;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = sp_plan_make(o.path, &o.plan, &p);
	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
		return EXIT_COULD_NOT;
	}
	if (o.wants_json)
		print_json(p, o.wants_list);
	else
		print_text(p, o.wants_list);
	return 0;
}
