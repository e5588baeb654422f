#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program's debug information names any file as its source: shown are those that belong to a
# program that lies here, as far as its owner may read them; and what the user points to.
. tests/lib.sh

need cc objcopy
need_bpf
cat >"$TMPDIR/spec" <<'END'
item FIELD 2 EDGE 1;
item X; X.next != NULL => (X.next).key == 0;
END

# program DIR FILE [CCFLAGS...] - DIR/prog says that its faulty statement is in line 1 of FILE.
program() {
	local dir=$1 file=$2
	shift 2
	mkdir -p "$dir"
	cat >"$dir/prog.c" <<-END
	#include <stdlib.h>
	struct item { int key; struct item *next; };
	int main(void)
	{
		struct item *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
		a->next = b;
	#line 1 "$file"
		free(b); /* THE FAULT */
		return a->next == NULL;
	}
	END
	(cd "$dir" && cc -g -w "$@" -o prog prog.c) || fail "cannot compile"
}

# captured DIR - its program, in DIR.flt.
captured() {
	rm -rf "$1.flt"
	make_capture "$1.flt" "$1/prog"
}

# shows CAPTURE TEXT [OPTION...] - the report has it; shows_not - and has not.
analyzed() {
	local capture=$1
	shift 2
	expect_status 1 timeout 60 "$FAULTLINE" analyze --spec "$TMPDIR/spec" "$@" "$capture"
	grep -q "^faulty statements" "$TMPDIR/out" || fail "no statement: $(cat "$TMPDIR/out")"
}
shows() {
	analyzed "$@"
	grep -q "$2" "$TMPDIR/out" || fail "no '$2' in: $(cat "$TMPDIR/out")"
}
shows_not() {
	analyzed "$@"
	! grep -q "$2" "$TMPDIR/out" || fail "'$2' is shown: $(cat "$TMPDIR/out")"
}

# ---- the ordinary case: compiled, recorded, analyzed here; and then elsewhere

work=$TMPDIR/work
program "$work/build" "../src/x.c"
mkdir "$work/src"
echo "free(b); /* the ordinary one */" >"$work/src/x.c"
chmod 600 "$work/src/x.c"
captured "$work/build"
shows "$work/build.flt" "the ordinary one"
program "$work/build" "$work/src/x.c"
captured "$work/build"
shows "$work/build.flt" "the ordinary one"
mkdir "$work/away"
mv "$work/build/prog" "$work/away/prog"
shows_not "$work/build.flt" "the ordinary one"
shows "$work/build.flt" "the ordinary one" --sources "$work"
shows_not "$work/build.flt" "the ordinary one" --sources "$work/away"
mkdir "$work/away/src"
ln -s "$work/src/x.c" "$work/away/src/x.c"
shows_not "$work/build.flt" "the ordinary one" --sources "$work/away" # it leads out

# A program that only says to be that one: its build-id is the same.
cp "$work/away/prog" "$work/build/prog"
shows "$work/build.flt" "the ordinary one"
printf x >>"$work/build/prog"
shows_not "$work/build.flt" "the ordinary one"

# ---- what is no source

mkfifo "$TMPDIR/pipe"
for file in /dev/zero "$TMPDIR/pipe" "$TMPDIR" /proc/self/environ; do
	program "$TMPDIR/odd" "$file"
	captured "$TMPDIR/odd"
	analyzed "$TMPDIR/odd.flt" .
done
grep -q PATH= "$TMPDIR/out" && fail "the environment is shown"
mkdir "$TMPDIR/.keys"
echo "a key" >"$TMPDIR/.keys/id"
program "$TMPDIR/odd" "$TMPDIR/.keys/id"
captured "$TMPDIR/odd"
shows_not "$TMPDIR/odd.flt" "a key"
mkdir "$TMPDIR/.keys/build"
program "$TMPDIR/.keys/build" "$TMPDIR/.keys/id"
captured "$TMPDIR/.keys/build"
shows "$TMPDIR/.keys/build.flt" "a key"

