# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# pointers.pl SEED N [KIND] - an assembler program of N functions, each of random instructions that move pointers
# to two blocks about: registers, vectors, flags, the stack, the blocks themselves, calls of the allocator. Behind each of
# them memory is read at what is in a register, if that is within the heap: whether it is in the block that it
# was made of, or another, or in one that is gone, is for others to find out. KIND parts: also by indices, and written
# (what was there), for blocks that are structs; and there are rounds. KIND threads: three of them share the functions
# and the heap.
#
# r14 and r15 hold the blocks.
use strict;
use warnings;

my ($seed, $n, $kind) = (@ARGV, '');
my ($parts, $threads) = ($kind eq 'parts', $kind eq 'threads');
srand $seed;

# Can the processor load and store under a mask?
my $masks = do { local (@ARGV, $/) = ('/proc/cpuinfo'); my $flags = <>; $flags =~ /avx512bw/ && $flags =~ /avx512vl/ };

my %short = (rax => 'eax', rcx => 'ecx', rdx => 'edx', rsi => 'esi', rdi => 'edi', rbp => 'ebp',
	r14 => 'r14d', r15 => 'r15d');
$short{"r$_"} = "r${_}d" for 8 .. 13;
my @reg = qw(rax rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13);
my @block = qw(r14 r15);
my $size = 160;

# An access at what is in register $d, which is in the heap.
sub look {
	my ($d) = @_;
	my $at = pick(0, 0, 8, 120, 152, 159, 160, 176, -8, -24);
	if ($masks && !$parts && rand() < 0.1) {
		my ($lane, $v) = (pick('8', '16', '32', '64'), pick('xmm6', 'ymm6', 'zmm6'));
		my $mask = pick(0, 1, 3, 0xf, 0xff, 0xffff, 0xffff0000, 0xfffffffe, 0xffffffff, 2, 0xf0);
		return "mov ebx, $mask\nkmovq k1, rbx\n" . pick("vmovdqu$lane $v\{k1}{z}, [$d+$at]\n",
			"vmovdqu$lane $v\{k1}, [$d+$at]\n", "vpcmpub k2{k1}, $v, [$d+$at], 4\n",
			"vmovdqu$lane $v\{k1}, [$d+$at]\nvmovdqu$lane [$d+$at]{k1}, $v\n");
	}
	return "cmp byte ptr [$d+$at], 0\n" if rand() < ($parts ? 0.2 : 0.9);
	if (!$parts || rand() < 0.15) {
		my $call = pick('call strlen@plt', 'mov rsi, rdi; mov edx, K; call memmove@plt', 'mov rsi, r15; mov edx, K; call memcmp@plt');
		$call =~ s/K/pick(4, 8, 32, 33, 40, 120, 128, 160)/e;
		return "lea rdi, [$d+$at]\n" . join("\n", split /; /, $call) . "\n";
	}
	my ($width, $scale) = @{ pick(['byte', 1], ['byte', 1], ['word', 2], ['dword', 4], ['qword', 8]) };
	my $op = rand() < 0.6 ? 'or' : 'cmp';
	$at = pick(0, 0, 0, 4, 8, 16, 24, 32, 40, 72, 80, 84, -8, -16);
	return "$op $width ptr [$d+$at], 0\n" if rand() < 0.4;
	my $i = pick(0, 1, 2, 3, 4, 5, 8, 12, 16, -1, -2, 30, 40);
	return "mov rbx, $i\n" . (rand() < 0.5 ? "$op $width ptr [$d+rbx*$scale+$at], 0\n" : "$op $width ptr [rbx+$d+$at], 0\n");
}

sub pick { $_[rand @_] }
sub small { pick(0, 1, 8, 16, 24, 40, 64, 120, 159, 160, 168, 200, 264, -1, -8, -16, -48) }
sub place {
	my $at = 8 * int rand 8;
	$at += pick(1, 4) if rand() < 0.1;
	return '[' . pick('rsp', 'rsp', 'r14', 'r15') . "+$at]";
}

