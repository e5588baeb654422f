# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# To be read by build.sh and by tests: sources of Debian's packages. Lists and archives are kept in
# $cache, what apt says in $log; skip REASON is the reader's.

# The machine's own apt configuration stays as it is: lists, caches and sources are ours.
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$cache/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$cache/apt/lists" \
		-o Dir::Cache="$cache/apt/cache" -o Acquire::Retries=0 \
		-o Acquire::http::Timeout=20 "$@" >>"$log" 2>&1
}

# fetch PACKAGE DIRECTORY - its source as Debian has it, unpacked nowhere yet.
fetch() {
	command -v apt-get >/dev/null || skip "apt-get is not installed: not a Debian machine"
	mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial"
	if [ ! -e "$cache/apt/updated" ]; then
		release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
		echo "deb-src http://deb.debian.org/debian $release main" \
			>"$cache/apt/sources.list"
		apt -o APT::Update::Error-Mode=any update ||
			skip "no network: the Debian archive cannot be reached"
		touch "$cache/apt/updated"
	fi
	(cd "$2" && apt source --download-only "$1") ||
		skip "no network: the source of $1 cannot be got"
}
