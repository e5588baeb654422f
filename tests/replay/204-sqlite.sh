#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# sqlite3 inserting and querying 50,000 rows in a file.
# time limit: 300
. tests/lib.sh

need sqlite3
make_queries() {
	echo "create table t(id integer primary key, name text, weight real);"
	echo "begin;"
	awk 'BEGIN {
		for (i = 1; i <= 50000; i++) {
			x = (x * 1103515245 + 12345) % 2147483648
			printf "insert into t values(%d, \047name%d\047, %d.%d);\n", i, x % 9973, x % 100, i % 10
		}
	}'
	echo "commit;"
	echo "create index by_name on t(name);"
	echo "select count(*), sum(weight), min(name), max(name) from t;"
	echo "select name, count(*) c from t group by name order by c desc, name limit 10;"
	echo "select avg(a.weight) from t a join t b on a.name = b.name where a.id < 2000;"
}
make_queries >"$TMPDIR/queries.sql"
make_capture "$TMPDIR/c" sqlite3 "$TMPDIR/rows.db" ".read $TMPDIR/queries.sql"
grep -q "^50000|" "$TMPDIR/c.out" || fail "sqlite3 printed $(head -n 3 "$TMPDIR/c.out")"
rm "$TMPDIR/rows.db" "$TMPDIR/queries.sql"
replay_matches "$TMPDIR/c"
