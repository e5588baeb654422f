#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# kernels.sh BUILD [PATTERN...] - run the smoke tests (tests/kernels/smoke.sh) on the kernels
# and CPU models of tests/kernels/rows, or on those rows whose name contains a PATTERN: each in
# a guest of its own under qemu, which sees this machine's root, BUILD and the sources, and can
# change nothing of it. Kernels are Debian's packages, downloaded with apt and unpacked into
# BUILD/kernels, not installed. Fails unless every row passes as many tests as it names. What
# each guest said stays in BUILD/kernels/ROW/; the tables of doc/kernels.md, if all rows were
# run, in BUILD/kernels/tables.md.
set -u

source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
build=$(realpath "$1") || exit 2
shift
rows=${FAULTLINE_KERNEL_ROWS:-$source/tests/kernels/rows}
place=$build/kernels
mirror=${FAULTLINE_DEBIAN_MIRROR:-http://deb.debian.org}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
modules=(virtio_pci 9p 9pnet_virtio overlay virtio_rng)
mkdir -p "$place" || exit 2

complain() {
	echo "kernels: cannot $*" >&2
}

# ---- kernels -----------------------------------------------------------------------

# apt SUITE COMMAND... - apt with a state of its own: this machine's does not change.
apt() {
	local state=$place/apt/$1 command=$2
	shift 2
	"apt-$command" -qq -o Dir::State="$state" -o Dir::State::lists="$state/lists" \
		-o Dir::State::status=/dev/null -o Dir::Cache="$state/cache" \
		-o Dir::Etc::sourcelist="$state/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= \
		-o APT::Architecture=amd64 -o APT::Architectures=amd64 "$@"
}

apt_update() { # suite
	local state=$place/apt/$1 archive=debian
	[ -e "$state/updated" ] && return
	case $1 in *-security) archive=debian-security ;; esac
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	echo "deb [signed-by=$keyring] $mirror/$archive $1 main" >"$state/sources.list"
	apt "$1" get update >"$state/log" 2>&1 && touch "$state/updated"
}

