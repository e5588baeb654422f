#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Small files that say to be large ones: refused with one line, within a few hundred megabytes.
. tests/lib.sh

bomb=$BUILD/tests/capture/tool_bomb
most=600 # MB; each of them once took 2300 to 6000
lacks_low_addresses && most=6000 # a sanitizer's are its own
want_status=139 make_capture "$TMPDIR/good" "$BUILD/examples/list-O2"

# copy - a fresh one to spoil.
copy() {
	rm -rf "$TMPDIR/bad"
	cp -r "$TMPDIR/good" "$TMPDIR/bad"
}

# peak STATUS COMMAND... - it ends with that, and within that memory.
peak() {
	local want=$1
	shift
	expect_status "$want" "$bomb" peak "$TMPDIR/peak" "$FAULTLINE" "$@"
	echo "$1: $(cat "$TMPDIR/peak") MB"
	[ "$(cat "$TMPDIR/peak")" -lt $most ] || fail "$1 took $(cat "$TMPDIR/peak") MB"
}

# ---- the event log

copy
"$bomb" memory "$TMPDIR/bad/events.flt" 6000
[ "$(stat -c %s "$TMPDIR/bad/events.flt")" -lt 1000000 ] || fail "that is no bomb"
peak 2 dump "$TMPDIR/bad"
expect_error "events.flt is damaged .*256 times"
peak 2 replay "$TMPDIR/bad"
expect_error "events.flt is damaged .*256 times"

# A read of zeros is just as small, and there is nothing wrong with it.
"$bomb" zeros "$TMPDIR/bad/events.flt" 2000
rm "$TMPDIR/bad/manifest.json"
peak 0 dump "$TMPDIR/bad"
"$bomb" zeros "$TMPDIR/bad/events.flt" 6000
peak 2 dump "$TMPDIR/bad"
expect_error "more memory than a system call can write"

copy
"$bomb" events "$TMPDIR/bad/events.flt" 1000
peak 2 dump "$TMPDIR/bad"
expect_error "more events than the manifest says"

# The reader that keeps most of each event: `recover', of a flight recorder's capture.
"${RECORD[@]}" --end-core -e heap -o "$TMPDIR/whole" -- "$BUILD/examples/list-O2" \
	>/dev/null 2>"$TMPDIR/err"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/whole"
expect_status 0 "$FAULTLINE" encode --flight "$TMPDIR/flight" "$TMPDIR/whole"
"$bomb" events "$TMPDIR/flight/events.flt" 100000000
sed -i 's/"events":.*/"events": "100000000",/' "$TMPDIR/flight/manifest.json"
peak 2 recover "$TMPDIR/flight"
expect_error "events.flt is damaged .*256 times"

# ---- the rest

copy
"$bomb" values "$TMPDIR/bad/manifest.json" 33000000
peak 2 replay "$TMPDIR/bad"
expect_error "manifest.json has more than [0-9]* values"

copy
rm "$TMPDIR/bad/manifest.json"
head -c 60000000 /dev/zero | tr '\0' 'x' | sed 's/xxx/x\x00/g' >"$TMPDIR/bad/files/index"
peak 2 replay "$TMPDIR/bad"
expect_error "files/index has more than"

copy
"$bomb" notes "$TMPDIR/bad/start.core" 60
peak 2 replay "$TMPDIR/bad"
expect_error "start.core is damaged: size of its notes"
exit 0
