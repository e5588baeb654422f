#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# The commands of paper 002: switch and suppress alter the run from here on, in all instances of a
# statement, the next, or one; what that makes of the sums is worked out here from the source.
# instance, checkpoint and rollback; breakpoints at library calls by what they do.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
at() {
	echo "decides.c:$(grep -n "/\* $1 \*/" "$SOURCE/tests/programs/decides.c" | cut -d: -f1)"
}
printf '0123456789the first line\n' >"$TMPDIR/input"
make_capture "$TMPDIR/c" "$BUILD/tests/programs/decides" "$TMPDIR/input"

# As it was: picked 0 + 3 + 9, noted 45, calls 10.
altered() { # MARK COMMAND...
	printf '# %s\n' "$1"
	shift
	printf 'seek start\ntbreak main\ncontinue\n'
	printf '%s\n' "$@"
	printf 'tbreak %s\ncontinue\nprintf "SUMS %%d %%d %%d\\n", picked, noted, calls\nwhen\n' "$(at LAST)"
}
{
	altered recorded
	altered switch-all "switch $(at PICK) all"
	altered switch-once "switch $(at PICK) once"
	altered switch-7 "switch $(at PICK) 7"
	altered switch-later "tbreak $(at CALL)" continue "switch $(at PICK) 7"
	altered suppress-all "suppress $(at ADD) all"
	altered suppress-next "suppress $(at ADD)"
	altered suppress-3 "suppress $(at ADD) 3"
	altered suppress-call "suppress $(at CALL) 2"
	altered suppress-function "suppress note 2"
	altered suppress-functions "suppress note all" "suppress $(at ADD) 1"
	altered suppress-step "tbreak $(at ADD)" continue "suppress $(at ADD)" next
	# A breakpoint where it goes on is a stop.
	altered suppress-stop "break $(at CALL)" "suppress $(at ADD) all" continue continue 'delete'
	printf '%s\n' "# wrong" "seek start" "tbreak $(at CALL)" continue
	for wrong in "switch $(at PICK) 1" "switch $(at NOTED)" "switch nowhere.c:1" "suppress" "suppress note 0" \
		"suppress no_such_function" "instance nowhere.c:1" "rollback 7" "rollback" "cdelete x" "breakpoint" \
		"breakpoint free if arg 0 == 1" "breakpoint free if x" "seek execution 0 1" "monitor alter 1 x"; do
		printf 'python\ntry:\n\tgdb.execute("%s")\nexcept gdb.error as e:\n\tprint(e)\nend\n' "$wrong"
	done
} | gdb_on "$TMPDIR/c" || fail "gdb: $(cat "$TMPDIR/gdb")"
says recorded '^SUMS 12 45 10' 'thread [0-9]+$'
says switch-all 'each instance of .*decides.c:[0-9]+ is switched' '^SUMS 33 45 10' 'in an altered run'
says switch-once '^SUMS 12 45 10' 'in an altered run' # of i = 0: nothing is added
says switch-7 '^SUMS 18 45 10'
says switch-later '^SUMS 18 45 10'
says suppress-all '^SUMS 0 45 10'
says suppress-next '^SUMS 12 45 10'
says suppress-3 '^SUMS 3 45 10'
says suppress-call '^SUMS 12 44 9'
says suppress-function 'the call of note is left out' '^SUMS 12 44 9'
says suppress-functions '^SUMS 12 0 0'
says suppress-step "^$(at CALL | cut -d: -f2)[[:space:]]" '^SUMS 12 45 10'
says suppress-stop 'Breakpoint' 'Breakpoint' '^SUMS 0 45 10'
says wrong 'instance 1 was before here: 1 have begun' 'has no conditional branch' 'No symbol table|No source file' \
	'takes a place' "'0': all, once" 'no_such_function' 'No symbol table|No source file' 'no checkpoint 7' \
	'which checkpoint' 'which checkpoint' 'takes a function' 'counted from 1' 'no such condition' 'seek execution takes' \
	'no detour'

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
tbreak main
continue
# none
instance $(at ADD)
# instance
instance $(at PICK) 7
p i
instance $(at PICK)
instance $(at ADD)
instance $(at ADD) 3
p i
instance $(at CALL)
# checkpoint
checkpoint
when
set var picked = 100
info checkpoints
tbreak $(at LAST)
continue
p picked
rollback 1
when
p picked
restart 1
delete checkpoint 1
info checkpoints
# library
tbreak $(at LAST)
continue
set var \$kept = kept
breakpoint free if arg 1 == kept
continue
backtrace 2
p \$rdi == \$kept
delete
breakpoint malloc if ret == \$kept
breakpoint memcpy if arg 3 == 12
reverse-continue
backtrace 2
reverse-continue
backtrace 2
delete
breakpoint memcpy if write \$kept 4
continue
backtrace 3
GDB
says none 'has not been executed yet'
says instance '= 6$' 'instance 7 of .* begins here' 'instance 2 of ' '= 9$' 'instance 9 of '
says checkpoint 'Checkpoint 1 at 0x[0-9a-f]+: main at ' '^position' 'belong to an altered run' '1  position [0-9]+, main' '= 109|= 12' '= 3$' 'No checkpoints'
says library 'Breakpoint .*free' '^#0 .*free' '^#1 .* main' '= 1$' '^#0 .*mem(cpy|move)' '^#1 .* main' \
	'^#0 .*malloc' '^#1 .* main' '[Ww]atchpoint' 'main'
exit 0
