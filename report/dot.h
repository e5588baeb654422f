// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pictures of heap structures, in the manner of paper 001, Figure 3.1: nodes as boxes with
 * their fields, edges labelled `(time):line`, the previous target of a faulty pointer
 * dashed. A cluster's members hang on it, joined by their merge edges (Figure 3.3). Text for Graphviz, and its `dot` program to draw it.
 */
#ifndef REPORT_DOT_H
#define REPORT_DOT_H

#include "report/names.h"
#include "heapgraph/hg_record.h"

/** What to draw. All borrowed. */
struct fl_picture {
	const struct fl_namer *namer;
	const struct hg_view *view; ///< at the time to draw
	const char *title;	    ///< may be NULL
	/** What is wrong; drawn in red and, when there are too many nodes, the centre. */
	const struct spec_violation *violations;
	size_t n_violations;
	const fl_faults *faults;       ///< their changes are drawn; may be NULL
	const hg_internals *internals; ///< of the allocator's view; else NULL
	size_t max_nodes;	       ///< 0: FL_PICTURE_NODES
	mode_t mode;		       ///< of its file, capture_mode()
};

#define FL_PICTURE_NODES 60

/** Write the picture as DOT text. @return ERR_NOMEM, ERR_OS. */
struct err *report_dot_write(const struct fl_picture *p, FILE *out);

/** Write @p what as DOT text. @return ERR_NOMEM, ERR_OS. */
typedef struct err *report_dot_write_fn(const void *what, FILE *out);

/** Draw what @p write writes with `dot -Tsvg` into the file @p path, as below. @p mode: of the file. */
struct err *report_dot_draw_text(report_dot_write_fn *write, const void *what,
				 const char *path, mode_t mode);

/** Draw it with `dot -Tsvg` into the file @p path, which is only replaced by a whole
 * picture. @return ERR_NOT_FOUND when there is no dot program, ERR_OS, ERR_NOMEM. */
struct err *report_dot_draw_svg(const struct fl_picture *p, const char *path);

#endif
