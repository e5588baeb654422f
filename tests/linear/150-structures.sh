#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Structures as they are written: those of specs/concurrent get the answer of the paper's table 6.2, or
# none; the pairs of the Michael-Scott queue are those of its figure 6.5. Mutants that lose atomicity,
# an order or a test are caught by an execution; none that is proven is broken by one, and what is
# printed can be followed. Mistakes in a file are told where they are.
. tests/lib.sh
specs=specs/concurrent

# check FILE STATUS ANSWER
check() {
	expect_status "$2" "$FAULTLINE" linear --pairs "$1"
	grep -q "sub-operations: $3 (" "$TMPDIR/out" || fail "$1: $(cat "$TMPDIR/out")"
}
# The pairs are those that were written down once: a row a sub-operation, a column each that follows.
written() {
	awk '/^  before / { moves[++m] = substr($0, 3); next }
	/^  [A-Za-z_]+ [0-9]+, / {
		split(substr($0, 3), part, /, |: /)
		if (!(part[1] in row)) { row[part[1]] = ++n; name[n] = part[1] }
		c = / not orderable$/ ? "." : /, reversible$/ ? "r" : /one operation ends/ ? "b" : "n"
		cells[row[part[1]]] = cells[row[part[1]]] c
	}
	END {
		for (i = 1; i <= n; i++) printf "%-22s %s\n", name[i], cells[i]
		for (i = 1; i <= m; i++) print moves[i]
	}' "$TMPDIR/out" >"$TMPDIR/pairs"
	grep -v '^#' tests/linear/pairs/$1.pairs | diff - "$TMPDIR/pairs" >"$TMPDIR/diff" ||
		fail "$1: its pairs are not those written down: $(cat "$TMPDIR/diff")"
}
for structure in ms-queue dglm-queue two-lock-queue treiber-stack pair-snapshot rdcss elimination-stack \
	time-stamped-stack orvyy-set vy-cas-set vy-dcas-set hhlmss-set; do
	check $specs/$structure.steps 0 linearizable
	written $structure
done
check $specs/herlihy-wing-queue.steps 2 'not known'
written herlihy-wing-queue
grep -q '^but no execution of up to 4 operations breaks it' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# Figure 6.5: d is Enqueue 1, e Enqueue 2, f Dequeue_nonempty, h Dequeue_empty.
"$FAULTLINE" linear --pairs $specs/ms-queue.steps | sed -n 's/^  //p' |
	sed 's/Enqueue 1/d/g; s/Enqueue 2/e/g; s/Dequeue_nonempty 1/f/g; s/Dequeue_empty 1/h/g' |
	sed 's/: not orderable$/ no/; s/: orderable, reversible$/ reversible/; s/: orderable.*$/ yes/; s/, //' |
	sort >"$TMPDIR/pairs"
printf '%s\n' dd\ no de\ no dh\ no ee\ no eh\ no he\ no hf\ no df\ reversible fe\ reversible \
	ed\ yes ef\ yes fd\ yes ff\ yes fh\ yes hd\ yes hh\ yes | sort >"$TMPDIR/figure"
diff "$TMPDIR/figure" "$TMPDIR/pairs" >"$TMPDIR/diff" || fail "figure 6.5: $(cat "$TMPDIR/diff")"

# mutant STRUCTURE SED-SCRIPT: an execution breaks it.
n=0
mutant() {
	sed "$2" $specs/$1.steps >"$TMPDIR/m.steps"
	cmp -s $specs/$1.steps "$TMPDIR/m.steps" && fail "$1: '$2' changes nothing"
	expect_status 1 "$FAULTLINE" linear --json --operations 3 "$TMPDIR/m.steps"
	grep -q '"answer":"not linearizable"' "$TMPDIR/out" || fail "$1: '$2': $(cat "$TMPDIR/out")"
	grep -q '"proven":false' "$TMPDIR/out" || fail "$1: '$2' is proven, and broken"
	n=$((n + 1))
}
for structure in ms-queue dglm-queue; do
	for split in 's/> N = X.next;/>\n\t1 N = X.next;/' 's/v = N.value; Q.head/\n\t1 v = N.value; Q.head/' \
		's/ Q.head = N;$/\n\t1 Q.head = N;/'; do
		mutant $structure "/^Dequeue_nonempty/,/^Dequeue_empty/ $split"
	done
done
for split in 's/> N = T.next;/>\n\t1 N = T.next;/' 's/v = T.value; Top/\n\t1 v = T.value; Top/' \
	's/ Top = N;$/\n\t1 Top = N;/'; do
	mutant treiber-stack "$split"
done
for change in 's/ x_version = x_version + 1;//' 's/ n = x_version;//' 's/< x_version == n; > //' \
	's/a = x; n = x_version;/a = x;\n\t1 n = x_version;/' 's/1 b = y;/1 n = x_version; b = y;/'; do
	mutant pair-snapshot "$change"
done
mutant herlihy-wing-queue 's/> v = AR.0.; AR.0. = 0;/> v = AR[0];\n\t1 AR[0] = 0;/'

# A push without compare-and-swap loses another: four operations show it.
sed 's/^\t1 < Top == T; > X.next = T; Top = X;/\t1 T = Top; X.next = T;\n\t1 Top = X;/' $specs/treiber-stack.steps >"$TMPDIR/m.steps"
check "$TMPDIR/m.steps" 1 'not linearizable'

