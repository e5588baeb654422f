// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/made.h"

#include <string.h>

#include "report/slice.h"

struct err *report_made_init(struct report_made *m, const struct fl_namer *namer)
{
	*m = (struct report_made){ .namer = namer };
	return namer ? report_finder_init(&m->finder, namer) : NULL;
}

void report_made_deinit(struct report_made *m)
{
	report_finder_deinit(&m->finder);
}

/* The field at @p addr, "n5.next". */
static void name_field(struct report_made *m, uint64_t addr, uint64_t time, char *buf,
		       size_t size)
{
	struct fl_target to = report_name_target(m->namer, &m->finder, addr, time);
	struct dec_field f;
	char name[100];

	if (to.kind != FL_TO_NODE)
		return;
	for (uint64_t i = 1;
	     report_name_field(m->namer, to.node, i, &f, name, sizeof(name)); i++)
		if (f.offset == to.offset) {
			snprintf(buf, size, "n%u.%s", to.node.v, name);
			return;
		}
}

void report_made_text(struct report_made *m, const struct fl_view_made *made,
		      uint64_t addr, uint64_t time, char *buf, size_t size)
{
	struct fl_view_made named = *made;
	struct fl_target to;
	size_t n;

	if (m->namer && addr && *named.name == '[')
		name_field(m, addr, time, named.name, sizeof(named.name));
	report_slice_value(&named, buf, size);
	if (!m->namer || !named.has_value || named.bytes != 8)
		return;
	to = report_name_target(m->namer, &m->finder, named.value, time);
	n = strlen(buf);
	if (to.kind == FL_TO_NODE && !to.offset)
		snprintf(buf, size, "%s = n%u", named.name, to.node.v);
	else if (to.kind == FL_TO_NODE)
		snprintf(buf, size, "%s = n%u+%lu", named.name, to.node.v, to.offset);
	else if (to.kind == FL_TO_FREED)
		snprintf(buf + n, size - n, " (in n%u, freed)", to.node.v);
}
