// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/results.h"

#include "base/file.h"

#define RESULT_BYTES (UINT64_C(64) << 20) // at most

static bool is_list(const cJSON *o, const char *name)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, name), *item;

	if (!cJSON_IsArray(list))
		return false;
	cJSON_ArrayForEach(item, list) if (!cJSON_IsObject(item)) return false;
	return true;
}

/* By what each of them has. */
static const char *kind_of(const cJSON *o)
{
	if (cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(o, "crashed")) &&
	    is_list(o, "steps"))
		return "suppress";
	if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(o, "method")) &&
	    is_list(o, "statements") && is_list(o, "ivmps"))
		return "rank";
	return NULL;
}

struct err *report_result_read(const char *path, struct report_result *ret)
{
	_cleanup_free_ char *text = NULL;
	struct report_result r = {};
	size_t bytes = 0;
	struct err *err = file_read_input(path, RESULT_BYTES, &text, &bytes);

	if (err)
		return err;
	r.json = cJSON_ParseWithLength(text, bytes);
	r.kind = kind_of(r.json);
	if (r.kind) {
		*ret = r;
		return NULL;
	}
	report_result_deinit(&r);
	return err_new(ERR_FORMAT,
		       "cannot show '%s': it is not what suppress --json or rank --json "
		       "printed",
		       path);
}

uint64_t report_result_last(const struct report_result *r)
{
	const cJSON *step;
	double last = 0;

	// Of a suite's ranking the positions are those of many runs.
	cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(r->json, "steps"))
	{
		const cJSON *at = cJSON_GetObjectItemCaseSensitive(step, "begin");

		if (cJSON_IsNumber(at) && at->valuedouble > last)
			last = at->valuedouble;
	}
	return last < 0x1p63 ? last : UINT64_MAX;
}

void report_result_deinit(struct report_result *r)
{
	cJSON_Delete(r->json);
	*r = (struct report_result){};
}
