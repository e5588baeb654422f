#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Go programs from Debian: their own stacks and threads, an address space reserved far
# beyond what is used, random keys, preemption by signals.
. tests/lib.sh

need age age-keygen
need_low_addresses
record_and_replay age-keygen
grep -q AGE-SECRET-KEY "$TMPDIR/c.replayed" || fail "no key in the replay"
grep AGE-SECRET-KEY "$TMPDIR/c.out" >"$TMPDIR/key"
bytes=$(stat -c %s "$TMPDIR/c/start.core")
[ "$bytes" -lt 4000000 ] || fail "start.core has $bytes bytes"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

make_text 1 >"$TMPDIR/text"
age -e -i "$TMPDIR/key" -o "$TMPDIR/text.age" "$TMPDIR/text" || fail "age -e"
record_and_replay age -d -i "$TMPDIR/key" "$TMPDIR/text.age"
cmp "$TMPDIR/text" "$TMPDIR/c.replayed" || fail "the replay decrypts something else"
