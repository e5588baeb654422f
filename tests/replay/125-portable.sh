#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --portable: what runs in the replay is x86-64-v2 at most, also in a library that
# asks cpuid by itself; and with glibc's tunables where cpuid does not trap.
. tests/lib.sh

need openssl gcc jq
newer='^(AVX|FMA|F16C|BMI2|XSAVE|SHA|AES|PCLMUL|VAES|GFNI|LZCNT|MOVBE|ADX|RD)'
make_text 1 >"$TMPDIR/text"

isa() {
	jq -r '.isa[]' "$1.json"
}

RECORD+=(--portable)
record_and_replay openssl sha256 "$TMPDIR/text"
isa "$TMPDIR/c" | grep -qx SSE2 || fail "no SSE2: $(isa "$TMPDIR/c")"
isa "$TMPDIR/c" | grep -E "$newer" && fail "instructions that not every host has"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# The test can tell: without the option this host's own are used.
if grep -qw avx2 /proc/cpuinfo; then
	RECORD=("${RECORD[@]:0:${#RECORD[@]}-1}")
	record_and_replay openssl sha256 "$TMPDIR/text"
	isa "$TMPDIR/c" | grep -Eq "$newer" || fail "nothing newer without --portable"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
	RECORD+=(--portable)
fi

"${RECORD[@]}" -o "$TMPDIR/p" -p $$ 2>"$TMPDIR/err" && fail "-p and --portable go together"
grep -q 'cannot record with both -p and --portable' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# A CPU that cannot trap cpuid: what Linux answers there.
cat >"$TMPDIR/deny.c" <<'EOF'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_arch_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ, 0x1012 /* ARCH_SET_CPUID */, 0, 1),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | ENODEV),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 2;
	execvp(argv[1], argv + 1);
	return 3;
}
EOF
[ "${RECORD[0]}" != sudo ] || exit 0 # sudo would not work under such a filter
gcc -o "$TMPDIR/deny" "$TMPDIR/deny.c" || fail "gcc"
"$TMPDIR/deny" "${RECORD[@]}" -o "$TMPDIR/d" -- sort "$TMPDIR/text" >"$TMPDIR/d.out" \
	2>"$TMPDIR/d.err" || fail "record without cpuid traps: $(cat "$TMPDIR/d.err")"
grep -q 'changes GLIBC_TUNABLES' "$TMPDIR/d.err" || fail "not said: $(cat "$TMPDIR/d.err")"
grep -q 'cpuid is not recorded' "$TMPDIR/d.err" || fail "no gap: $(cat "$TMPDIR/d.err")"
replay_matches "$TMPDIR/d"
isa "$TMPDIR/d" | grep -E '^(AVX|FMA)' && fail "VEX code in spite of the tunables"
exit 0
