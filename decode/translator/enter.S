// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The two doors between C and the guest. In the guest every general register, the
// flags, the vector and x87 state and the fs base are the guest's own; gs holds the
// context. Nothing here touches the guest's stack (its red zone is live).

#include "decode/translator/ctx.h"

	.text

// arch_prctl(ARCH_SET_FS, \base); the general registers are C's, or saved.
	.macro	set_fs	base
	mov	$158, %eax
	mov	$0x1002, %edi
	mov	\base, %rsi
	syscall
	.endm

// Vector and mask registers, all that this CPU has, to the context (\is_store 1) or from it.
	.macro	move_vector	is_store op kind number bytes
	.if	\is_store
	\op	%\kind\number, %gs:CTX_VECTORS+\number*\bytes
	.else
	\op	%gs:CTX_VECTORS+\number*\bytes, %\kind\number
	.endif
	.endm

	.macro	move_vectors is_store
	testl	$0x80, %gs:CTX_XMASK
	jz	.Lno_zmm\@
	.irp	v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	move_vector	\is_store vmovdqa64 zmm \v 64
	.endr
	.irp	v, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	move_vector	\is_store vmovdqa64 zmm \v 64
	.endr
	.irp	v, 0, 1, 2, 3, 4, 5, 6, 7
	.if	\is_store
	kmovq	%k\v, %gs:CTX_VECTORS+32*64+8*\v
	.else
	kmovq	%gs:CTX_VECTORS+32*64+8*\v, %k\v
	.endif
	.endr
	jmp	.Ldone\@
.Lno_zmm\@:
	testl	$4, %gs:CTX_XMASK
	jz	.Lno_ymm\@
	.irp	v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	move_vector	\is_store vmovdqa ymm \v 64
	.endr
	jmp	.Ldone\@
.Lno_ymm\@:
	.irp	v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	move_vector	\is_store movdqa xmm \v 64
	.endr
.Ldone\@:
	.endm

// Flags from the context.
	.macro	load_flags
	push	%gs:CTX_RFLAGS
	popfq
	.endm

// General registers from the context, and on to its entry.
	.macro	load_integers
	mov	%gs:CTX_GPR+0x00, %rax
	mov	%gs:CTX_GPR+0x08, %rcx
	mov	%gs:CTX_GPR+0x10, %rdx
	mov	%gs:CTX_GPR+0x18, %rbx
	mov	%gs:CTX_GPR+0x20, %rsp
	mov	%gs:CTX_GPR+0x28, %rbp
	mov	%gs:CTX_GPR+0x30, %rsi
	mov	%gs:CTX_GPR+0x38, %rdi
	mov	%gs:CTX_GPR+0x40, %r8
	mov	%gs:CTX_GPR+0x48, %r9
	mov	%gs:CTX_GPR+0x50, %r10
	mov	%gs:CTX_GPR+0x58, %r11
	mov	%gs:CTX_GPR+0x60, %r12
	mov	%gs:CTX_GPR+0x68, %r13
	mov	%gs:CTX_GPR+0x70, %r14
	mov	%gs:CTX_GPR+0x78, %r15
	jmp	*%gs:CTX_ENTRY
	.endm

// .. to the context, but for rax and rsp.
	.macro	store_others
	mov	%rcx, %gs:CTX_GPR+0x08
	mov	%rdx, %gs:CTX_GPR+0x10
	mov	%rbx, %gs:CTX_GPR+0x18
	mov	%rbp, %gs:CTX_GPR+0x28
	mov	%rsi, %gs:CTX_GPR+0x30
	mov	%rdi, %gs:CTX_GPR+0x38
	mov	%r8, %gs:CTX_GPR+0x40
	mov	%r9, %gs:CTX_GPR+0x48
	mov	%r10, %gs:CTX_GPR+0x50
	mov	%r11, %gs:CTX_GPR+0x58
	mov	%r12, %gs:CTX_GPR+0x60
	mov	%r13, %gs:CTX_GPR+0x68
	mov	%r14, %gs:CTX_GPR+0x70
	mov	%r15, %gs:CTX_GPR+0x78
	.endm

// All; C's stack.
	.macro	store_integers
	mov	%rsp, %gs:CTX_GPR+0x20
	mov	%gs:CTX_HOST_RSP, %rsp
	pushfq
	pop	%gs:CTX_RFLAGS
	cld
	testl	$0x40000, %gs:CTX_RFLAGS
	jz	2f			// C does not align all it reads: AC is the guest's
	push	$0x202
	popfq
2:
	mov	%rax, %gs:CTX_GPR+0x00
	store_others
	.endm

// In. The vector and x87 state is the guest's from then on if \state is 1; if it is 2, vectors are, and the rest
// was all the time.
	.macro	enter_guest	state
	endbr64
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %gs:CTX_HOST_RSP
	testl	$CTX_LACKS_FSGSBASE | CTX_HAS_NO_FS, %gs:CTX_LACKS
	jnz	1f
	rdfsbase %rax
	mov	%rax, %gs:CTX_HOST_FS
1:
	.if	\state == 2
	move_vectors 0
	.elseif	\state
	testl	$CTX_LACKS_XSAVE, %gs:CTX_LACKS
	jnz	2f
	mov	%gs:CTX_XMASK, %rax
	mov	%rax, %rdx
	shr	$32, %rdx
	xrstor64 %gs:CTX_XSAVE
	jmp	3f
