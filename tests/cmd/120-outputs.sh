#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Every option that writes, onto each kind of thing that a name may stand for: a device, links, a
# FIFO, standard output, a directory, places that cannot be written, a full device. What is there
# stays what it is. The options are taken from --help: one that the tables below do not know fails.
# time limit: 300
. tests/lib.sh

need dot
need_bpf

# ---- which options there are

# What options write: a file, a directory, the file that is named behind them (place), or into a
# directory of which only the shell that they start knows (none). OUT stands for the target.
cat >"$TMPDIR/writing" <<'EOF'
analyze --svg        file  analyze CRASH --spec SPEC --svg OUT
check   --html       file  check TINY --html OUT
check   --sarif      file  check TINY --sarif OUT
slice   --capture    dir   slice TINY --at crash --capture OUT
slice   --html       file  slice TINY --at crash --html OUT
suppress --html      file  suppress TINY --html OUT
bench   --html       file  bench --from RESULTS --html OUT
bench   --json       file  bench --from RESULTS --json OUT
bench   --markdown   file  bench --from RESULTS --markdown OUT
bench   --cache      none
encode  --flight     dir   encode --flight OUT CRASH
encode  --output     file  encode -o OUT CRASH
graph   --html       file  graph CRASH --html OUT
graph   --svg        file  graph CRASH --svg OUT
inputs  --html       file  inputs TINY --html OUT
linear  --svg        file  linear --svg OUT STEPS
repair  --html       file  repair --source SOURCE --function deleteMid --commands SESSION --html OUT
repair  --svg        file  repair --source SOURCE --function deleteMid --commands SESSION --svg OUT
reduce  --output     dir   reduce TINY --no-record -o OUT
report  --output     file  report TINY -o OUT
record  --output     dir   record -o OUT -- /bin/true
spec    --in-place   place spec format --in-place OUT
suite   --output     dir   suite record -o OUT --tests TESTS -- /bin/true
EOF
# Those that read files, and those that speak of writing and print, or choose what is written.
cat >"$TMPDIR/other" <<'EOF'
analyze --json --sources --spec
bench   --corpus --from --specs
check   --json --rules --sources --strict --suppressions
linear  --derived --object
rank    --expected --state
fixes   --into --knowledge --sources
slice   --dot --json --no-addresses --sarif --sources
debug   --at-fault
decode  --image --raw --symfs
dump    --memory
encode  --core --no-retcomp --probes --symfs --thread --timing
graph   --dot --spec
inputs  --json
reduce  --input --json --oracle
repair  --also --commands --source --spec
record  --end-core --object --snapshot
replay  --stdout
report  --serve --sources --spec --with
sites   --list
spec    --binary
suite   --store --tests
EOF
# Arguments that are no names of files.
values="[ADDR:]PORT OPTIONS BYTES CPOINT EVENT F FILTER FIRST-LAST FROM,TO FUNC INPUT SCRIPT FUNC[@FILE] GLOB KIND[,KIND...] LIST MODE N PORT
A..B FIX METHOD NAME NAME,.. NAME=FUNC PERCENT PID PLACE PROCESS ROLE SEED SECONDS SIZE TEXT TID TIME TYPE WHAT"

# options COMMAND - a line each: --NAME, its argument or -, and whether its text speaks of writing.
options() {
	"$FAULTLINE" "$1" --help | awk '
	function flush() {
		if (name)
			print name, argument == "" ? "-" : argument, text ~ /[Ww]rit/ ? "writes" : "-"
		name = ""
	}
	/^  (-[A-Za-z],|   ) --[a-z]/ {
		flush()
		match($0, /--[a-z][a-z-]*/)
		name = substr($0, RSTART, RLENGTH)
		text = substr($0, RSTART + RLENGTH)
		argument = match(text, /=[^ ]+/) && RSTART <= 2 ? substr(text, 2, RSTART + RLENGTH - 2) : ""
		sub(/^=/, "", argument)
		if (text ~ /^\[/)
			sub(/\]$/, "", argument)
		next
	}
	/^ {20}/ { text = text $0; next }
	{ flush() }
	END { flush() }'
}

known() { # command, option
	awk -v c="$1" -v o="$2" '$1 == c { for (i = 2; i <= NF; i++) found = found || $i == o }
		END { exit !found }' "$TMPDIR/writing" "$TMPDIR/other"
}

