#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Process 1 of a guest (see init): what a program expects of a machine, then the command of
# /run/kernels/command, whose output and status the host reads there.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
export LC_ALL=C.UTF-8 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
ulimit -c 0
cd / || exit 1
setsid bash /run/kernels/command >/run/kernels/smoke.log 2>&1 </dev/null
echo $? >/run/kernels/status
# Nothing can be read any more once devices are shut down, this file neither.
{
	sync
	echo o >/proc/sysrq-trigger
	while :; do :; done
}
