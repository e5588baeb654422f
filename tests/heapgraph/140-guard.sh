#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the guard lets pass the reader of logs has nothing against: random instructions that move pointers about, with an
# access behind each, in a heap above and below 4 GiB; the same where blocks are structs with arrays in them, and where
# three threads have the heap.
# FAULTLINE_GUARDED is how many programs of each kind there are; FAULTLINE_SEED is the first one's (the same ones
# each time, else).
# time limit: 300
. tests/lib.sh
need cc perl
need_bpf

count() { sed -n "s/^$1 //p" "$TMPDIR/counts"; }

# random SEED FUNCTIONS TENTHS [parts|threads]: of what is in doubt at most TENTHS tenths of what is found may be right.
random() {
	local seed=$1 functions=$2 tenths=$3 kind=${4:-} place=-pie lines=

	((seed % 2)) || place=-no-pie
	[ "$kind" != parts ] || lines=-g
	perl tests/heapgraph/pointers.pl $seed $functions $kind >"$TMPDIR/p.s" &&
		cc $lines $place -o "$TMPDIR/p" "$TMPDIR/p.s" || fail "seed $seed: cannot assemble"
	guarded "seed $seed, $place $kind" "$TMPDIR/p"
	[ "$(count found)" -gt 80 ] || fail "seed $seed: $(cat "$TMPDIR/counts")"
	[ "$kind" != parts ] || [ "$(count fields)" -gt 20 ] || fail "seed $seed: $(cat "$TMPDIR/counts")"
	[ $(($(count doubted) - $(count found))) -lt $(($(count found) * tenths / 10)) ] ||
		fail "seed $seed $kind: what is right is in doubt: $(cat "$TMPDIR/counts")"
}

seed=${FAULTLINE_SEED:-1105}
end=$((seed + ${FAULTLINE_GUARDED:-2}))
for ((; seed < end; seed++)); do
	random $seed 250 1
	random $seed 160 6 parts
	random $seed 200 1 threads
done

# A pointer astride two words, of which the first was another with the same low half: its value says whose it is.
cat >"$TMPDIR/astride.s" <<'END'
.intel_syntax noprefix
.text
.globl main
main:
	push rbx
	sub rsp, 64
	mov edi, 160
	call malloc@plt
	mov rbx, rax
	mov [rsp+16], rbx
	mov rdi, rbx
	mov esi, 160
	call realloc@plt
	mov [rsp+20], rbx
	mov r8, [rsp+20]
	cmp byte ptr [r8-24], 0
	xor eax, eax
	add rsp, 64
	pop rbx
	ret
.section .note.GNU-stack, ""
END
cc -o "$TMPDIR/astride" "$TMPDIR/astride.s" || fail "cannot assemble"
guarded astride "$TMPDIR/astride"
[ "$(count found)" = 1 ] || fail "astride: $(cat "$TMPDIR/counts")"

# Words are moved downwards: a pointer among them is one behind that.
cat >"$TMPDIR/turned.s" <<'END'
.intel_syntax noprefix
.text
.globl main
main:
	push rbx
	sub rsp, 128
	mov edi, 160
	call malloc@plt
	lea rbx, [rax+48]
	mov [rsp+8], rbx
	lea rsi, [rsp+24]
	lea rdi, [rsp+88]
	mov ecx, 4
	std
	rep movsq
	cld
	mov r8, [rsp+72]
	cmp byte ptr [r8-52], 0
	xor eax, eax
	add rsp, 128
	pop rbx
	ret
.section .note.GNU-stack, ""
END
cc -o "$TMPDIR/turned" "$TMPDIR/turned.s" || fail "cannot assemble"
"${RECORD[@]}" -o "$TMPDIR/t" -- "$TMPDIR/turned" || fail "turned: it does not end well"
expect_status 1 "$FAULTLINE" analyze --accesses "$TMPDIR/t"
exit 0
