#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# make deb: Debian packages that lintian has nothing against, each with its files; what is
# unpacked from all of them works together.
# time limit: 400
. tests/lib.sh

need dh help2man lintian make python3
grep -qs -e -fsanitize= "$BUILD/.flags" && skip "a sanitizer's library is no package's"
grep -qx "faultline ($("$FAULTLINE" --version | cut -d' ' -f2)) .*" debian/changelog ||
	fail "debian/changelog is of another version: $(head -n 1 debian/changelog)"
env -u MAKEFLAGS DEB_BUILD_OPTIONS=noautodbgsym DPKG_DEB_COMPRESSOR_LEVEL=0 make -s -o "$BUILD/faultline" \
	-o "$BUILD/libfaultline.so.0" O="$BUILD" deb >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
mv "$BUILD"/deb/*.deb "$TMPDIR"
rm -rf "$BUILD/deb"
cd "$TMPDIR" || exit 1
[ "$(echo *.deb | wc -w)" = 5 ] || fail "not five packages: $(echo *.deb)"
lintian --allow-root --fail-on error,warning ./*.deb >lint 2>&1 || fail "$(cat lint)"

# has PACKAGE FILE... - a package has such files.
has() {
	local package=$1 file
	shift
	dpkg-deb -c "$package"_*.deb >list || fail "no package $package"
	for file; do
		grep -q " \./$file\( -> .*\)\?$" list || fail "$package has no $file: $(cat list)"
	done
}
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
has faultline usr/bin/faultline usr/share/man/man1/faultline-record.1.gz \
	usr/share/bash-completion/completions/faultline usr/share/faultline/specs/avl.spec
has libfaultline0 "$lib/libfaultline.so.0"
has libfaultline-dev usr/include/faultline.h "$lib/libfaultline.so" "$lib/pkgconfig/faultline.pc"
has python3-faultline usr/lib/python3/dist-packages/faultline.py
has faultline-doc usr/share/doc/faultline-doc/spec-language.md.gz usr/share/doc/faultline-doc/whowrote.py

for package in *.deb; do
	dpkg-deb -x "$package" root || fail "$package cannot be unpacked"
done
need_bpf
"$TMPDIR/root/usr/bin/faultline" record -o true.flt -- /bin/true 2>err || fail "$(cat err)"
PYTHONPATH=root/usr/lib/python3/dist-packages LD_LIBRARY_PATH=root/$lib python3 - <<'EOF' || fail "the module"
import faultline
with faultline.Capture("true.flt") as capture, capture.machine() as machine:
    assert machine.seek().is_end
EOF
exit 0
