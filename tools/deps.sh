#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# deps.sh [LIST...] - install the Debian packages named in LIST (one a line; default
# tools/packages.txt) that are missing. Asks nothing; when all is there it does nothing
# and prints nothing.
set -euo pipefail

lists=("$@")
[ ${#lists[@]} -gt 0 ] || lists=("$(dirname "$0")/packages.txt")

is_installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
	echo "deps: this is no Debian system; install the equivalents of: " \
	     "$(cat "${lists[@]}" | tr '\n' ' ')" >&2
	exit 0 # the build itself tells what is still missing
fi

missing=()
while read -r package _; do
	case $package in '' | '#'*) continue ;; esac
	is_installed "$package" || missing+=("$package")
done < <(sort -u "${lists[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: cannot install: ${missing[*]}: not root, and there is no sudo" \
		     "(run as root: apt-get install ${missing[*]})" >&2
		exit 1
	fi
	if ! sudo -n true 2>/dev/null && ! { : </dev/tty; } 2>/dev/null; then
		echo "deps: cannot install: ${missing[*]}: sudo wants a password, and there is no" \
		     "terminal to ask for it (run 'sudo -v' or 'make deps' in a terminal, or as" \
		     "root: apt-get install ${missing[*]})" >&2
		exit 1
	fi
	as_root=(sudo)
	# Asked here, where it shows: below, what sudo says goes to a log.
	sudo true || {
		echo "deps: cannot install: ${missing[*]}: sudo refuses (see above)" >&2
		exit 1
	}
fi

echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
     -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
log=$(mktemp)
policy=/usr/sbin/policy-rc.d
trap 'rm -f "$log"' EXIT
# Servers among the packages (redis, nginx) are for the tests, which start their own:
# without this, Debian starts each one as a service when it is installed.
if [ ! -e "$policy" ]; then
	trap '"${as_root[@]}" rm -f "$policy"; rm -f "$log"' EXIT
	printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
	"${as_root[@]}" chmod +x "$policy"
fi
"${apt[@]}" update >"$log" 2>&1 </dev/null || {
	# An unreachable mirror is fatal only when the packages cannot be had either.
	echo "deps: apt-get update failed; trying with the package lists at hand" >&2
}
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null
then
	cat "$log" >&2
	echo "deps: cannot install: ${missing[*]} (see above)" >&2
	exit 1
fi
