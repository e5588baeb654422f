#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Paper 002, section 4.2: the running example of 59 bytes, 10 by roles, then 7; against ddmin.
# IDTHDD* is 1-minimal. Without a crash to go back from it goes by the text alone, and says so.
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0
cd "$TMPDIR" || exit 1
sets=$BUILD/tests/programs/framesets

# reduce METHOD CAPTURE ARGUMENT... - its JSON is in json, its result in METHOD/.
reduce() {
	local method=$1
	shift
	rm -rf "$method"
	"$FAULTLINE" reduce --method "$method" -o "$method" --no-record --json "$@" >json 2>err ||
		fail "$method $*: $(cat err)"
	[ "$(jq .verified json)" = 3 ] || fail "$method: $(cat json)"
}

printf 'H"t"/HSFFFSFFNP"a"/PP"b"/PBP"c"/PP"d"/P/BP"e"/PP"f"/P/N/S/S' >in
want_status=139 make_capture c "$sets" in
reduce ddmin c
ddmin=$(jq .runs json) size=$(jq .bytes json)
reduce idthdd c
[ "$(jq .bytes_after_roles json)" = 10 ] || fail "by roles: $(cat json)"
[ "$(cat idthdd/in)" = SSNB/BP ] || fail "idthdd: $(cat idthdd/in)"
runs=$(jq .runs json)
[ "$runs" -le 20 ] && [ $((runs * 5)) -lt "$ddmin" ] && [ 7 -lt "$size" ] ||
	fail "$runs runs, ddmin: $ddmin, to $size bytes"
reduce 'idthdd*' c
[ "$(cat 'idthdd*/in')" = SSNB/BP ] && [ "$(jq .runs json)" -ge "$runs" ] || fail "idthdd*: $(cat json)"

# Longer, with much that does not matter, and paragraphs everywhere: 1-minimal all the same.
{
	printf 'H"t"/H'
	for ((i = 0; i < 3; i++)); do printf 'SFF'; done
	printf 'N'
	for ((i = 0; i < 40; i++)); do printf 'P"%d"/P' $((i % 10)); done
	printf 'B'
	for ((i = 0; i < 40; i++)); do printf 'P"%d"/P' $((i % 10)); done
	printf '/BP"x"/P/N/S/S/S'
} >long
want_status=139 make_capture d "$sets" long
reduce 'idthdd*' d
size=$(jq .bytes json)
for ((i = 0; i < size; i++)); do
	{
		head -c $i 'idthdd*/long'
		tail -c +$((i + 2)) 'idthdd*/long'
	} >less
	("$sets" less; exit $?) >/dev/null 2>&1
	[ $? != 139 ] || fail "byte $i of '$(cat 'idthdd*/long')' can go"
done
reduce ddmin d
[ "$size" -le "$(jq .bytes json)" ] || fail "$size bytes, ddmin: $(cat json)"

# All lines are parsed before one of them fails: the nearest ones are tried.
cat >lines.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
static char names[64][16];
static int values[64], n;
int main(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin) && n < 64) {
		if (line[0] < 'a' || line[0] > 'z' || !strchr(line, '='))
			return 1;
		sscanf(line, "%15[a-z]=%d", names[n], &values[n]);
		n++;
	}
	for (int i = 0; i < n; i++)
		if (values[i] == 4711)
			abort();
	return 0;
}
C
cc -g -O1 -o lines lines.c || fail "cannot compile"
for ((i = 0; i < 30; i++)); do echo "some=$i"; done >many
echo 'that=4711' >>many
for ((i = 0; i < 12; i++)); do echo "other=$i"; done >>many
want_status=134 make_capture l ./lines <many
reduce idthdd l
grep -q '=4711' idthdd/stdin && [ "$(jq .bytes json)" -le 8 ] ||
	fail "lines: $(cat json idthdd/stdin)"
runs=$(jq .runs json)
reduce ddmin l
[ "$(jq .runs json)" -gt $((runs * 2)) ] || fail "$runs runs, ddmin: $(cat json)"

# Records of a kind, a length, and contents that are gone over: they can go only as a whole.
cat >records.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	unsigned char b[4096];
	size_t n = fread(b, 1, sizeof(b), stdin);

	for (size_t i = 0; i + 2 <= n; i += 2 + b[i + 1]) {
		if (i + 2 + b[i + 1] > n)
			return 1;
		if (b[i] == 'x' && b[i + 1] > 8)
			abort();
	}
	return 0;
}
C
cc -g -O1 -o records records.c || fail "cannot compile"
for ((i = 0; i < 20; i++)); do printf 'a\x0c%012d' $i; done >kinds
printf 'x\x09123456789' >>kinds
want_status=134 make_capture k ./records <kinds
reduce idthdd k
runs=$(jq .runs json) size=$(jq .bytes json)
reduce ddmin k
[ "$size" -le 30 ] && [ $((runs * 2)) -lt "$(jq .runs json)" ] || fail "$runs runs, $size bytes; ddmin: $(cat json)"

# Nothing to go back from; and a place to go back from that the user names.
echo 'some words and a number: 17 and more' >words
cat >seventeen.sh <<'E'
#!/bin/sh
grep -q 17 "$1"
E
chmod +x seventeen.sh
make_capture e "$sets" words
reduce 'idthdd*' e --oracle ./seventeen.sh
grep -q 'note: no tree of dependences (no signal ended.*roles are not known' err || fail "nothing said: $(cat err)"
[ "$(cat 'idthdd*/words')" = 17 ] || fail "$(cat 'idthdd*/words')"
reduce idthdd c --at ParseBody

# A clause, none of whose words can go alone; a word that is as good without all that is around it.
echo 'get 3 from t where c is 5;get 17 from t where c is 5;' >clauses
echo '{"n":"17","m":"1","m":"200"}' >elements
cat >clauses.sh <<'E'
#!/bin/sh
grep -q 17 "$1" && ! tr ';' '\n' <"$1" | grep -Evxq '(get [0-9]+ from t( where c is 5)?)?'
E
cat >elements.sh <<'E'
#!/bin/sh
grep -Exq '17|\{"n":"17"(,"m":"[0-9]*")*\}' "$1"
E
chmod +x clauses.sh elements.sh
for what in 'clauses get 17 from t' 'elements 17'; do
	read -r file want <<<"$what"
	make_capture "$file.c" "$sets" "$file"
	reduce idthdd "$file.c" --oracle "./$file.sh"
	[ "$(tr -d ';\n' <"idthdd/$file")" = "$want" ] || fail "$file: $(cat "idthdd/$file")"
done
exit 0
