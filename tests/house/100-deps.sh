#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The dependency step does nothing and prints nothing when all is there.
. tests/lib.sh

need dpkg-query
expect_status 0 tools/deps.sh
[ ! -s "$TMPDIR/out" ] && [ ! -s "$TMPDIR/err" ] || fail "it printed $(cat "$TMPDIR/out" "$TMPDIR/err")"
# A package that does not exist is an error, named.
echo "no-such-package-of-faultline" >"$TMPDIR/list"
mkdir "$TMPDIR/bin"
printf "#!/bin/sh\nexit 100\n" >"$TMPDIR/bin/apt-get"
cp "$TMPDIR/bin/apt-get" "$TMPDIR/bin/sudo"
chmod +x "$TMPDIR/bin/"*
PATH=$TMPDIR/bin:$PATH expect_status 1 tools/deps.sh "$TMPDIR/list"
grep -q no-such-package-of-faultline "$TMPDIR/err" || fail "the package is not named"

# Not root, sudo wants a password, and nobody can be asked: that is the cause, and is said.
cat >"$TMPDIR/bin/sudo" <<'EOF'
#!/bin/sh
echo "sudo: a password is required" >&2
exit 1
EOF
printf "#!/bin/sh\necho 1000\n" >"$TMPDIR/bin/id"
chmod +x "$TMPDIR/bin/"*
PATH=$TMPDIR/bin:$PATH expect_status 1 setsid --wait tools/deps.sh "$TMPDIR/list"
grep -q "^deps: cannot install: no-such-package-of-faultline: sudo wants a password, and there is no terminal" \
	"$TMPDIR/err" || fail "no cause: $(cat "$TMPDIR/err")"
# It refuses though it was asked.
printf '#!/bin/sh\n[ "$1" = -n ] || { echo "sudo: you may not" >&2; exit 1; }\n' >"$TMPDIR/bin/sudo"
PATH=$TMPDIR/bin:$PATH expect_status 1 setsid --wait tools/deps.sh "$TMPDIR/list"
grep -q "sudo: you may not" "$TMPDIR/err" && grep -q "sudo refuses" "$TMPDIR/err" ||
	fail "no cause: $(cat "$TMPDIR/err")"

# The README begins with what a bare Debian lacks for its first two commands.
for program in git make; do
	sed -n '/^On Debian/,/make demo/p' README.md | grep -q "apt-get install .*\<$program\>" ||
		fail "the README does not say to install $program"
done
