// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a thread's own variables are: the dynamic linker keeps, for each thread, a table of the
 * modules' blocks (Drepper, "ELF Handling For Thread-Local Storage", 3.3 and 3.4.2), and the C
 * library tells debuggers where in its struct link_map a module's number is.
 */
#include <string.h>

#include "debug/stub.h"

static const char module_number[] = "_thread_db_link_map_l_tls_modid";
static const char allocator[] = "malloc"; // whose memory outlives a call (altered.c)

static void ask(struct dbg_stub *st, const char *symbol)
{
	dbg_print(&st->reply, "qSymbol:");
	dbg_put_hex(&st->reply, symbol, strlen(symbol));
}

/* gdb offers to look symbols up (":"), or tells one: its value, if there is any, and its name. */
void dbg_storage_symbol(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint32_t field[3]; // bits, how many, offset in bytes
	char name[64] = "";
	uint64_t value;
	bool is_there;

	if (dbg_left(c) == 1) {
		ask(st, module_number);
		return;
	}
	is_there = dbg_take_hex(c, &value);
	dbg_take(c, ":");
	dbg_take_bytes(c, (uint8_t *)name, sizeof(name) - 1);
	if (!strcmp(name, allocator)) {
		st->session.malloc_at = is_there ? value : 0;
		dbg_stub_ok(st);
		return;
	}
	if (is_there &&
	    dbg_session_read(&st->session, value, field, sizeof(field)) == sizeof(field))
		st->module_number_at = field[2];
	ask(st, allocator);
}

/* The number of the module whose struct link_map is at @p module; 0: that is the program, linked with
 * its libraries. */
static struct err *find_number(struct dbg_stub *st, uint64_t module, uint64_t *ret)
{
	*ret = 1;
	if (!module)
		return NULL;
	if (!st->module_number_at)
		return err_new(ERR_UNSUPPORTED, "the C library does not say where its "
						"threads' variables are");
	if (dbg_session_read(&st->session, module + st->module_number_at, ret, 8) < 8)
		return err_new(ERR_RANGE, "there is no such module");
	return NULL;
}

/* qGetTLSAddr:THREAD,OFFSET,MODULE. */
void dbg_storage_address(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct dbg_session *s = &st->session;
	uint64_t offset, module, table, number, block;
	struct dec_thread t;
	struct err *err;
	uint32_t pid, tid;

	if (!dbg_stub_take_thread(c, &pid, &tid) || !dbg_take(c, ",") ||
	    !dbg_take_hex(c, &offset) || !dbg_take(c, ",") || !dbg_take_hex(c, &module)) {
		dbg_print(&st->reply, "E01");
		return;
	}
	err = dbg_session_thread(s, tid, &t);
	if (!err)
		err = find_number(st, module, &number);
	if (!err && (dbg_session_read(s, t.regs.fs_base + 8, &table, 8) < 8 ||
		     dbg_session_read(s, table + 16 * number, &block, 8) < 8 ||
		     block == UINT64_MAX))
		err = err_new(ERR_RANGE, "the thread has no such variables yet");
	if (err)
		dbg_stub_fail(st, err);
	else
		dbg_print(&st->reply, "%lx", block + offset);
}