2:
	fxrstor64 %gs:CTX_XSAVE
3:
	.endif
	testl	$CTX_HAS_NO_FS, %gs:CTX_LACKS
	jnz	5f			// C's stays
	testl	$CTX_LACKS_FSGSBASE, %gs:CTX_LACKS
	jnz	4f
	mov	%gs:CTX_FS_BASE, %rax
	wrfsbase %rax
	jmp	5f
4:
	set_fs	%gs:CTX_FS_BASE
5:
	load_flags
	load_integers
	.endm

// Out, likewise.
	.macro	leave_guest	state
	store_integers
	testl	$CTX_HAS_NO_FS, %gs:CTX_LACKS
	jnz	4f
	testl	$CTX_LACKS_FSGSBASE, %gs:CTX_LACKS
	jnz	3f			// then the guest cannot have changed it
	rdfsbase %rax
	mov	%rax, %gs:CTX_FS_BASE
	mov	%gs:CTX_HOST_FS, %rax
	wrfsbase %rax
	jmp	4f
3:
	set_fs	%gs:CTX_HOST_FS
4:
	.if	\state == 2
	move_vectors 1
	testl	$4, %gs:CTX_XMASK
	jz	1f
	vzeroupper
1:
	.elseif	\state
	testl	$CTX_LACKS_XSAVE, %gs:CTX_LACKS
	jnz	5f
	mov	%gs:CTX_XMASK, %rax
	mov	%rax, %rdx
	shr	$32, %rdx
	xsave64	%gs:CTX_XSAVE
	testb	$1, %gs:CTX_XSAVE+512
	jz	8f			// the x87 is as fninit leaves it
	jmp	6f
5:
	fxsave64 %gs:CTX_XSAVE
6:
	testl	$CTX_LACKS_X87_PLACE, %gs:CTX_LACKS
	jz	7f
	cmpq	$0, %gs:CTX_XSAVE+8
	jne	7f			// with an exception pending it is saved
	sub	$32, %rsp
	fnstenv	(%rsp)
	mov	12(%rsp), %eax		// instruction
	mov	20(%rsp), %ecx		// operand
	movzwl	18(%rsp), %edx		// opcode
	mov	%rax, %gs:CTX_XSAVE+8
	mov	%rcx, %gs:CTX_XSAVE+16
	mov	%dx, %gs:CTX_XSAVE+6
	add	$32, %rsp
7:
	// C wants the ABI's state: x87 empty, mxcsr with every exception masked.
	fninit
8:
	push	$0x1f80
	ldmxcsr	(%rsp)
	pop	%rax
	testl	$4, %gs:CTX_XMASK
	jz	1f			// a host without AVX
	vzeroupper
1:
	.endif
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.endm

	.globl	dec_enter
	.type	dec_enter, @function
dec_enter:
	enter_guest 1
	.size	dec_enter, . - dec_enter

	.globl	dec_enter_integer
	.type	dec_enter_integer, @function
dec_enter_integer:
	enter_guest 0
	.size	dec_enter_integer, . - dec_enter_integer

	.globl	dec_enter_quick
	.type	dec_enter_quick, @function
dec_enter_quick:
	enter_guest 2
	.size	dec_enter_quick, . - dec_enter_quick

	.globl	dec_exit
dec_exit:
	leave_guest 1

	.globl	dec_exit_integer
dec_exit_integer:
	leave_guest 0

	.globl	dec_exit_quick
dec_exit_quick:
	leave_guest 2

// C says where it goes on, and uses general registers alone.
	.macro	door	function
	store_integers
	sub	$8, %rsp
	call	\function@PLT
	mov	%rax, %gs:CTX_ENTRY
	testl	$CTX_TURNED, %gs:CTX_RFLAGS
	jnz	1f
	movb	%gs:CTX_RFLAGS+1, %al		// popfq takes longer than this
	movb	%gs:CTX_RFLAGS, %ah
	and	$8, %al
	add	$0x78, %al			// OF
	sahf
	jmp	2f
1:
	load_flags
2:
	load_integers
	.endm

	.globl	dec_wary_door
dec_wary_door:
	door	dec_guard_door

// The same where AC and DF are clear: the other flags are moved alone.
	.globl	dec_door
dec_door:
	mov	%rsp, %gs:CTX_GPR+0x20
	mov	%gs:CTX_HOST_RSP, %rsp
	mov	%rax, %gs:CTX_GPR+0x00
	lahf
	seto	%al
	push	%rax
	store_others
	call	dec_guard_door@PLT
	mov	%rax, %gs:CTX_ENTRY
	pop	%rax
	add	$0x7f, %al			// OF
	sahf
	load_integers

	.globl	dec_stop_door
dec_stop_door:
	door	dec_engine_at_stop_door

	.globl	dec_miss
dec_miss:
	mov	%r11, %gs:CTX_IND
	mov	%gs:CTX_SPILL, %r11
	mov	%gs:CTX_SPILL+8, %rcx
	movl	$DEC_EXIT_INDIRECT, %gs:CTX_EXIT_ID
	jmp	*%gs:CTX_COMMON

// Where the fault handler returns to. Debuggers know it by these very bytes.
	.globl dec_sigreturn
	.type dec_sigreturn, @function
dec_sigreturn:
	mov	$15, %rax
	syscall
	.section .note.GNU-stack, "", @progbits
