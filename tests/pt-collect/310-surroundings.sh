#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Where the kernel, or a container, does not let us record: one line that says what, why and
# what to do, status 125, no capture, and the program does not run. Where a container does, it
# records. (Yama and lockdown: tests/kernels/smoke.sh.)
. tests/lib.sh

need unshare
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to make its surroundings"
docker=$BUILD/tests/pt-collect/tool_docker
c=$TMPDIR/c

# refuse PATTERN COMMAND...
refuse() {
	local pattern=$1
	shift
	expect_status 125 "$@" "$FAULTLINE" record -o "$c" -- /bin/echo ran
	expect_error "$pattern"
	[ ! -s "$TMPDIR/out" ] || fail "the program ran: $*"
	[ ! -e "$c" ] || fail "a capture was left: $*"
}

refuse "cannot be read at '/sys/kernel/btf/vmlinux' \\(needs a kernel with CONFIG_DEBUG_INFO_BTF" \
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh
refuse 'PID namespace.*--pid=host' unshare --pid --fork --mount-proc
if unshare --user --map-root-user true 2>/dev/null; then
	refuse 'those of a user namespace' unshare --user --map-root-user
fi

# Containers: without the capabilities, with them below an old filter, with them.
refuse 'needs CAP_BPF, CAP_PERFMON, which root does not have here .*--cap-add=BPF' "$docker" -
refuse 'needs CAP_PERFMON, which root' "$docker" cap_bpf
refuse 'seccomp filter forbids bpf.*seccomp=unconfined' \
	env TOOL_DOCKER_OLD=1 "$docker" cap_bpf,cap_perfmon
for arguments in "" "-e heap" "-f"; do
	expect_status 0 "$docker" cap_bpf,cap_perfmon "$FAULTLINE" record $arguments -o "$c" -- \
		"$BUILD/tests/programs/rbtree" 300
	tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "not complete: $(cat "$TMPDIR/err")"
	cp "$TMPDIR/out" "$c.out"
	expect_status 0 "$docker" - "$FAULTLINE" replay --stdout "$c"
	cmp "$c.out" "$TMPDIR/out" || fail "another output in the container"
	rm -rf "$c"
done

# The flight recorder and what runs already are refused in the same words.
expect_status 125 unshare --pid --fork --mount-proc "$FAULTLINE" record --snapshot -o "$c" -- true
expect_error 'PID namespace'
sleep 60 &
expect_status 125 "$docker" - "$FAULTLINE" record -p $! -o "$c"
kill $!
expect_error 'needs CAP_BPF'