# D: the register that is read through then. S, T: others, or a block. I: a small number. M, N: places. X, Y: vectors.
my @op = (
	('mov D, S') x 4, ('mov D, M') x 6, ('mov M, S') x 6, ('mov M, S; mov D, M') x 3,
	('lea D, [S+I]') x 4, ('add D, I') x 3, ('sub D, I') x 3,
	'lea D, [S+T]', 'lea D, [S+T+I]', 'lea D, [S+T*8]', 'lea d, [s+I]', 'lea d, [s+t]',
	('add D, S') x 2, ('sub D, S') x 3, 'adc D, S', 'sbb D, S', 'sbb D, I', 'neg D', 'not D',
	'inc D', 'dec D', 'and D, -16', 'or D, 8', 'xor D, 8', 'xor D, S', 'and D, -4096', 'imul D, S, 1',
	'imul D, S, 8', 'shl D, 3', 'shr D, 3', 'shl D, 8; shr D, 8', 'rol D, 16', 'ror D, 16', 'bswap D',
	'bswap D; bswap D', 'rorx D, S, 0', 'andn D, S, T', 'bts D, 3', 'btr D, 3', 'shld D, S, 0', 'shrd D, S, 4',
	'xchg D, S2', 'xchg D, M', 'xadd D, S2', 'xadd M, D', 'lock xadd M, D', 'cmpxchg M, D', 'cmpxchg D, S2',
	'cmp S, T; cmova D, S', 'cmp S, T; cmovbe D, M', 'cmp S, T; cmove d, s', 'test S, S; cmovz D, S',
	'push S; pop D', 'push M; pop D', 'push S; pop D; push D; pop M', 'movbe D, M', 'movbe M, D',
	'mov d, s', 'mov d, M', 'mov M, s', 'movsxd D, s', 'movsxd D, dword ptr M', 'movzx d, byte ptr M',
	'movzx D, word ptr M', 'mov byte ptr M, 0', 'mov qword ptr M, 0', 'mov dword ptr M, I', 'xor d, d',
	'mov d, I', 'mov D, I', 'mov eax, dword ptr M; mov dword ptr N, eax',
	('add D, M') x 2, ('sub D, M') x 2, 'add M, S', 'sub M, S', 'adc M, S', 'sbb M, S', 'and D, M', 'and M, S',
	'xor D, M', 'or D, M', 'or M, S', 'add qword ptr M, I', 'sub qword ptr M, I', 'inc qword ptr M',
	'dec qword ptr M', 'neg qword ptr M', 'not qword ptr M', 'and qword ptr M, -16', 'xor qword ptr M, 8',
	'shl qword ptr M, 1', 'imul D, M, 1', 'lock add qword ptr M, I', 'add d, I', 'sub d, I', 'add d, s',
	'sub d, s', 'add dword ptr M, I', 'add byte ptr M, 8', 'mul S', 'cqo',
	('movq X, S') x 3, ('movq D, X') x 4, 'movq X, M', 'movq M, X', 'movd d, X', 'movd X, s',
	('movups X, M') x 3, ('movups M, X') x 3, 'movaps X, Y', 'movhps X, M', 'movhps M, X', 'movlps M, X', 'movsd X, M', 'movlps X, M', 'movhpd X, M', 'vmovq X, M', 'vmovsd X, M', 'cmp S, T; cmovns D, M', 'mov rsi, r14; mov rdi, r15; movsq; mov D, rdi',
	'pinsrq X, S, 1', 'pinsrq X, M, 0', 'pextrq D, X, 1', 'pextrq D, X, 0', 'pextrq M, X, 1', 'pshufd X, Y, 0x4e',
	'pshufd X, Y, 0xee', 'punpcklqdq X, Y', 'punpckhqdq X, Y', 'movhlps X, Y', 'movlhps X, Y', 'palignr X, Y, 8',
	'paddq X, Y', 'psubq X, Y', 'paddd X, Y', 'psubd X, Y', 'pxor X, Y', 'pxor X, X', 'por X, Y', 'pand X, Y', 'psrldq X, 8',
	'pslldq X, 8', 'psllq X, 3', 'psrlq X, 3', 'paddq X, M16', 'shufpd X, Y, 1', 'pcmpeqd X, X', 'paddq X, X',
	'movddup X, Y', 'movddup X, M', 'vpbroadcastq XY, X', 'vmovups XY, M', 'vmovups M, XY', 'vpermq XY, YY, 0x1b',
	'vextracti128 X, YY, 1', 'vinserti128 XY, YY, Y, 1', 'vpaddq XY, YY, YY', 'vpsubq X, Y, X', 'vmovq X, S',
	'vpaddq X, Y, M', 'vzeroupper', 'vmovdqu X, M', 'vpinsrq X, Y, S, 1', 'vpblendd X, X, Y, 3', 'vpunpcklqdq X, Y, Y',
	'lea rsi, M; lea rdi, N; mov ecx, 3; rep movsq', 'lea rsi, M; lea rdi, N; mov ecx, 9; rep movsq',
	'lea rdi, M; mov ecx, 3; xor eax, eax; rep stosq', 'mov rdi, r14; mov ecx, 40; mov eax, 1; rep stosd',
	'lea rdi, M; mov ecx, 17; rep stosb', 'mov rdi, r15; mov rax, r14; mov ecx, 2; rep stosq; mov D, rdi',
	'lea rsi, M; lodsq', 'lea rdi, M; stosq', 'lea rsi, M; lea rdi, N; movsq', 'lea rsi, M; lea rdi, N; mov ecx, 24; rep movsb',
	'mov rsi, r14; lodsq; mov D, rsi', 'mov rdi, r14; stosq; mov D, rdi', 'lea rdi, M; lea rsi, N; mov edx, 64; call memmove@plt',
	'mov rdi, r15; mov esi, Z; call realloc@plt; mov r15, rax', 'mov rdi, r14; mov esi, Z; call realloc@plt; mov r14, rax',
	'mov rdi, r14; call free@plt; mov edi, Z; call malloc@plt; mov r14, rax', 'xor edi, edi; mov esi, 160; call realloc@plt; mov rdi, rax; call free@plt',
	'mov rdi, r15; call free@plt; mov esi, Z; mov edi, 1; call calloc@plt; mov r15, rax',
	'mov rdi, r15; xor esi, esi; call realloc@plt; mov edi, 64; mov esi, 192; call aligned_alloc@plt; mov r15, rax',
	'lea rdi, M; mov rsi, S; call copy', 'mov rdi, S; call same; mov D, rax',
	'pushfq; pop D', 'lahf', 'stc', 'setz D8', 'mov D8, 0', 'mov D16, I', 'add D8, 8', 'mov D8, M', 'xchg D16, S16', 'popcnt D, S', 'bextr D, S, T',
	'mov D, S; sub D, r14; add D, r15', 'mov D, r14; sub D, r15; lea D, [r15+D]', 'mov D, r15; sub D, S; add D, T',
	'mov D, S; and D, -32; sub D, S; add D, S', 'mov D, S; sub D, M; add D, M',
);