# A capture that holds the program where it was recorded.
echo "a secret" >"$TMPDIR/secret"
mkdir -p "$TMPDIR/lure/sub"
touch "$TMPDIR/lure/events.flt"
program "$TMPDIR/lure/sub" "$TMPDIR/secret"
captured "$TMPDIR/lure/sub"
shows_not "$TMPDIR/lure/sub.flt" "a secret"

# ---- files with debug information that the program names

# hangs_not CCFLAGS - what it says to be its debug information is a pipe.
hangs_not() {
	captured "$TMPDIR/apart"
	mv "$TMPDIR/apart/prog" "$TMPDIR/apart/prog.elsewhere"
	timeout 60 "$FAULTLINE" analyze --accesses "$TMPDIR/apart.flt" >"$TMPDIR/out" 2>&1
	[ $? != 124 ] || fail "waited for a pipe: $1"
}
program "$TMPDIR/apart" prog.c
objcopy --only-keep-debug "$TMPDIR/apart/prog" "$TMPDIR/debug"
objcopy --strip-debug --remove-section .note.gnu.build-id \
	--add-gnu-debuglink="$TMPDIR/debug" "$TMPDIR/apart/prog"
mkfifo "$TMPDIR/apart/debug"
hangs_not "a debug link"
rm "$TMPDIR/apart/debug"

program "$TMPDIR/apart" prog.c -gsplit-dwarf
find "$TMPDIR/apart" -name '*.dwo' | grep -q . || fail "no split debug information"
find "$TMPDIR/apart" -name '*.dwo' -exec rm {} \; -exec mkfifo {} \;
hangs_not "split debug information"

# A function whose name is in the file that several share.
cat >"$TMPDIR/apart/prog.c" <<'END'
int main(void)
{
	return 0;
}
__asm__(".section .debug_abbrev, \"\", @progbits\n"
	".uleb128 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n" // compile unit: from, bytes
	".uleb128 2, 0x2e, 0, 0x3, 0x1f21, 0x11, 1, 0x12, 7, 0, 0, 0\n" // function: and name
	".section .debug_info, \"\", @progbits\n"
	".long 2f - 1f\n1: .value 4\n.long 0\n.byte 8\n"
	".uleb128 1\n.quad main, 6\n.uleb128 2\n.long 0\n.quad main, 6\n.byte 0\n2:\n"
	".text\n");
END
cc -o "$TMPDIR/apart/prog" "$TMPDIR/apart/prog.c" || fail "cannot compile"
printf '%s\0%020d' "$TMPDIR/pipe" 1 >"$TMPDIR/link"
objcopy --add-section ".gnu_debugaltlink=$TMPDIR/link" "$TMPDIR/apart/prog"
hangs_not "an alternate file"

# ---- other users

[ "$(id -u)" = 0 ] || exit 0
stranger=12345
chmod 711 "$TMPDIR" "$TMPDIR/.." # he may come this far
chmod 600 "$TMPDIR/secret"
program "$TMPDIR/his" "$TMPDIR/secret"
chown -R $stranger "$TMPDIR/his"
captured "$TMPDIR/his"
shows_not "$TMPDIR/his.flt" "a secret"
chmod 644 "$TMPDIR/secret"
shows "$TMPDIR/his.flt" "a secret"
mkdir -m 700 "$TMPDIR/closed"
cp "$TMPDIR/secret" "$TMPDIR/closed/secret"
program "$TMPDIR/his" "$TMPDIR/closed/secret"
chown -R $stranger "$TMPDIR/his"
captured "$TMPDIR/his"
shows_not "$TMPDIR/his.flt" "a secret"
chown $stranger "$TMPDIR/closed"
shows "$TMPDIR/his.flt" "a secret"
rm "$TMPDIR/closed/secret"
ln -s ../secret "$TMPDIR/closed/secret"
chmod 600 "$TMPDIR/secret"
shows_not "$TMPDIR/his.flt" "a secret"
exit 0
