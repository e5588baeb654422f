#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A sample of `bench repair': 80 versions with faults of the 40 programs of paper 004, table 2. All are
# repaired; all faults are under suspicion, the first of a version within 12 % of its program in nine of ten.
. tests/lib.sh

need python3
"$FAULTLINE" bench repair --quick --seeds 1-2 --json "$TMPDIR/json" >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	fail "$(cat "$TMPDIR/err")"
python3 - "$TMPDIR/json" <<'P' || fail "$(cat "$TMPDIR/out")"
import json, sys

of = {}
for row in json.load(open(sys.argv[1]))["rows"]:
    of.setdefault(row["metric"], []).append(row["runs"][0])
works = range(len(of["versions"]))
n = sum(of["versions"])
share = lambda what: sum(of[what][i] * of["versions"][i] for i in works) / n
print(n, {what: round(share(what), 1) for what in of})
assert n >= 79, "versions"
assert share("repaired") == 100 and share("located") == 100
assert share("tests right") > 75, "patches that are right only for what was drawn"
assert share("suspects") < 30 and share("found in 12 %") > 95 and share("all in 12 %") > 96, "everything is suspected"
assert share("12 % of it") > 65, "within the function"
assert share("Tarantula 25 %") < share("found in 12 %")
P
exit 0
