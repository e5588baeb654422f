// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the commands of this room share.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <argp.h>
#include <cjson/cJSON.h>

#include "faultlocate/fl_analysis.h"
#include "faultlocate/slice/slice.h"

typedef VEC(const char *) fl_texts;

/** Add option argument @p text, which is borrowed; ends the program without memory. */
void cmd_command_push(struct argp_state *state, fl_texts *v, const char *text);

/** Which bundle of @p capture is meant by @p process (NULL: that which fl_process_choose()
 * says; then tells on stderr that there are others). @p ret: free(). */
struct err *cmd_command_process(const char *capture, const char *process,
				const fl_texts *specs, char **ret);

/** Where a run mapped its modules. */
typedef VEC(struct dec_where) cmd_maps;

/** Notes one; `mapped` of machines and traces, whose ctx is a cmd_maps then. */
struct err *cmd_command_note_map(void *maps, const struct dec_where *w);

/** Make the symbols of @p c's run, with the modules that it mapped on its way (NULL: none yet). @p sources: the directory
 * with the program's sources, borrowed; or NULL. @return as dec_symbols_create(), dec_symbols_add();
 * @p ret for dec_symbols_destroy() whatever comes of it. */
struct err *cmd_command_symbols(const struct capture *c, const cmd_maps *maps,
				const char *sources, struct dec_symbols **ret);

/** Show somebody who watches stderr how far a run has been read, or that a walk is back at @p position:
 * progress of fl_trace_options, and of the options of what goes back. */
void cmd_command_show_reading(void *ctx, uint64_t position);
void cmd_command_show_way_back(void *ctx, uint64_t position);

/** Take what they showed away. */
void cmd_command_show_end(void);

/** Say what @p c lacks, and what the replay that made @p trace of it could not do. @p lost: what that means
 * behind the end, "the slice knows nothing". */
void cmd_command_tell_trace(const struct capture *c, struct fl_trace *trace,
			    const char *lost);

/** Add @p notes to @p o. */
void cmd_command_add_notes(cJSON *o, const line_list *notes);

/** Put a blank and @p text into @p out, as one word for a shell. Errors are @p out's. */
void cmd_command_put_quoted(FILE *out, const char *text);

/** At a confined command's end: what was printed, and is lost, is told. @return @p status, or 2. */
int cmd_command_flush(int status);

/** Print @p o in a line, and free it. */
void cmd_command_print_json(cJSON *o);

#endif