# .. by an index that is another in each round.
push @op, ('mov rbx, [rsp+136]; imul rbx, rbx, E; lea D, [S+rbx+K]') x 4,
	('mov rbx, [rsp+136]; imul rbx, rbx, E; mov D, r15; add D, rbx') x 2,
	('mov rbx, [rsp+136]; imul rbx, rbx, E; lea D, [r14+rbx+K]') x 4 if $parts;
push @op, map { "mov ebx, I; kmovq k1, rbx; $_" } ('vmovdqu8 X{k1}, M', 'vmovdqu8 XY{k1}{z}, M', 'vmovdqu64 X{k1}, M',
	'vmovdqu64 M{k1}, XY', 'vmovdqu8 M{k1}, X', 'vpaddq X{k1}, Y, M') if $masks;

push @op, ('call sched_yield@plt') x 20, ('movq X, S; call sched_yield@plt; movq D, X') x 40 if $threads;

sub low8 {
	my $r = shift;
	return "${r}b" if $r =~ /^r\d/;
	return "${1}l" if $r =~ /^r([acd])x$/;
	return substr($r, 1) . 'l';
}
sub low16 { my $r = shift; return $r =~ /^r\d/ ? "${r}w" : substr($r, 1) }

sub instruction {
	my ($op) = @_;
	my $d = pick(@reg);
	my ($s, $t, $s2) = (pick(@reg, @block, @block), pick(@reg, @block), pick(@reg));
	my ($x, $y) = map { int rand 6 } 1, 2;
	my ($m, $n) = (place(), place());
	my %text = (D => $d, S => $s, T => $t, S2 => $s2, d => $short{$d}, s => $short{$s}, t => $short{$t}, M => $m, N => $n,
		X => "xmm$x", Y => "xmm$y", XY => "ymm$x", YY => "ymm$y", D8 => low8($d), D16 => low16($d), S16 => low16($s2),
		M16 => '[rsp+' . (16 * int rand 4) . ']');
	$op =~ s/\bI\b/small()/ge;
	$op =~ s/\bE\b/pick(8, 12, 12, 16, 16)/ge;
	$op =~ s/\bK\b/pick(8, 8, 60, 64, 68, 72, 88, 96, 104, 112)/ge;
	$op =~ s/\bZ\b/pick(160, 160, 168, 264, 1096)/ge;
	$op =~ s/\b(D8|D16|S16|S2|M16|XY|YY|[DSTdstMNXY])\b/$text{$1}/g;
	return ($d, $op);
}

