#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# screenshots.sh BUILD - the pages that faultline makes of the list example, as pictures in
# BUILD/screenshots, for somebody to look at: each in the light, in the dark, in a narrow window.
set -euo pipefail

build=$(realpath "$1") out=$(realpath "$1")/screenshots
rm -rf "$out"
mkdir -p "$out"
as_root=()
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
	as_root=(sudo)
fi
status=0
"${as_root[@]}" "$build/faultline" record -o "$out/capture" -- "$build/examples/list-O2" >"$out/log" 2>&1 || status=$?
[ $status -lt 125 ] || [ $status -gt 127 ] || { cat "$out/log"; exit 1; }
spec=examples/list/list.spec
"$build/faultline" report "$out/capture" --spec $spec -o "$out/report.html"
"$build/faultline" graph "$out/capture" --spec $spec --html "$out/heap.html"
"$build/faultline" inputs "$out/capture" --at crash --html "$out/inputs.html"

shot() { # page#state name size options...
	HOME=$out chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=8000 \
		--user-data-dir="$out/profile" --window-size="$3" --screenshot="$out/$2.png" "${@:4}" \
		"file://$out/$1" >/dev/null 2>&1
}
# Headless, a window is never narrower than 500 pixels.
for page in report.html 'report.html#view=inputs' 'report.html#view=heap' 'report.html#view=gdb' heap.html inputs.html; do
	name=$(sed 's/\.html//; s/#view=/-/' <<<"$page")
	shot "$page" "$name" 1400,900
	shot "$page" "$name-dark" 1400,900 --blink-settings=preferredColorScheme=0
	shot "$page" "$name-narrow" 500,1000
done
rm -rf "$out/profile"
ls "$out"/*.png
