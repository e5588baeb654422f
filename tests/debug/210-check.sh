#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# check in gdb: what is found, to stand just before it, and the statements by which its values came.
. tests/lib.sh
. tests/debug/lib.sh

need gdb gcc
cat >"$TMPDIR/p.c" <<'END'
#include <stdlib.h>
struct node { struct node *next; } *kept, *other;
static void copy(void) { other = kept; }	// copied
static void drop(struct node *p) { free(p); }	// freed
int main(void)
{
	kept = malloc(sizeof(*kept));		// made
	copy();
	drop(kept);
	drop(other);
	return 0;
}
END
gcc -g -O0 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
want_status=134 make_capture "$TMPDIR/c" "$TMPDIR/p"
line() { grep -n "// $1" "$TMPDIR/p.c" | cut -d: -f1; }

# A command that is refused ends a script, unless Python takes the error.
refused() { echo "python exec(\"try:\\n gdb.execute('$1')\\nexcept gdb.error as e:\\n print(e)\")"; }
gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# early
$(refused chain)
# list
check
# goto
check goto 1
up
print p == other
# chain
chain
# next
chain next
chain next
chain next
print kept
print other
chain next
# back
chain previous
chain previous
chain previous
chain previous
# behind
$(refused "check goto 9")
# clean
check OVERLAP
# none
$(refused "check goto 1")
GDB
says list "1\. \[DOUBLE-FREE\] freed again .* at .*p\.c:$(line freed) in drop "
says goto '\[DOUBLE-FREE\]' 'in drop \(p=' '= 1$'
says chain 'r came by' "p\.c:$(line copied) in copy = 0x" "p\.c:$(line made) in main = 0x" 'what the allocation returned'
says early 'stand before a finding first'
says next "r = 0x.* at .*p\.c:$(line copied) in copy" "copied" 'struct node \*\) 0x' 'struct node \*\) 0x0' \
	"r = 0x.* at .*p\.c:$(line made) in main" 'made'
says back "p\.c:$(line copied) in copy" 'at .*in main$' 'in drop \(p=' '^#0 '
says behind 'takes the number of a finding, 1 to 1'
says clean 'nothing is wrong by any rule'
says none 'nothing is wrong by any rule'
exit 0