print ".intel_syntax noprefix\n.text\n.globl main\n";
for my $f (1 .. $n) {
	print "f$f:\npush rbx\npush rbp\npush r12\npush r13\npush r14\npush r15\nsub rsp, 152\n";
	for my $r (@block) {
		print "mov edi, $size\ncall malloc\@plt\nmov $r, rax\n";
		print "mov qword ptr [$r+$_], 0\n" for map { 8 * $_ } 0 .. 19;
	}
	print "mov qword ptr [rsp+$_], 0\n" for map { 8 * $_ } 0 .. 15;
	print "pxor xmm$_, xmm$_\n" for 0 .. 5;
	print "mov $short{$_}, ", pick(0, 8, 16), "\n" for @reg;
	print "mov rbp, r14\nlea r13, [r15+16]\nmov rcx, r14\nmov [r14+8], r15\nmov [rsp+16], r14\nmovq xmm0, r15\nmov r12d, 1\n";
	print "mov qword ptr [rsp+136], ", pick(1, 2, 3), "\nround$f:\n" if $parts;
	for my $i (1 .. 12) {
		my ($d, $op) = instruction(pick(@op));
		my $l = "l${f}_$i";
		print join("\n", map { s/^ //r } split /;/, $op), "\n";
		# A step of its own before each: blocks of instructions are looked at as wholes.
		print rand() < 0.5 ? "jmp j$l\nj$l:\n" : '';
		print "mov rbx, $d\nsub rbx, lo[rip]\ncmp rbx, 90000\nja $l\n", look($d), "$l:\n";
	}
	print "dec qword ptr [rsp+136]\njnz round$f\n" if $parts;
	print "mov rdi, r14\ncall free\@plt\nmov rdi, r15\ncall free\@plt\n" if rand() < 0.7;
	print "add rsp, 152\npop r15\npop r14\npop r13\npop r12\npop rbp\npop rbx\nret\n";
}
print "copy: mov [rdi], rsi\nret\nsame: mov rax, rdi\nret\n";
for my $t (0 .. ($threads ? 2 : 0)) {
	print "work$t: push rbx\n";
	print map { "call f$_\n" } grep { !$threads || $_ % 3 == $t } 1 .. $n;
	print "xor eax, eax\npop rbx\nret\n";
}
print "main: push rbx\nsub rsp, 32\n";
print "mov edi, -8\nmov esi, 1\ncall mallopt\@plt\n" if $threads; # M_ARENA_MAX
print "mov edi, 2048\ncall malloc\@plt\nlea rax, [rax+1024]\nmov lo[rip], rax\n";
print "call work0\n" if !$threads;
for my $t ($threads ? (0 .. 2) : ()) {
	print "lea rdi, [rsp+8*$t]\nxor esi, esi\nlea rdx, work$t\[rip]\nxor ecx, ecx\ncall pthread_create\@plt\n";
}
print map { "mov rdi, [rsp+8*$_]\nxor esi, esi\ncall pthread_join\@plt\n" } $threads ? (0 .. 2) : ();
print "xor eax, eax\nadd rsp, 32\npop rbx\nret\n.bss\n.balign 8\nlo: .zero 8\n.section .note.GNU-stack, \"\"\n";