n=0
for command in $("$FAULTLINE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
	while read -r name argument writes; do
		n=$((n + 1))
		known "$command" "$name" && continue
		[ "$argument" = - ] || [[ " ${values//$'\n'/ } " == *" $argument "* ]] ||
			fail "does $command $name $argument write a file? say so in $0"
		[ "$writes" = - ] || fail "what does $command $name write? say so in $0"
	done < <(options "$command")
done
[ $n -ge 110 ] || fail "only $n options found"
while read -r command name _; do
	options "$command" | grep -q "^$name " || fail "$command has no $name any more"
done <"$TMPDIR/writing"

# ---- what they write

tests=$TMPDIR/tests.jsonl results=$SOURCE/tests/bench/results.json spec=$SOURCE/examples/list/list.spec
echo '{"name": "one", "status": 0}' >"$tests"
printf 'a    FIELD 2   EDGE 1;\n' >"$TMPDIR/ugly.spec"
"${RECORD[@]}" --end-core -o "$TMPDIR/crash" -- "$BUILD/examples/list-O2" >/dev/null 2>&1
# A program of its own, without a library: what is tried here are the outputs.
cat >"$TMPDIR/tiny.c" <<'EOF'
struct node {
	struct node *next;
	long value;
};
static struct node second = { 0, 2 }, first = { &second, 1 };
static char byte;
void *malloc(unsigned long size)
{
	return size == sizeof first ? &first : 0;
}
void free(void *block)
{
	(void)block;
}
void _start(void)
{
	struct node *node = malloc(sizeof *node);
	long sum;

	__asm__ volatile("syscall" : "=a"(sum) : "a"(0), "D"(0), "S"(&byte), "d"(1) : "rcx", "r11", "memory");
	for (sum = byte; sum < 1000; node = node->next)
		sum += node->value;
}
EOF
gcc -g -O0 -nostdlib -static -fno-builtin -o "$TMPDIR/tiny" "$TMPDIR/tiny.c" || fail "does not compile"
"${RECORD[@]}" -o "$TMPDIR/tiny.flt" -- "$TMPDIR/tiny" <<<a >/dev/null 2>&1
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"/{crash,tiny.flt}
looks_whole "$TMPDIR/crash" && looks_whole "$TMPDIR/tiny.flt" || fail "no capture"
runs_as=("${RECORD[@]:0:${#RECORD[@]}-1}")
devices=
[ "$(id -u)" != 0 ] || ! mknod "$TMPDIR/probe" c 1 3 2>/dev/null || devices=1
mkdir "$TMPDIR/room"
cd "$TMPDIR/room" || exit 1

# try TARGET - run $command with it; its exit status is in $got, its streams in out and err.
try() {
	local words word argv=("$FAULTLINE")
	[[ $command != record* && $command != suite* ]] || argv=("${runs_as[@]}")
	read -ra words <<<"$command"
	for word in "${words[@]}"; do
		case $word in
		OUT) argv+=("$1") ;;
		CRASH) argv+=("$TMPDIR/crash") ;;
		RESULTS) argv+=("$results") ;;
		TINY) argv+=("$TMPDIR/tiny.flt") ;;
		SPEC) argv+=("$spec") ;;
		TESTS) argv+=("$tests") ;;
		SOURCE) argv+=("$SOURCE/tests/repair/figure4.c") ;;
		SESSION) argv+=("$SOURCE/tests/repair/figure4.commands") ;;
		STEPS) argv+=("$SOURCE/specs/concurrent/herlihy-wing-queue.steps") ;;
		*) argv+=("$word") ;;
		esac
	done
	got=0
	timeout 60 "${argv[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || got=$?
}

wrong() {
	fail "$command: $*: status $got, $(tail -n 3 "$TMPDIR/err"); here: $(ls -lA)"
}

# works/refuses WHAT TARGET - it does.
works() {
	try "$2"
	[ $got = 0 ] || { [ $got = 1 ] && [[ $command = analyze* || $command = check* || $command = suppress* ]]; } ||
		# What is not proven, and not refuted, has a picture, too.
		{ [[ $got = 2 && $command = linear* ]] && ! grep -q "^faultline: " "$TMPDIR/err"; } || wrong "$1"
}
refuses() {
	local status=2
	[[ $command != record* ]] || status=125
	try "$2"
	[ $got = $status ] || wrong "$1"
	grep -q "^faultline: cannot " "$TMPDIR/err" || wrong "$1: no reason"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || wrong "$1: not one line"
}

# here_is NAME... - nothing else is in the directory; then it is emptied.
here_is() {
	[ "$(ls -A | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ' | sed 's/^ //')" ] ||
		wrong "not only '$*' is there"
	rm -rf "$TMPDIR/room"
	mkdir "$TMPDIR/room"
	cd "$TMPDIR/room" || exit 1
}

