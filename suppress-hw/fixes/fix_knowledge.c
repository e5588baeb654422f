// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is known of earlier fixes, as a file (doc/fixes.md), and that which faultline brings along. A
 * file may be a stranger's: what is not as it must be is refused, with its place.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/file.h"
#include "suppress-hw/fixes/fixes.h"

#define FORMAT "faultline-fixes"
#define VERSION 1
#define BYTES_MAX (16u << 20)
#define SCENARIOS_MAX 100000
#define WORDS_MAX 1024
#define WORD_MAX 64

extern const char fix_shipped[], fix_shipped_end[];

static bool is_word(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return n && n <= WORD_MAX;
}

static struct err *read_words(const cJSON *list, size_t number, const char *what,
			      fix_words *ret)
{
	const cJSON *at;
	struct err *err = NULL;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > WORDS_MAX ||
	    !cJSON_GetArraySize(list))
		return err_new(ERR_FORMAT, "scenario %zu has no list '%s'", number, what);
	cJSON_ArrayForEach(at, list)
	{
		if (!err && !is_word(cJSON_GetStringValue(at)))
			err = err_new(
				ERR_FORMAT,
				"scenario %zu: in '%s' is something that is no word",
				number, what);
		if (!err)
			err = fix_words_add(ret, cJSON_GetStringValue(at));
	}
	return err;
}

static struct err *read_scenario(const cJSON *o, size_t number, struct fix_knowledge *k)
{
	struct fix_scenario *s = vec_push(&k->scenarios);
	const char *where = cJSON_GetStringValue(cJSON_GetObjectItem(o, "where"));
	struct err *err;

	if (!s)
		return &err_nomem;
	s->where = strdup(where && strlen(where) < 4096 ? where : "");
	if (!s->where)
		return &err_nomem;
	err = read_words(cJSON_GetObjectItem(o, "situation"), number, "situation",
			 &s->situation);
	return err   ?:
		       read_words(cJSON_GetObjectItem(o, "fixes"), number, "fixes",
				  &s->fixes);
}

static struct err *read_all(const char *text, size_t bytes, struct fix_knowledge *k)
{
	cJSON *j = cJSON_ParseWithLength(text, bytes);
	const cJSON *list = cJSON_GetObjectItem(j, "scenarios"), *o;
	const char *format = cJSON_GetStringValue(cJSON_GetObjectItem(j, "format"));
	struct err *err = NULL;
	size_t number = 0;

	if (!format || strcmp(format, FORMAT) || !cJSON_IsArray(list) ||
	    cJSON_GetArraySize(list) > SCENARIOS_MAX)
		err = err_new(ERR_FORMAT, "it is no knowledge of fixes (doc/fixes.md)");
	else if (cJSON_GetNumberValue(cJSON_GetObjectItem(j, "version")) != VERSION)
		err = err_new(ERR_VERSION, "it was written by a newer faultline");
	else
		cJSON_ArrayForEach(o, list) if (!err) err = read_scenario(o, ++number, k);
	cJSON_Delete(j);
	return err;
}

struct err *fix_knowledge_read(const char *path, struct fix_knowledge *k)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	struct err *err;

	if (!path)
		return read_all(fix_shipped, fix_shipped_end - fix_shipped, k);
	err = file_read_input(path, BYTES_MAX, &text, &bytes);
	if (err)
		return err;
	err = read_all(text, bytes, k);
	return err ? err_prefix(err, "'%s'", path) : NULL;
}

static void write_words(FILE *out, const char *name, const fix_words *w)
{
	fprintf(out, " \"%s\": [", name);
	for (size_t i = 0; i < w->size; i++) {
		cJSON *word = cJSON_CreateStringReference(w->data[i]);
		char *text = cJSON_PrintUnformatted(word);

		fprintf(out, "%s%s", i ? ", " : "", text ? text : "\"\"");
		free(text);
		cJSON_Delete(word);
	}
	fputc(']', out);
}

/* A scenario a line, for who compares two of them. */
struct err *fix_knowledge_write(const char *path, const struct fix_knowledge *k)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, 0666);

	if (err)
		return err;
	fprintf(f.stream, "{\"format\": \"%s\", \"version\": %d, \"scenarios\": [",
		FORMAT, VERSION);
	for (size_t i = 0; i < k->scenarios.size; i++) {
		const struct fix_scenario *s = &k->scenarios.data[i];
		cJSON *where = cJSON_CreateStringReference(s->where);
		char *text = cJSON_PrintUnformatted(where);

		fprintf(f.stream, "%s\n{\"where\": %s,", i ? "," : "",
			text ? text : "\"\"");
		free(text);
		cJSON_Delete(where);
		write_words(f.stream, "fixes", &s->fixes);
		fputc(',', f.stream);
		write_words(f.stream, "situation", &s->situation);
		fputc('}', f.stream);
	}
	fputs("\n]}\n", f.stream);
	return new_file_commit(&f);
}

void fix_knowledge_deinit(struct fix_knowledge *k)
{
	for (size_t i = 0; i < k->scenarios.size; i++) {
		free(k->scenarios.data[i].where);
		fix_words_deinit(&k->scenarios.data[i].situation);
		fix_words_deinit(&k->scenarios.data[i].fixes);
	}
	vec_deinit(&k->scenarios);
}
