// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/sarif.h"

#include "base/base.h"

// GitHub shows it beside each result: what to do with one.
#define HELP                                                                            \
	"The related locations and the code flow are of the recorded run: they lead "   \
	"from where a value was made to where it was used. To walk there in gdb, both " \
	"ways: faultline debug CAPTURE. All of it on a page: faultline report CAPTURE."

bool report_sarif_text(cJSON *o, const char *key, const char *text)
{
	cJSON *m = cJSON_AddObjectToObject(o, key);

	return m && cJSON_AddStringToObject(m, "text", text ?: "");
}

bool report_sarif_rule(cJSON *rules, const char *id, const char *brief, const char *full)
{
	cJSON *rule = cJSON_CreateObject();

	return cJSON_AddItemToArray(rules, rule) &&
	       cJSON_AddStringToObject(rule, "id", id) &&
	       report_sarif_text(rule, "shortDescription", brief) &&
	       report_sarif_text(rule, "fullDescription", full) &&
	       report_sarif_text(rule, "help", HELP);
}

cJSON *report_sarif_log(cJSON **rules, cJSON **results)
{
	cJSON *o = cJSON_CreateObject(), *run = cJSON_CreateObject(), *runs, *tool,
	      *driver;

	if (o && run &&
	    cJSON_AddStringToObject(o, "$schema",
				    "https://json.schemastore.org/sarif-2.1.0.json") &&
	    cJSON_AddStringToObject(o, "version", "2.1.0") &&
	    (runs = cJSON_AddArrayToObject(o, "runs")) &&
	    (tool = cJSON_AddObjectToObject(run, "tool")) &&
	    (driver = cJSON_AddObjectToObject(tool, "driver")) &&
	    cJSON_AddStringToObject(driver, "name", "faultline") &&
	    cJSON_AddStringToObject(driver, "version", FAULTLINE_VERSION) &&
	    (*rules = cJSON_AddArrayToObject(driver, "rules")) &&
	    (*results = cJSON_AddArrayToObject(run, "results")) &&
	    cJSON_AddItemToArray(runs, run))
		return o;
	cJSON_Delete(run);
	cJSON_Delete(o);
	return NULL;
}