# is_like FILE WHAT - it begins as what was written to a file, and is as long, but for the command
# line, which some write.
is_like() {
	local size
	[ -s "$1" ] && cmp -s <(head -c 12 "$1") <(head -c 12 "$TMPDIR/like") || wrong "$2: other text"
	size=$(($(wc -c <"$1") - $(wc -c <"$TMPDIR/like")))
	[ ${size#-} -lt 200 ] || wrong "$2: $size bytes more than in a file"
}

before() { # what stands there already
	if [ "$kind" = place ]; then cp "$TMPDIR/ugly.spec" "$1"; else echo old >"$1"; fi
}

# links_to TARGET - link is still one, to it, which was written.
links_to() {
	[ "$(readlink link)" = "$1" ] && is_like "$1" "a link"
}

try_file() {
	local beside=()
	[[ $command != encode* ]] || beside=(.symfs)
	[[ $command != *markdown* ]] || beside=(-growth.svg)

	before new
	works "a file" new
	cp new "$TMPDIR/like"
	here_is new "${beside[@]/#/new}"
	before file
	ln -s file link
	works "a link" link
	links_to file || wrong "a link"
	here_is file link "${beside[@]/#/link}"

	mkdir dir
	refuses "a directory" dir
	[ -z "$(ls -A dir)" ] || wrong "a directory"
	here_is dir
	refuses "a missing directory" missing/new
	before file
	refuses "below a file" file/new
	here_is file
	if [ "$(id -u)" != 0 ] && [ "$kind" != place ]; then
		mkdir -m 555 closed
		refuses "a directory of others" closed/new
		here_is closed
	fi
}

try_special() {
	ln -s new link
	works "a dangling link" link
	links_to new || wrong "a dangling link"
	rm -rf link.symfs link-growth.svg
	here_is link new
	mkfifo pipe
	cat pipe >"$TMPDIR/through" &
	works "a FIFO" pipe
	wait $!
	[ -p pipe ] || wrong "a FIFO"
	is_like "$TMPDIR/through" "a FIFO"
	here_is pipe
	works "-" -
	is_like "$TMPDIR/out" "-"
	here_is
	refuses "a full device" /dev/full
	[ -c /dev/full ] || fail "$command has replaced /dev/full"
	grep -q "No space left" "$TMPDIR/err" || wrong "a full device"
}

try_dir() {
	mkdir made
	ln -s made link
	works "a link" link
	[ -L link ] && [ -n "$(ls -A made)" ] || wrong "a link"
	here_is link made
	ln -s made link
	works "a dangling link" link
	[ -L link ] && [ -n "$(ls -A made)" ] || wrong "a dangling link"
	here_is link made
	echo old >file
	refuses "a file" file
	ln -s file link
	refuses "a link to a file" link
	refuses "below a file" file/new
	[ "$(cat file)" = old ] || wrong "a file"
	here_is file link
	mkfifo pipe
	refuses "a FIFO" pipe
	[ -p pipe ] || wrong "a FIFO"
	here_is pipe
	refuses "-" -
	refuses "a full device" /dev/full
	refuses "a missing directory" missing/new
	here_is
}

# is_kept WORKS|REFUSES - a device of ours is still one afterwards.
is_kept() {
	[ -n "$devices" ] || return 0
	mknod device c 1 3
	"$1" "a device" device
	[ "$(stat -c %t,%T device)" = 1,3 ] || wrong "a device"
	here_is device
}

while read -r _ _ kind command; do
	case $kind in
	file) try_file && try_special && is_kept works ;;
	place) try_file && is_kept refuses ;;
	dir) try_dir && is_kept refuses ;;
	esac
done <"$TMPDIR/writing"

# What cannot be written is told before any work.
while read -r _ _ kind command; do
	[[ $kind = file && $command != bench* && $command != encode* ]] || continue
	command=${command/CRASH/nowhere} command=${command/TINY/nowhere}
	refuses "a missing directory, before a missing capture" missing/new
	grep -q "cannot write 'missing/new'" "$TMPDIR/err" || wrong "the capture is looked for first"
done <"$TMPDIR/writing"

# A FIFO is not waited for where a file is changed in its place.
command="spec format --in-place OUT"
mkfifo pipe
refuses "a FIFO" pipe
[ -p pipe ] || wrong "a FIFO"

# ---- standard output has room for one result, and what is lost of it is a failure

for command in "analyze CRASH --spec SPEC --json --svg OUT" "encode CRASH --json -o OUT" \
	"bench --from RESULTS --json OUT --html OUT"; do
	try -
	[ $got = 2 ] && grep -q "only one result" "$TMPDIR/err" || wrong "two results on stdout"
done
for plain in "dump $TMPDIR/crash" "graph $TMPDIR/crash" "spec check $spec" \
	"analyze $TMPDIR/crash --spec $spec --json" "replay $TMPDIR/crash"; do
	got=0
	"$FAULTLINE" $plain >/dev/full 2>"$TMPDIR/err" || got=$?
	[ $got = 2 ] && grep -q "^faultline: cannot write.*No space left" "$TMPDIR/err" ||
		fail "$plain to a full device: status $got, $(cat "$TMPDIR/err")"
done
exit 0