# newest_image SUITE SERIES - the package of the newest kernel of SERIES (any: the newest).
newest_image() {
	local series=${2//./\\.}
	[ "$2" = any ] && series='[0-9]+\.[0-9]+'
	apt "$1" cache pkgnames linux-image- |
		grep -E "^linux-image-$series(\.[0-9]+)?(\+[a-z0-9]+)?(-[0-9]+)?-amd64$" |
		sort -V | tail -n 1
}

# parts SUITE IMAGE - the packages that it consists of: since Linux 7 there are several.
parts() {
	echo "$2"
	apt "$1" cache depends "$2" | sed -n "s/^ *Depends: \(linux-[a-z]*-${2#linux-image-}\)$/\1/p"
}

# unpack FROM DIR - of the packages in FROM: the kernel, its configuration, and the modules a
# guest needs in the order of loading, uncompressed: insmod of busybox takes no others.
unpack() {
	local all=$2/all version file deb
	rm -rf "$2"
	mkdir -p "$all" "$2/modules"
	for deb in "$1"/*.deb; do
		dpkg-deb -x "$deb" "$all" || return 1
	done
	# Since trixie packages have no /lib.
	[ -d "$all/lib" ] || ln -s usr/lib "$all/lib"
	version=$(ls "$all/lib/modules")
	depmod -b "$all" "$version" || return 1
	for module in "${modules[@]}"; do
		modprobe -d "$all" -S "$version" --show-depends "$module" ||
			echo "builtin $module" # or this kernel does without
	done 2>/dev/null | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$2/needed"
	while read -r file; do
		cp "$file" "$2/modules"
	done <"$2/needed"
	for file in "$2"/modules/*.xz; do
		[ ! -e "$file" ] || xz -d "$file"
	done
	sed 's|.*/||; s|\.xz$||' "$2/needed" >"$2/modules/order"
	for file in vmlinuz config; do
		cp "$all/boot/$file-$version" "$2/$file" 2>/dev/null ||
			cp "$all/lib/modules/$version/$file" "$2/$file" || return 1
	done
	rm -rf "$all"
}

# get_kernel SUITE SERIES - leaves its directory in $kernel; downloads what is not there.
get_kernel() {
	local image
	kernel=
	apt_update "$1" || {
		complain "read the package lists of $1: $(tail -n 1 "$place/apt/$1/log")"
		return 1
	}
	image=$(newest_image "$1" "$2")
	[ -n "$image" ] || {
		complain "find a kernel $2 in $1"
		return 1
	}
	kernel=$place/${image#linux-image-}
	[ -e "$kernel/vmlinuz" ] && return
	echo "kernels: downloading $image"
	(cd "$place/apt/$1" && rm -f ./*.deb &&
		apt "$1" get download $(parts "$1" "$image")) >"$place/apt/$1/log" 2>&1 || {
		complain "download $image: $(tail -n 1 "$place/apt/$1/log")"
		return 1
	}
	unpack "$place/apt/$1" "$kernel" || {
		complain "unpack $image"
		rm -rf "$kernel"
		return 1
	}
	rm -f "$place/apt/$1"/*.deb
}

# make_initrd DIR
make_initrd() {
	local root=$1/root
	rm -rf "$root"
	mkdir -p "$root"/{bin,proc,sys,dev}
	cp /bin/busybox "$root/bin" && cp -r "$1/modules" "$root" &&
		cp "$source/tests/kernels/init" "$root/init" || return 1
	chmod 755 "$root/init"
	for applet in sh mount umount insmod mkdir poweroff switch_root; do
		ln -s busybox "$root/bin/$applet"
	done
	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$1/initrd"
	rm -rf "$root"
}

# ---- guests ------------------------------------------------------------------------

# accelerate - leaves in $accelerator what runs guests here: KVM where it truly does, as a guest
# says; /dev/kvm is there on machines that cannot, too.
accelerate() {
	[ -z "${accelerator:-}" ] || return 0
	accelerator=tcg,thread=single
	[ -w /dev/kvm ] || return 0
	timeout 20 qemu-system-x86_64 -accel kvm -cpu host -m 256 -nodefaults -display none \
		-no-reboot -serial "file:$place/kvm.log" -kernel "$1/vmlinuz" \
		-append 'console=ttyS0 panic=-1' >/dev/null 2>&1
	grep -q 'Linux version' "$place/kvm.log" 2>/dev/null && accelerator=kvm
	return 0
}

# boot DIR CPU PARAMETERS - in DIR is the command; its output and status come there, too.
boot() {
	local dir=$1 cpu=$2
	rm -f "$dir/status" "$dir/smoke.log" "$dir/console.log"
	cp "$source/tests/kernels/guest.sh" "$dir"
	timeout -k 5 "$guest_s" qemu-system-x86_64 -accel "$accelerator" -cpu "$cpu" -smp 2 \
		-m 3072 -nodefaults -display none -no-reboot -serial "file:$dir/console.log" \
		-kernel "$kernel/vmlinuz" -initrd "$kernel/initrd" \
		-append "console=ttyS0 panic=-1 oops=panic softlockup_panic=1 loglevel=7 $3" \
		-device virtio-rng-pci \
		-fsdev local,id=host,path=/,readonly=on,security_model=none,multidevs=remap \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-fsdev "local,id=out,path=$dir,security_model=none" \
		-device virtio-9p-pci,fsdev=out,mount_tag=out >"$dir/qemu.log" 2>&1
	[ $? != 124 ] || echo "kernels: the guest was ended after $guest_s s" >>"$dir/console.log"
}

# ---- rows --------------------------------------------------------------------------

is_wanted() { # name pattern...
	local name=$1 pattern
	shift
	[ $# -eq 0 ] && return 0
	for pattern; do
		case $name in *"$pattern"*) return 0 ;; esac
	done
	return 1
}

# names LIST - the tests of a comma-separated list, where `all`, `old` and `cpu` are groups.
names() {
	local name
	for name in ${1//,/ }; do
		case $name in
		all | old | cpu) sed -n "s/^# $name: //p" "$source/tests/kernels/smoke.sh" ;;
		*) echo "$name" ;;
		esac
	done | tr '\n' ' '
}

# prepare_row ROW SUITE SERIES CPU TESTS - its directory, with the command.
prepare_row() {
	local dir=$place/$1 emulated=
	[ "$2" = - ] || emulated='FAULTLINE_EMULATED=1 FAULTLINE_SMOKE_KEEP=/run/kernels/kept '
	rm -rf "$dir/kept"
	mkdir -p "$dir/kept"
	rm -f "$dir"/{status,smoke.log,console.log,release,seconds}
	names "$5" >"$dir/tests"
	echo "${emulated}bash '$source/tests/kernels/smoke.sh' '$build' $(cat "$dir/tests")" \
		>"$dir/command"
	if [ "$2" = - ]; then
		uname -r >"$dir/release"
	else
		get_kernel "$2" "$3" && accelerate "$kernel" && make_initrd "$kernel" || return 1
		basename "$kernel" >"$dir/release"
	fi
}

# run_row ROW SUITE SERIES CPU TESTS PARAMETERS
run_row() {
	local dir=$place/$1 start=$SECONDS
	if [ "$2" = - ]; then
		timeout -k 10 "$guest_s" bash "$dir/command" >"$dir/smoke.log" 2>&1 </dev/null
		echo $? >"$dir/status"
	elif [ -s "$dir/release" ]; then
		kernel=$place/$(cat "$dir/release")
		boot "$dir" "$4" "$6"
	fi
	echo $((SECONDS - start)) >"$dir/seconds"
}

# tell_row ROW - fails unless all its tests passed.
tell_row() {
	local dir=$place/$1 n status passed what
	n=$(wc -w <"$dir/tests")
	status=$(cat "$dir/status" 2>/dev/null)
	passed=$(tail -n 1 "$dir/smoke.log" 2>/dev/null)
	what="$1 ($(cat "$dir/release" 2>/dev/null || echo 'no kernel'), $(cat "$dir/seconds") s)"
	if [ "$status" = 0 ] && [ "$n" -gt 0 ] && [ "$passed" = "$n passed, 0 failed" ]; then
		echo "ok    $what: $n tests"
		return
	fi
	echo "FAIL  $what: ${status:-no status}, ${passed:-no output}"
	grep -A 12 '^FAIL' "$dir/smoke.log" 2>/dev/null
	# A guest that did not come to its end says why on the console.
	[ -n "$status" ] || tail -n 15 "$dir/console.log" 2>/dev/null
	return 1
}

# ---- tables ------------------------------------------------------------------------

# cell ROW TEST - how it ended there.
cell() {
	local line
	line=$(grep -E "^(ok   |FAIL ) $2 " "$place/$1/smoke.log" 2>/dev/null | tail -n 1)
	case $line in
	ok*) echo -n " yes |" ;;
	FAIL*) echo -n " **no** |" ;;
	*) echo -n " |" ;;
	esac
}

# table HEAD PATTERN - of rows that match, a column for each; a line for each test.
table() {
	local columns tests test row
	columns=$(awk -v p="$2" '/^[^#]/ && $1 ~ p { print $1 }' "$rows")
	tests=$(for row in $columns; do cat "$place/$row/tests"; done | tr ' ' '\n' | awk 'NF && !n[$1]++')
	echo "| $1 |$(for row in $columns; do echo -n " ${row#cpu-} |"; done)"
	echo "|---|$(for row in $columns; do echo -n "---|"; done)"
	echo "| kernel |$(for row in $columns; do echo -n " $(sed 's/-amd64//' "$place/$row/release") |"; done)"
	for test in $tests; do
		echo "| ${test//_/ } |$(for row in $columns; do cell "$row" "$test"; done)"
	done
}

tables() {
	echo "$(date +%F), faultline $(git -C "$source" describe --always --dirty --exclude '*')," \
		"on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) with Linux" \
		"$(uname -r); guests under $(qemu-system-x86_64 --version | head -n 1), $accelerator."
	echo
	table kernel '^(host|linux)'
	echo
	table 'CPU model' '^cpu-'
	echo
	table 'locked down' '^lockdown'
}

main() { # pattern...
	local line row suite series cpu tests parameters failed=0 n_rows=0 wanted=()
	guest_s=${FAULTLINE_GUEST_SECONDS:-900}
	rm -f "$place"/apt/*/updated
	mapfile -t lines < <(grep -v -e '^#' -e '^$' "$rows")
	for line in "${lines[@]}"; do
		read -r row suite series cpu tests parameters <<<"$line"
		is_wanted "$row" "$@" || continue
		wanted+=("$line")
		prepare_row "$row" "$suite" "$series" "$cpu" "$tests"
	done
	# The host's row first, and alone; then a guest for each CPU: qemu emulates with one.
	for line in "${wanted[@]}"; do
		read -r row suite series cpu tests parameters <<<"$line"
		[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
		if [ "$suite" = - ]; then
			run_row "$row" "$suite" "$series" "$cpu" "$tests" "$parameters"
		else
			run_row "$row" "$suite" "$series" "$cpu" "$tests" "$parameters" &
		fi
	done
	wait
	for line in "${wanted[@]}"; do
		n_rows=$((n_rows + 1))
		tell_row "${line%% *}" || failed=$((failed + 1))
	done
	[ $n_rows -gt 0 ] || complain "find a row named $*"
	[ $# -gt 0 ] || tables >"$place/tables.md"
	echo "$((n_rows - failed)) rows passed, $failed failed"
	[ $failed = 0 ] && [ $n_rows -gt 0 ]
}

main "$@"
exit # whatever has become of this file meanwhile
