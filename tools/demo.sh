#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# demo.sh BUILD - record the quad tree example, which has a seeded bug, analyze the
# capture and draw the structure it broke. Fails when no violation was found.
set -euo pipefail

build=$1 name=quad
example=examples/$name
out=$build/demo
rm -rf "$out"
mkdir -p "$out"

run() {
	echo "\$ $*"
	"$@"
}

# Recording loads BPF programs; the capture then belongs to whoever asked for the demo.
as_root=()
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
	as_root=(sudo)
fi

run "${as_root[@]}" "$build/faultline" record -o "$out/capture" -- "$build/$example-O0" || {
	status=$?
	[ $status -lt 125 ] || [ $status -gt 127 ] || exit $status
	echo "(the program ended with status $status)"
}
[ ${#as_root[@]} -eq 0 ] || sudo chown -R "$(id -u)" "$out/capture"
echo
status=0
run "$build/faultline" analyze "$out/capture" --spec "$example/$name.spec" \
	--svg "$out/broken.svg" || status=$?
echo
if [ $status -ne 1 ] || [ ! -s "$out/broken.svg" ]; then
	echo "demo: the seeded bug was not found (analyze exited $status)" >&2
	exit 1
fi
echo "Picture of the broken structure: $out/broken.svg"