# A dequeue that finds what an enqueue is about to put in cannot have found it before: nobody had made it. Nor
# is what a push has not given to others found by a pop, with whatever conditions.
mutant ms-queue '/^Dequeue_empty/,$ s/Q.head == X; Q.tail == X;/Q.tail != X;/'
sed -e 's/> X.next = T; Top = X;/> X.next = T;\n\t1 Top = X;/' -e 's/< Top == T; T != NULL; > N/< Top != T; T != NULL; > N/' \
	$specs/treiber-stack.steps >"$TMPDIR/m.steps"
expect_status 2 "$FAULTLINE" linear --operations 3 "$TMPDIR/m.steps"
grep -q '^but no execution of up to 3 operations breaks it' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# One that has written and waits for ever is no part of an order that is proven: an add that looks at the key
# when it has written, and a write that ends unless somebody shuts, of which no execution tells.
mutant vy-cas-set '/^Add_yes/,/^Add_no/ { /C.key > k/d; s/P.next = X;$/P.next = X;\n\t1 < C.key > k; > READ C.key;/ }'
printf '%s\n' 'int x;' 'int shut;' 'Initialize()' '	1 x = 0; shut = 0;' 'Write(int to)' '	1 < shut == 0; > x = to;' \
	'	1 < shut == 0; > READ shut;' 'Shut()' '	1 shut = 1;' 'Read()' '	int v;' '	GIVES v;' '	1 v = x;' >"$TMPDIR/x.steps"
for before in false true; do
	expect_status 2 "$FAULTLINE" linear --derived "$TMPDIR/waits" "$TMPDIR/x.steps"
	grep -q '^no execution of up to 4 operations breaks it' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	grep -q 'x.steps:7: one that has written may wait here for ever' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
done

# The picture of an execution: who, which line, what.
sed 's/^\t1 < Top == T; T != NULL; > N.*/\t1 < Top == T; T != NULL; > N = T.next; v = T.value;\n\t1 Top = N;/' \
	$specs/treiber-stack.steps >"$TMPDIR/m.steps"
expect_status 1 "$FAULTLINE" linear "$TMPDIR/m.steps"
grep -q 'Pop_nonempty  *line 20  *1 Top = N;$' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# The same as a picture; why two cannot change places.
expect_status 1 "$FAULTLINE" linear --svg "$TMPDIR/m.svg" "$TMPDIR/m.steps"
[ "$(grep -c '<rect' "$TMPDIR/m.svg")" = "$(grep -c 'line [0-9]' "$TMPDIR/out")" ] || fail "$(cat "$TMPDIR/m.svg")"
grep -q '>1 Top = N;</text>' "$TMPDIR/m.svg" || fail "$(cat "$TMPDIR/m.svg")"
expect_status 0 "$FAULTLINE" linear --explain $specs/pair-snapshot.steps
grep -A3 '^why Read_pair 2 and then Write_y 1 ' "$TMPDIR/out" |
	grep -q 'in the other order b of Read_pair may be another' || fail "$(cat "$TMPDIR/out")"

# What was derived is found again by the text, and a file that is something else is not believed.
for before in false true; do
	expect_status 2 "$FAULTLINE" linear --json --derived "$TMPDIR/derived" \
		$specs/{rdcss,treiber-stack,herlihy-wing-queue}.steps
	[ "$(grep -c "\"derived_before\":$before" "$TMPDIR/out")" = 3 ] || fail "$before: $(cat "$TMPDIR/out")"
	sed 's/"derived_before":[a-z]*,//; s/"seconds":[^,]*,//' "$TMPDIR/out" >"$TMPDIR/out.$before"
done
cmp -s "$TMPDIR/out.false" "$TMPDIR/out.true" || fail "what was derived tells something else"
sed '/^Push/a\	int other;' $specs/treiber-stack.steps >"$TMPDIR/x.steps"
expect_status 0 "$FAULTLINE" linear --json --derived "$TMPDIR/derived" "$TMPDIR/x.steps"
grep -q '"derived_before":false' "$TMPDIR/out" || fail "another text: $(cat "$TMPDIR/out")"
sed -i 's/Push/Posh/' "$TMPDIR/derived"
expect_status 2 "$FAULTLINE" linear --derived "$TMPDIR/derived" $specs/treiber-stack.steps
expect_error 'is no file of derived pairs, or was altered'

# What is never done is told, and proves nothing.
printf 'int x;\nInitialize()\n\t1 x = 0;\nF()\n\t1 < x == 1; > x = 1;\n' >"$TMPDIR/x.steps"
check "$TMPDIR/x.steps" 2 'not known'
grep -q 'x.steps:5: this is never done' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
printf 'int x;\nF()\n\t1 y = 1;\n' >"$TMPDIR/x.steps"
expect_status 2 "$FAULTLINE" linear "$TMPDIR/x.steps"
expect_error 'x.steps:3:4: error: there is no variable of this name'
printf 'struct s { int a };\ns g;\nF()\n\t1 g.b = 1;\n' >"$TMPDIR/x.steps"
expect_status 2 "$FAULTLINE" linear "$TMPDIR/x.steps"
expect_error "struct 's' has no such field"
printf 'struct s { int a };\ns g;\nF()\n\t1 < g == 1; > g.a = 1;\n' >"$TMPDIR/x.steps"
expect_status 2 "$FAULTLINE" linear "$TMPDIR/x.steps"
expect_error 'x.steps:4:.*a pointer is compared with a number that is not NULL'
printf 'int x;\n' >"$TMPDIR/x.steps"
expect_status 2 "$FAULTLINE" linear "$TMPDIR/x.steps"
expect_error 'there are no operations'
expect_status 2 "$FAULTLINE" linear "$TMPDIR"
expect_error 'say which object'
expect_status 2 "$FAULTLINE" linear --operations 9 $specs/rdcss.steps
grep -q 'takes a number from 2 to 5' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
exit 0
