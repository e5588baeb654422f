#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# python3 importing json and re.
# time limit: 300
. tests/lib.sh

# Not a wrapper that may stand before it in PATH.
python=/usr/bin/python3
[ -x $python ] || skip "python3 is not installed"
cat >"$TMPDIR/script.py" <<"END"
import json
import re
import sys

rows = [{"id": i, "name": "node%d" % (i * 7919 % 1009), "next": i + 1} for i in range(3000)]
text = json.dumps(rows, indent=1, sort_keys=True)
names = re.findall(r"\"name\": \"(node\d+)\"", text)
again = json.loads(text)
print(sys.version_info[:2], len(text), len(set(names)), again[17], hash("seed"))
print(re.sub(r"(\d+)", lambda m: str(int(m.group(1)) * 2), text[:400]))
END
record_and_replay "$python" "$TMPDIR/script.py"
