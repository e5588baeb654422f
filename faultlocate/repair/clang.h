// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What clang.c, front.c and front_value.c share while a C file is read. Private to this room.
 */
#ifndef FAULTLOCATE_REPAIR_CLANG_H
#define FAULTLOCATE_REPAIR_CLANG_H

#include "csource/csource.h"
#include "faultlocate/repair/program.h"

/** While a file is read. */
struct rp_front {
	const struct csrc_clang *c;
	struct rp_program *p;
	VEC(CXCursor) variables; ///< of p->variables; null cursors of hidden ones
	VEC(CXCursor) functions, records;
	int function;		    ///< that is read
	const char *refused;	    ///< why not, since its beginning
	struct rp_statement *where; ///< whose operations are made
	bool has_failed;	    ///< out of memory
};

typedef VEC(CXCursor) rp_cursors;
typedef VEC(int) rp_ints;

/** The children of @p c, at most 64. @return how many. */
unsigned fl_rp_children(struct rp_front *f, CXCursor c, CXCursor *ret);
enum { RP_CHILDREN = 64 };

struct rp_range fl_rp_extent(struct rp_front *f, CXCursor c);
int fl_rp_line(struct rp_front *f, CXCursor c);
const char *fl_rp_name(struct rp_front *f, CXCursor c);

/** The function is not looked into: @p what is at @p c. The first counts. */
void fl_rp_refuse(struct rp_front *f, CXCursor c, const char *what);

/** Type @p t as of program.h; RP_OPAQUE where there is none. */
int fl_rp_type(struct rp_front *f, CXType t);

int fl_rp_add_variable(struct rp_front *f, CXCursor c, struct rp_variable v);

/** Read an expression for its value; what must happen before goes to @p ops. @p type: its type. */
struct rp_ref fl_rp_read_value(struct rp_front *f, CXCursor c, rp_ints *ops, int *type);
/** Read an expression for its effect. */
void fl_rp_read_effect(struct rp_front *f, CXCursor c, rp_ints *ops);
/** Read @p c, and assign it to @p dst of type @p type. */
void fl_rp_read_into(struct rp_front *f, CXCursor c, struct rp_ref dst, int type,
		     bool is_kept, rp_ints *ops);
struct rp_condition *fl_rp_read_condition(struct rp_front *f, CXCursor c);

#endif
