# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the end-to-end scripts share; source it first. tests/run sets FAULTLINE, BUILD,
# SOURCE and TMPDIR.
set -u

fail() {
	echo "fail: $*"
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# need PROGRAM... - skip when one is not installed.
need() {
	local program
	for program; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

# jq 1.6 reads its own library for 25 ms each time, a tenth of all that some tests take; gojq does not. It has
# the keys of objects in order (-S).
jq() {
	gojq "$@"
}

# Recording needs BPF: as root, or through sudo when that asks nothing.
RECORD=("$FAULTLINE" record)
if [ $EUID != 0 ]; then
	if sudo -n true 2>/dev/null; then
		RECORD=(sudo -n "$FAULTLINE" record)
	fi
fi
need_bpf() {
	[ "${RECORD[0]}" = sudo ] || [ $EUID = 0 ] || skip "recording needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
}

# without_features LIST - the C library of what is recorded from here on does as if the
# processor had none of these (LIST: AVX2,-ERMS).
without_features() {
	RECORD=(env "GLIBC_TUNABLES=glibc.cpu.hwcaps=-$1" "$FAULTLINE" record)
	[ $EUID = 0 ] || RECORD=(sudo -n "${RECORD[@]}")
}

# without_cpuid_traps - what is recorded from here on is as on a processor that can make neither cpuid nor rdtsc
# trap, whether this one can or not.
without_cpuid_traps() {
	record_by nofault
}

# without_typed_tracepoints - .. is as on a kernel that has no BPF programs for tracepoints with types.
without_typed_tracepoints() {
	record_by untyped
}

# record_by NAME - what is recorded from here on is by tests/NAME, which calls faultline.
record_by() {
	local i
	grep -qs -e -fsanitize= "$BUILD/.flags" && skip "a sanitizer's library insists on being first"
	for i in "${!RECORD[@]}"; do
		[ "${RECORD[i]}" = "$FAULTLINE" ] || continue
		RECORD[i]=$SOURCE/tests/$1
		[ "${RECORD[0]}" != sudo ] || RECORD=(sudo -n "BUILD=$BUILD" "${RECORD[@]:2}")
	done
}

# need_breakpoints - that the processor's debug registers stop a program: what chooses instructions.
need_breakpoints() {
	"${RECORD[@]}" --chaos=1 -o "$TMPDIR/breaks" -- true 2>&1 | grep -q 'debug registers stop nobody' &&
		skip "this machine's debug registers stop nobody"
	rm -rf "$TMPDIR/breaks"
}

# lacks_low_addresses - is it a build with a sanitizer that has a shadow? It has reserved most
# memory from 2^31 on; of programs that insist on having some of that, replay can only say so.
lacks_low_addresses() {
	grep -qsE -e '-fsanitize=[^ ]*(address|thread)' "$BUILD/.flags"
}
need_low_addresses() {
	! lacks_low_addresses ||
		skip "the sanitizer's shadow lies where this program's memory must"
}

# expect_status WANT COMMAND... - run it; stdout and stderr go to $TMPDIR/out and err.
expect_status() {
	local want=$1 got=0
	shift
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = "$want" ] || {
		head -n 20 "$TMPDIR/out" "$TMPDIR/err"
		fail "exit status $got, not $want, of: $*"
	}
}

# expect_error PATTERN - the last command said one line on stderr, in the house's form,
# that matches the extended regular expression.
expect_error() {
	grep -Eq "^faultline: cannot .*" "$TMPDIR/err" ||
		fail "no line 'faultline: cannot ...' on stderr: $(cat "$TMPDIR/err")"
	grep -Eq "$1" "$TMPDIR/err" ||
		fail "stderr does not match '$1': $(cat "$TMPDIR/err")"
	[ "$(grep -c '^faultline: cannot' "$TMPDIR/err")" = 1 ] ||
		fail "more than one message: $(cat "$TMPDIR/err")"
}

# until_true COMMAND... - wait until it succeeds: a minute, on a machine however busy.
until_true() {
	local tries=3000
	while ! "$@" 2>/dev/null; do
		((tries--)) || return 1
		sleep 0.02
	done
}

# fresh - before a command in the background whose output is waited for: a former one's would
# do, as the shell empties the files only when it comes to start the command.
fresh() {
	rm -f "$TMPDIR/out" "$TMPDIR/err"
}

# free_port - a port of 127.0.0.1 on which nobody listens.
free_port() {
	local port=$((20000 + $$ % 10000))
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
	done
	echo $port
}

# own_program NAME - the path of a copy of one of tests/programs/ that no other test runs, for
# what looks for its process by its command line.
own_program() {
	cp "$BUILD/tests/programs/$1" "$TMPDIR/$1" && echo "$TMPDIR/$1"
}

# naps PID - so many waits of its own it has had; waits_on PID N - until it has had N more.
naps() {
	sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"
}
waits_on() {
	local before
	before=$(naps "$1")
	until_true eval "[ \$(naps $1) -ge $((before + $2)) ]"
}

# guarded WHAT COMMAND... - record it, which is called WHAT, to $TMPDIR/c, where there is room for the guard, and have tool_guard look at it both ways:
# its $TMPDIR/counts; what the guard let pass is in $TMPDIR/missed, and a failure.
guarded() {
	local what=$1 status
	shift
	for try in 1 2 3; do # the program may lie where there is none
		rm -rf "$TMPDIR/c"
		"${RECORD[@]}" -o "$TMPDIR/c" -- "$@" >"$TMPDIR/said" 2>&1 || fail "$what: $(cat "$TMPDIR/said")"
		[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
		status=0
		"$BUILD/tests/heapgraph/tool_guard" "$TMPDIR/c" >"$TMPDIR/counts" 2>"$TMPDIR/missed" || status=$?
		[ $status = 3 ] || break
	done
	[ $status = 0 ] || fail "$what: the guard let pass $(head -3 "$TMPDIR/missed")"
}

# alone_in CAPTURE [BUT] - each rule of which $TMPDIR/want has lines (`LINE RULE'), but one, finds alone what it finds
# among all.
alone_in() {
	local rule
	for rule in $(cut -d' ' -f2 "$TMPDIR/want" | sort -u); do
		[ "$rule" != "${2:-}" ] || continue
		"$FAULTLINE" check --json --only "$rule" "$1" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
			sort -u >"$TMPDIR/found"
		grep " $rule\$" "$TMPDIR/want" | sort -u | diff - "$TMPDIR/found" ||
			fail "check --only $rule: $(cat "$TMPDIR/err")"
	done
}

# make_capture DIR COMMAND... - record it, or fail. The program's stdout is in DIR.out.
# Set want_status when the program does not end with 0.
make_capture() {
	local dir=$1 got=0
	shift
	need_bpf
	"${RECORD[@]}" -o "$dir" -- "$@" >"$dir.out" 2>"$dir.err" || got=$?
	[ $got = "${want_status:-0}" ] || {
		tail -n 20 "$dir.err"
		fail "record exited with $got, not ${want_status:-0}: $*"
	}
	[ -f "$dir/manifest.json" ] || fail "no manifest.json in the capture"
	tail -n 1 "$dir.err" | grep -q complete ||
		fail "record's last line does not say complete: $(tail -n 3 "$dir.err")"
	[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$dir"
}

# make_lived DIR COMMAND... - as make_capture; what has no value decides where it is seen without a log as it does with one. (The
# program may lie where there is no room for its shadow: then the next recording of it does not.)
make_lived() {
	local try lived
	for try in 1 2 3; do
		rm -rf "$1"
		make_capture "$@"
		lived=0
		"$BUILD/tests/check/tool_live" "$1" >"$1.lived" || lived=$?
		[ $lived = 3 ] || break
	done
	[ $lived = 0 ] || fail "${*:2}, try $try: without a log: $(cat "$1.lived")"
}

# replay_matches DIR - it replays with all matched, and prints what the program printed.
replay_matches() {
	local dir=$1 got=0
	"$FAULTLINE" replay "$dir" --stdout >"$dir.replayed" 2>"$dir.replay.err" || got=$?
	[ $got = 0 ] || {
		cat "$dir.replay.err"
		fail "replay exited with $got"
	}
	cmp "$dir.out" "$dir.replayed" || fail "replay printed something else"
	says_matched "$dir"
}

# says_matched DIR - a replay of the capture says so itself.
says_matched() {
	local dir=$1
	"$FAULTLINE" replay "$dir" --json >"$dir.json" || fail "replay --json failed"
	grep -Eq '"matched":[[:space:]]*true' "$dir.json" || fail "not matched: $(cat "$dir.json")"
	cat "$dir.json"
}

# record_and_replay COMMAND... - both, in $TMPDIR/c.
record_and_replay() {
	make_capture "$TMPDIR/c" "$@"
	replay_matches "$TMPDIR/c"
}

# make_followed DIR COMMAND... - as make_capture, with -f.
make_followed() {
	local dir=$1
	shift
	local RECORD=("${RECORD[@]}" -f)
	make_capture "$dir" "$@"
}

# all_match DIR - every process of the capture replays with all matched. Leaves how many
# processes did in $n_matched.
all_match() {
	local dir=$1 got=0
	"$FAULTLINE" replay --json "$dir" >"$dir.json" 2>"$dir.replay.err" || got=$?
	n_matched=$(grep -c '"matched":true' "$dir.json")
	[ $got = 0 ] && [ "$n_matched" -gt 0 ] && [ "$n_matched" = "$(wc -l <"$dir.json")" ] || {
		"$FAULTLINE" dump --processes "$dir"
		grep -v '"matched":true' "$dir.json"
		cat "$dir.replay.err"
		fail "replay exited with $got, $n_matched processes matched"
	}
}

# processes DIR - the tree of its processes, a line each.
processes() {
	"$FAULTLINE" dump --processes "$1" | tail -n +2
}

# make_text MEGABYTES - deterministic text, words and numbers, on stdout.
make_text() {
	awk -v bytes=$(($1 * 1000000)) 'BEGIN {
		x = 12345
		split("list node tree edge heap fault store value graph time", word, " ")
		while (n < bytes) {
			line = ""
			for (i = 0; i < 8; i++) {
				x = (x * 1103515245 + 12345) % 2147483648
				line = line word[1 + int(x / 65536) % 10] int(x / 4096) % 1000 " "
			}
			print line
			n += length(line) + 1
		}
	}'
}

# looks_whole DIR - succeeds when a reader would take it for a finished capture.
looks_whole() {
	[ -e "$1/manifest.json" ]
}

# page_log PAGE - the log of a page of `graph --html` as JSON, with the values that it begins with
# as .start, and all nodes in .nodes.
page_log() {
	local blocks
	blocks=$(mktemp)
	sed -n '/ class="block">/,/<\/script>$/p' "$1" | sed 's/<[^>]*>//g' |
		jq -s 'def ids: recurse(.[2 + 2 * .[1]:] | select(length > 0)) | .[0];
		[range(0; length; 2) as $b | [.[$b] | ids] as $ids | .[$b + 1] as $nodes |
		range($ids | length) | { key: "\($ids[.])", value: $nodes[.] }] | from_entries' >"$blocks"
	sed -n '/ id="log">/,/<\/script>$/p' "$1" | sed 's/<[^>]*>//g' |
		jq -c --slurpfile blocks "$blocks" '.nodes += ($blocks[0] | map_values(.[0])) |
		.start = ($blocks[0] | map_values(.[1:] | map(if type == "array" then .[0] else . end)))'
	rm "$blocks"
}
