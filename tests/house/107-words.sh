#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# One word for one thing: what the table in doc/GLOSSARY.md bans is in no text of the sources, and
# not in what commands print. What they tell on stderr begins with their name, and is told once.
. tests/lib.sh

need perl gojq make

# texts FILE... - their string literals, pieces joined, a line each: FILE:LINE: TEXT.
texts() {
	perl -0777 -ne '
		s{/\*.*?\*/}{ $& =~ s/[^\n]//gr }gse;
		s{^(\s*)//.*$}{$1}gm;
		while (/("(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*)/g) {
			my ($text, $at) = ($1, $-[0]);
			my $line = 1 + (substr($_, 0, $at) =~ tr/\n//);
			$text =~ s/"\s*(?:PRI(\w)\w*\s*)?"/$1 || ""/ge;
			print "$ARGV:$line: ", substr($text, 1, -1), "\n" if $text =~ / /;
		}' "$@"
}
rooms=$(make -s rooms) || fail "make rooms"
files=(faultline.c)
for room in $rooms; do
	files+=("$room"/*.c)
done
texts "${files[@]}" 2>/dev/null >"$TMPDIR/texts"
[ "$(wc -l <"$TMPDIR/texts")" -ge 1500 ] || fail "few texts found: $(wc -l <"$TMPDIR/texts")"

sed -n '/^## One word/,$s/^| [^|].* | \(`.*`\) |$/\1/p' doc/GLOSSARY.md |
	grep -o '`[^`]*`' | tr -d '`' >"$TMPDIR/banned"
[ "$(wc -l <"$TMPDIR/banned")" -ge 12 ] || fail "no table in doc/GLOSSARY.md"

# has_banned FILE - are there banned words in it?
has_banned() {
	local pattern
	while read -r pattern; do
		if grep -Pn -- "(?<![A-Za-z_])(?:$pattern)(?![A-Za-z_])" "$1"; then
			echo "banned by doc/GLOSSARY.md: $pattern"
			return 0
		fi
	done <"$TMPDIR/banned"
	return 1
}
! has_banned "$TMPDIR/texts" || fail "in the sources"
cat doc/man/*.h2m >"$TMPDIR/man"
! has_banned "$TMPDIR/man" || fail "in doc/man"
! grep -E '^[^ ]*: (note|warning|error|faultline: (Note|warn|error)): ' "$TMPDIR/texts" ||
	fail "a prefix of its own"

# ---- what comes out

need_bpf
make_followed "$TMPDIR/f" sh -c '/bin/true; /bin/true'
masked=(env SECRET=correcthorsebattery "$FAULTLINE" record --mask-env=SECRET)
[ "$(id -u)" = 0 ] || masked=(sudo -n "${masked[@]}")
"${masked[@]}" -f -o "$TMPDIR/omits" -- sh -c 'for i in 1 2 3 4 5; do /bin/true; done' \
	>"$TMPDIR/omits.out" 2>"$TMPDIR/omits.err" || fail "$(cat "$TMPDIR/omits.err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/omits"
"${RECORD[@]}" -o "$TMPDIR/crash" -- "$BUILD/tests/programs/crash" >/dev/null 2>"$TMPDIR/crash.err"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/crash"

# says COMMAND... - into out and err, which have no banned words; each line of err has the prefix.
says() {
	"$FAULTLINE" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
	! has_banned "$TMPDIR/out" && ! has_banned "$TMPDIR/err" || fail "$*"
	! grep -v '^faultline: ' "$TMPDIR/err" || fail "$* talks without its name"
}
once() {
	[ "$(cat "$TMPDIR/out" "$TMPDIR/err" | grep -c -- "$1")" = 1 ] ||
		fail "'$1' is told $(cat "$TMPDIR/out" "$TMPDIR/err" | grep -c -- "$1") times: $(
			cat "$TMPDIR/out" "$TMPDIR/err")"
}
for capture in f omits crash; do
	for command in replay dump "dump --processes" graph "analyze --accesses" encode; do
		# shellcheck disable=SC2086 # command and option
		says $command "$TMPDIR/$capture"
	done
done
for err in omits crash; do
	! has_banned "$TMPDIR/$err.err" || fail "record"
	! grep -v '^faultline: ' "$TMPDIR/$err.err" || fail "record talks without its name"
done

# A gap that many processes have, and that the manifest and the log both know.
says replay "$TMPDIR/omits"
once 'value of environment variable'
grep -q '^faultline: note: gap: left out .* (processes 0, 1, 2, 3 and 2 more)$' "$TMPDIR/err" ||
	fail "whose gap is it? $(cat "$TMPDIR/err")"
says analyze --accesses "$TMPDIR/omits"
once 'value of environment variable'
says graph --no-allocator "$TMPDIR/omits"
once 'value of environment variable'
says analyze --accesses --json "$TMPDIR/omits"
[ "$(jq '[.notes[] | select(test("value of environment variable"))] | length' "$TMPDIR/out")" = 1 ] ||
	fail "told more than once in JSON: $(jq .notes "$TMPDIR/out")"
exit 0
