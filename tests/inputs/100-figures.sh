#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Paper 002, section 4.1: Figures 4.2, 4.3 and 4.5, the text's examples, and the longer input of
# Figure 4.6, set by set. Sets are those of the input alone; offsets, with = for a strong one.
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0
cd "$TMPDIR" || exit 1
figures=$BUILD/tests/programs/figures sets=$BUILD/tests/programs/framesets
source=$SOURCE/tests/programs/figures.c

# ask CAPTURE [ARGUMENT...] - the answer, which is kept, comes into json.
ask() {
	local kept="answer $*"
	kept=${kept//[\/]/_}
	[ -f "$kept" ] || "$FAULTLINE" inputs "$@" --json >"$kept" 2>err || fail "$*: $(cat err)"
	cp "$kept" json
}

# roles CAPTURE INPUT ROLE [ARGUMENT...] - the set.
roles() {
	local capture=$1 input=$2 role=$3
	shift 3
	ask "$capture" "$@"
	jq -r --arg input "$input" --arg role "$role" '[.inputs[] | select(.name == $input) |
		.bytes[] | select(.[$role]) | "\(.offset)\(if .[$role] == "strong" then "=" else "" end)"] |
		join(" ")' json
}

# says WANT CAPTURE INPUT ROLE ARGUMENT...
says() {
	local want=$1 got
	shift
	got=$(roles "$@") || exit 1
	[ "$got" = "$want" ] || fail "$*: '$got', not '$want'"
}

# at PLACE VAR - the arguments that ask about VAR at the line that says PLACE.
at() {
	echo "--at figures.c:$(grep -n "// $1\$" "$source" | cut -d: -f1)${3:-} $2"
}

# chain CAPTURE INPUT OFFSET ARGUMENT... - `value(variable)' of each link.
chain() {
	local capture=$1 input=$2 offset=$3
	shift 3
	ask "$capture" "$@"
	jq -r --arg input "$input" --argjson offset "$offset" '[.inputs[] | select(.name == $input) |
		.bytes[] | select(.offset == $offset) | .chain[] | "\(.value)(\(.variable))"] | join(" ")' json
}

# ---- Figure 4.3

make_capture sums "$figures" sums < <(printf '\003\361\000')
for want in 'posSum|0|0|' 'negSum|1|0 1|0'; do
	IFS='|' read -r var derived control address <<<"$want"
	says "$derived" sums stdin derived $(at "$var" "$var")
	says "$control" sums stdin control $(at "$var" "$var")
	says "$address" sums stdin address $(at "$var" "$var")
done

# ---- Figure 4.5

make_capture body "$figures" body < <(printf 'body\0')
says '4=' body stdin derived $(at seeBody seeBody)
says '0= 1= 2= 3= 4=' body stdin control $(at seeBody seeBody)
says '0 1 2 3' body stdin address $(at seeBody seeBody)
got=$(chain body stdin 4 $(at seeBody seeBody))
[ "$got" = '0(cmp) 9(tag) 1(seeBody)' ] || fail "chain: $got"

# Texts that the C library compared are tested exactly, and nothing behind them is.
says '0= 1= 2= 3= 4=' body argv control $(at seeBody seeBody)
[ "$(jq '[.inputs[] | select(.kind == "environment")] | length' json)" = 0 ] ||
	fail "the environment: $(cat json)"

# ---- the text's

make_capture strength "$figures" strength < <(printf 'A0B')
says '0=' strength stdin derived $(at copied y)
says '0' strength stdin derived $(at computed w)
says '1=' strength stdin derived $(at guarded w)
says '1=' strength stdin control $(at guarded w)
says '1=' strength stdin derived $(at mapped y)
[ "$(chain strength stdin 1 $(at mapped y))" = '1(y)' ] || fail "no chain of y: $(cat json)"
says '' strength stdin derived $(at indexed z)
says '2=' strength stdin address $(at indexed z)
says '2' strength stdin address $(at hashed w)
# A table's entry that only one byte leads to is as good as a comparison.
make_capture switch "$figures" switch < <(printf 'ce')
says '0=' switch stdin control $(at kind kind '#1')
[ "$(chain switch stdin 0 $(at kind kind '#1'))" = '13(kind)' ] || fail "switch: $(cat json)"
says '1' switch stdin control $(at kind kind '#2')

# ---- Figures 4.2 and 4.6

printf 'SSFFNBP"a"/P/BP"b"/P/N/S/S' >short
want_status=139 make_capture fig2 "$sets" short
says '1=' fig2 short derived
says '0= 1= 2 3 4= 5= 6 7 10 12= 13= 14=' fig2 short control
got=$(roles fig2 short address | tr -d =)
[ "$got" = '0 1 2 3 4 5 6 7 10 12 13 14' ] || fail "Figure 4.2, address: $got"
[ "$(chain fig2 short 1)" = '0(node->sibling)' ] || fail "Figure 4.2: $(cat json)"
printf 'H"t"/HSFFFSFFNP"a"/PP"b"/PBP"c"/PP"d"/P/BP"e"/PP"f"/P/N/S/S' >long
want_status=139 make_capture fig6 "$sets" long
says '10=' fig6 long derived
says '0 1 4 6= 7= 8= 9= 10= 11 12 13= 14 15 18 20 21 24 26= 27 28 31 33 34 37 39= 40= 41=' \
	fig6 long control

# ---- each of many calls looks at what it does

make_capture often "$figures" often < <(printf '%0150d' 0)
says "$(seq -s ' ' 0 149)" often stdin derived $(at length length)

# ---- files that are read in another order than they were opened in

echo one >first
echo two >second
make_capture files dash -c 'exec 3<first 4<second; read x <&4; read y <&3; [ $x$y = twoone ] && echo yes'
ask files --at write
for file in first:o second:t; do
	[ "$(jq -r --arg name "${file%:*}" '.inputs[] | select(.name == $name) | .bytes[0].text' json)" = \
		"${file#*:}" ] || fail "$file: $(jq -c '[.inputs[].name]' json)"
done

# ---- text, a page, mistakes

"$FAULTLINE" inputs fig2 --role derived >out || fail "no text"
grep -q '"S" = -> 0 (node->sibling, framesets.c:[0-9]*)' out && ! grep -q control out || fail "$(cat out)"
"$FAULTLINE" inputs fig2 --html page.html || fail "no page"
grep -q 'class="c s">N</a>' page.html && grep -q 'node-&gt;sibling' page.html || fail "$(cat page.html)"
expect_status 2 "$FAULTLINE" inputs fig2 --at framesets.c:1
expect_error 'no statement'
expect_status 2 "$FAULTLINE" inputs fig2 --role other
expect_status 2 "$FAULTLINE" inputs body
expect_error 'no signal ended'
exit 0
