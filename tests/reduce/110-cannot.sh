#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What cannot be reduced says why, in one line, and leaves nothing; Ctrl-C leaves what there is.
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0
cd "$TMPDIR" || exit 1
sets=$BUILD/tests/programs/framesets

# cannot PATTERN ARGUMENT...
cannot() {
	local pattern=$1
	shift
	expect_status 2 "$FAULTLINE" reduce "$@"
	expect_error "$pattern"
	[ ! -e c.reduced ] && [ ! -e out.d ] || fail "a directory is left of: $*"
}

printf 'SSNB/BP' >in
want_status=139 make_capture c "$sets" in
cannot 'no such|cannot open' missing
cannot "did not read 'other'.*read were: argv" c --input other
cannot "'random' can be no input|did not read" c --input random
printf '#!/bin/sh\nexit 0\n' >any.sh
printf '#!/bin/sh\nexit 1\n' >none.sh
chmod +x any.sh none.sh
cannot 'accepts an empty input' c --oracle ./any.sh -o out.d
cannot 'does not accept the input' c --oracle ./none.sh -o out.d
cannot 'the oracle .*missing.sh' c --oracle ./missing.sh
mkdir full
touch full/file
expect_status 2 "$FAULTLINE" reduce c -o full
expect_error 'not empty'
echo H >fine
make_capture well "$sets" fine
cannot 'no signal ended' well -o out.d

# What belongs to the system is not taken for the input of one who named none.
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { FILE *f = fopen("/etc/passwd", "r"); %s }\n' \
	'if (fgetc(f) != EOF) abort(); return 0;' >system.c
cc -o system system.c || fail "cannot compile"
want_status=134 make_capture system.c1 ./system
cannot "no file of its user's.*read were:.*/etc/passwd" system.c1 -o out.d

# A failure that depends on something else than the input.
cat >moody.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	FILE *f = fopen("mood", "r");

	if (getchar() != EOF && f && fgetc(f) == 'b')
		abort();
	return 0;
}
C
cc -o moody moody.c || fail "cannot compile"
echo bad >mood
want_status=134 make_capture moody.c1 ./moody <in
echo good >mood
cannot 'does not repeat: recorded was SIGABRT.*exit status 0' moody.c1 --input stdin -o out.d
# Another program under its name is told.
cp "$sets" mine
want_status=139 make_capture mine.c ./mine in
cc -g -o mine -DOTHER -x c -O1 "$SOURCE/tests/programs/framesets.c"
"$FAULTLINE" reduce mine.c -o other --no-record >out 2>err || fail "$(cat err)"
grep -q 'note: the program here is not the one' err || fail "nothing said of another program: $(cat err)"

# A run that takes too long is no failure; one that always does is told.
cat >slow.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	int c, n = 0;

	while ((c = getchar()) != EOF)
		n += c == 'x';
	while (n == 1)
		;
	if (n > 1)
		abort();
	return 0;
}
C
cc -o slow slow.c || fail "cannot compile"
echo 'an x and xy' >in.slow
want_status=134 make_capture slow.c1 ./slow <in.slow
"$FAULTLINE" reduce slow.c1 -o slow.d --timeout 0.2 --no-record --json >json 2>err || fail "$(cat err)"
[ "$(cat slow.d/stdin)" = xx ] || fail "slow: $(cat slow.d/stdin)"

# Binary inputs, with every byte there is.
for ((i = 0; i < 256; i++)); do printf "\\x$(printf %02x $i)"; done >bytes
cat >every.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	int c, has = 0;

	while ((c = getchar()) != EOF)
		has |= c == 0 ? 1 : c == 255 ? 2 : c == '\n' ? 4 : 0;
	if (has == 7)
		abort();
	return 0;
}
C
cc -o every every.c || fail "cannot compile"
want_status=134 make_capture every.c1 ./every <bytes
"$FAULTLINE" reduce every.c1 -o every.d --no-record >out 2>err || fail "$(cat err)"
[ "$(od -An -tx1 every.d/stdin)" = ' 00 0a ff' ] || fail "binary: $(od -c every.d/stdin)"

# Interrupted: the best so far, and a status of its own.
pids=()
cat >lazy.sh <<'E'
#!/bin/sh
sleep 0.4
grep -q 'BP$' "$1"
E
chmod +x lazy.sh
for ((i = 0; i < 200; i++)); do echo -n "SSNB/BP "; done >long
printf 'SSNB/BP' >>long
want_status=139 make_capture long.c "$sets" long
# As timeout does it, all of its processes get the signal.
for signal in INT TERM; do
	timeout --preserve-status -s $signal 2 "$FAULTLINE" reduce long.c --oracle ./lazy.sh -o long.d$signal \
		--method chars --json >json$signal 2>err$signal &
	pids[${#pids[@]}]=$!
done
for signal in INT TERM; do
	got=0
	wait "${pids[0]}" || got=$?
	pids=("${pids[@]:1}")
	[ $got = 1 ] || fail "interrupted by $signal: status $got: $(cat err$signal)"
	[ "$(jq .stopped json$signal)" = true ] && grep -q 'BP$' long.d$signal/long ||
		fail "interrupted: $(cat json$signal)"
done
exit 0
