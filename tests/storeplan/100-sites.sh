#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# faultline sites on code whose best places are known.
. tests/lib.sh

need cc
cat >"$TMPDIR/p.s" <<'S'
	.text
	# Both operands arrive in registers, and push is emulated.
	.globl entry
	.type entry, @function
entry:	push %rbx
	mov %rsi, (%rdi)
	pop %rbx
	ret
	# Nothing that is emulated: the store itself is stepped.
	.globl stepped
	.type stepped, @function
stepped: mov (%rdi), %rax
	mov %rax, 8(%rdi)
	ret
	# Address and value are in the code.
	.globl constant
	.type constant, @function
constant: movl $5, word(%rip)
	ret
	# No general register has the value: it is read back.
	.globl vector
	.type vector, @function
vector:	movups %xmm0, (%rdi)
	jmp 1f
1:	ret
	# Before the loop, not in it.
	.globl loop
	.type loop, @function
loop:	push %rbx
1:	movl %ecx, (%rdi)
	add $4, %rdi
	sub $1, %rcx
	jnz 1b
	pop %rbx
	ret
	# Behind the store: rax is taken back by the add, the copy in the frame tells rdx.
	.globl undone
	.type undone, @function
undone:	mov (%rdi), %rax
	mov 8(%rdi), %rdx
	mov %rdx, -8(%rsp)
	mov %rdx, (%rax)
	add $16, %rax
	mov -8(%rsp), %rcx
	xor %edx, %edx
	jmp 1f
1:	ret
	# Each way needs its own.
	.globl ways
	.type ways, @function
ways:	mov (%rdi), %rax
	test %rsi, %rsi
	jz 1f
	mov (%rax), %rax
	jmp 2f
1:	nop
2:	mov %rsi, (%rax)
	xor %eax, %eax
	xor %esi, %esi
	ret
	# Nothing goes backward over the call; at it, memory still tells the value.
	.globl across
	.type across, @function
across:	push %rbx
	mov (%rdi), %rax
	mov %rax, (%rdi)
	xor %eax, %eax
	call entry
	pop %rbx
	ret
	.globl main
	.type main, @function
main:	xor %eax, %eax
	ret
	.data
word:	.long 0
	.section .note.GNU-stack,"",@progbits
S
cc -o "$TMPDIR/p" "$TMPDIR/p.s" || fail "cannot assemble"
expect_status 0 "$FAULTLINE" sites --list --function '[a-z]*' "$TMPDIR/p"
cp "$TMPDIR/out" "$TMPDIR/list"
# function -> state of its stores: each probe's instruction, how, reads
got() {
	sed -n "/^$1 /,/^[a-z]/p" "$TMPDIR/list" | sed '1!{/^[^ ]/d}' | awk '
		/^    store/ { sub(",", "", $3); s = s $3 " " }
		/^    probe/ { gsub(",", ""); s = s $3 "-" $4 "-" $5 " " }
		END { print s }'
}
check() {
	[ "$(got "$1")" = "$2 " ] || fail "$1: '$(got "$1")' instead of '$2' $(cat "$TMPDIR/list")"
}
check entry "served push-emulated-0"
check stepped "served mov-stepped-0"
check constant "free"
check vector "served jmp-emulated-1"
check loop "served push-emulated-0"
check undone "served jmp-emulated-0"
check ways "served jz-emulated-0 jmp-emulated-0"
check across "served call-emulated-1"
grep -q '^naive: 8 probes, 0 emulated, 8 stepped' "$TMPDIR/list" || fail "naive: $(cat "$TMPDIR/list")"
grep -q '^plan:  8 probes, 7 emulated and 1 stepped' "$TMPDIR/list" || fail "plan: $(cat "$TMPDIR/list")"
expect_status 0 "$FAULTLINE" sites --json "$TMPDIR/p"
python3 -c 'import json,sys; j = json.load(open(sys.argv[1])); assert j["naive"]["stepped"] >= 8 and j["plan"]["stepped"] >= 1 and j["lost"] == 0' \
	"$TMPDIR/out" || fail "JSON"
expect_status 2 "$FAULTLINE" sites "$TMPDIR/p.s"
grep -q "not an ELF file" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
expect_status 2 "$FAULTLINE" sites --function nosuch "$TMPDIR/p"
expect_status 2 "$FAULTLINE" sites /nowhere
