#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The page of `faultline report` in a browser. The program says what is wrong with it: item 5 is freed
# and still linked; the pointer at the end is NULL since the list was made. What is on the page is
# walked through as a person would: from each thing that is wrong, by clicks alone, to the bytes of
# the input; by keys; in the dark, in a narrow window; and no error is told in the console. So are
# what altered runs of it told, and a race.
# time limit: 240
. tests/lib.sh
need cc chromium gojq
need_bpf
cd "$TMPDIR" || exit 1

cat >items.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { char name[16]; int weight; struct item *next; };
struct list { struct item *head; int count; };
static struct item *item_new(const char *name, int weight)
{
	struct item *i = malloc(sizeof(*i));
	strcpy(i->name, name);
	i->weight = weight; // weighed
	i->next = NULL;
	return i;
}
static void list_push(struct list *l, struct item *i)
{
	i->next = l->head; // linked
	l->head = i;
	l->count++;
}
static void list_drop(struct list *l, int weight)
{
	for (struct item *i = l->head; i; i = i->next)
		if (i->weight == weight) {
			free(i); // freed
			l->count--;
			return;
		}
}
static int list_sum(const struct list *l)
{
	int sum = 0;
	for (const struct item *i = l->head; i; i = i->next)
		sum += i->weight; // dangling
	return sum;
}
int main(int argc, char **argv)
{
	struct list l = {};
	char line[64], name[32];
	int weight;
	FILE *f = fopen(argv[argc - 1], "r");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "add %15s %d", name, &weight) == 2)
			list_push(&l, item_new(name, weight));
		else if (sscanf(line, "drop %d", &weight) == 1)
			list_drop(&l, weight);
	}
	printf("%d items, %d\n", l.count, list_sum(&l));
	printf("%c\n", l.head->next->next->next->name[0]); // crash
	return 0;
}
END
printf 'add apple 3\nadd banana 5\nadd cherry 7\ndrop 5\n' >in.txt
cc -g -O0 -o items items.c || fail "cannot compile"
line_of() { grep -n "// $1" items.c | cut -d: -f1; }
want_status=139 make_capture c ./items in.txt
expect_status 0 "$FAULTLINE" report c -o page.html
[ ! -s out ] && [ ! -s err ] || fail "it talks: $(cat out err)"

# ---- what is in it is what the commands say

awk 'sub(/.*id="data">/, "") { on = 1 } on { end = sub(/<\/script>.*/, ""); print; if (end) exit }' page.html >whole.json
jq -e . whole.json >/dev/null || fail "the data are no JSON"
"$FAULTLINE" check c --json >check.json
[ "$(jq -c '[.findings[] | [.rule, .time, .at.line]]' check.json)" = \
	"$(jq -c '[.analysis.findings[] | [.rule, .time, .at.line]]' whole.json)" ] || fail "other findings than check's"
jq -e '.findings | length > 1' check.json >/dev/null || fail "nothing is wrong"
jq -e --argjson n "$(line_of weighed)" '[.stories[] as $s | $s.moments[] |
	select($s.places[.[0]][2] == $n) | .[5]] | index("n4.weight = 5") or index("i->weight = 5")' whole.json >/dev/null ||
	fail "no moment in which the weight was written: $(jq -c '[.stories[].moments[][5]]' whole.json | cut -c 1-600)"
jq -e '[.stories[].moments[] | select(.[1] > .[3])] | length > 20' whole.json >/dev/null || fail "hardly any moments"

# ---- walked through

cat >walk.js <<END
const dangling = $(line_of dangling), crash = $(line_of crash);
END
cat >>walk.js <<'END'
const must = (is, what) => { if (!is) throw new Error(what); };
const press = k => dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
const now = () => { const d = document.querySelector("#source .now b"); return d ? +d.textContent : 0; };
must(document.querySelectorAll("#list .finding").length === items.length && items.length >= 3, "what is wrong is not listed");
must(now() === crash, "not where it crashed: " + now());
must(document.querySelector("#list [aria-current=true]"), "nothing is current");
let walked = 0;
for (let k = 0; k < items.length; k++) {
	document.querySelectorAll("#list .finding")[k].click();
	const s = story();
	if (!s)
		continue;
	must(data.inputs[items[k].story].inputs.length, "no input had a part in it");
	must(now() === items[k].at.line, "not at its statement");
	// By clicks alone, from the root to an input that was read.
	let i = s.moments.findIndex(m => s.places[m[0]][3] && /read\(\)/.test(s.places[m[0]][0])), way = [];
	must(i >= 0, "its way does not lead to the input");
	for (; i >= 0 && i !== items[k].root; i = s.moments[i][3])
		way.unshift(i);
	for (const j of way) {
		const b = document.querySelector(`#links [data-moment="${j}"]`);
		must(b, "a moment cannot be reached");
		b.click();
		must(location.hash.includes(`moment=${j}&`), "the address does not follow");
	}
	must(document.querySelector("#what").textContent.includes("read()"), "an input is not told");
	for (let n = way.length; n; n--)
		press("ArrowLeft");
	must(state.moment === items[k].root, "Left does not go back to what needed it");
	// What was read had a part in several moments: each leads to it at once.
	const told = s.moments.flatMap((m, j) => s.made[j].some(([n]) => s.places[s.moments[n][0]][3] && /read\(\)/.test(s.places[s.moments[n][0]][0])) ? [j] : []);
	must(told.length >= 2, "what was read is told of one moment alone: " + told);
	go({ moment: told[told.length - 1], step: -1 });
	must(/read\(\)/.test(element("links").textContent), "what was read is not beside what was made of it");
	walked++;
}
must(walked >= 2, "hardly a story");
document.querySelectorAll("#list .finding")[0].click();
press("j");
must(state.item === 1, "J");
press("k");
must(state.item === 0, "K");
press("ArrowDown");
must(document.activeElement.closest("#links"), "Down");
const m = document.querySelector("#links [data-moment]");
m.focus();
press("ArrowRight");
must(state.moment === +m.dataset.moment, "Right");
const made = document.querySelector("#source .made");
must(made, "no line has what it made");
press("2");
must(/add/.test([...document.querySelectorAll("#bytes .strong")].map(e => e.textContent).join("")), "the input's strong bytes are not shown");
press("4");
must(/monitor seek \d+/.test(element("text").textContent), "no way to gdb");
press("1");
const last = items.findIndex(i => i.at && i.at.line === dangling);
must(last > 0, "the read of what was freed is not there");
must(document.documentElement.scrollWidth <= document.documentElement.clientWidth, "wider than the window");
for (const id of ["list", "what", "source", "links", "time"]) {
	const r = element(id).getBoundingClientRect();
	must(r.width > 100 && r.height > 10 && r.right <= document.documentElement.clientWidth + 1, id + " is cut");
}
must(document.querySelectorAll("#time rect").length >= 4 && document.querySelectorAll("#time path").length >= 2, "the time line is empty");
press("3");
const heap = await new Promise(done => { element("heap").onload = () => done(element("heap").contentDocument); });
must(heap.querySelectorAll(".node").length >= 2 && /apple/.test(heap.body.textContent), "the heap is not drawn");
// What somebody goes to beside the moments is in the address, too: the heap's changes, a place of the source.
const steps = element("heap").contentWindow, before = heap.getElementById("at").value;
steps.go(2);
must(/&heap=\d+/.test(location.hash), "the address has not the heap's change: " + location.hash);
const link = location.hash;
go({ view: "source" });
lookAt({ file: items[0].at.file, line: 3, function: "" });
must(now() === 3 && /place=/.test(location.hash), "the address has not the place");
const there = location.hash;
go({ item: 1 });
location.hash = there;
await new Promise(done => setTimeout(done, 50));
must(now() === 3, "the place is not found again: " + now());
location.hash = link;
await new Promise(done => setTimeout(done, 300));
must(heap.defaultView === element("heap").contentWindow && heap.getElementById("at").value === "2" && before !== "2", "the heap's change is not found again");
END
in_browser() { # width height options...
	local width=$1 height=$2
	shift 2
	{
		cat page.html
		echo "<script>onerror = e => parent.postMessage(String(e), '*'); (async () => {"
		cat walk.js
		echo "})().then(() => 'well', e => e.message).then(t => parent.postMessage(t, '*'));</script>"
	} >driven.html
	cat >frame.html <<-END
		<iframe src="driven.html" width="$width" height="$height"></iframe>
		<script>onmessage = e => { if (typeof e.data === "string") document.title = e.data; };</script>
	END
	HOME=$TMPDIR chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=20000 \
		--window-size=1500,1000 --user-data-dir="$TMPDIR/profile" --enable-logging=stderr "$@" \
		--dump-dom "file://$PWD/frame.html" >dom 2>browser.err
	grep -q '<title>well</title>' dom || fail "at $width: $(grep -o '<title>.*</title>' dom)"
	! grep CONSOLE browser.err || fail "the console has errors"
}
in_browser 1300 850
in_browser 1300 850 --blink-settings=preferredColorScheme=0
in_browser 420 800

# ---- what altered runs told, and threads

expect_status 1 "$FAULTLINE" suppress --json c
cp out suppressed.json
expect_status 1 "$FAULTLINE" rank --status 0 --json c
cp out ranked.json
mv page.html first.html
expect_status 0 "$FAULTLINE" report c --with suppressed.json --with ranked.json -o page.html
cat >walk.js <<END
const by = n => items.filter(i => i.by === n), line = $(jq .suppressed_last[0].line//.identified[0].line suppressed.json);
const weights = items.slice(1).map(i => i.weight);
END
cat >>walk.js <<'END'
const must = (is, what) => { if (!is) throw new Error(what); };
must(by("suppress").length && by("suppress")[0].at.line === line, "the first corruption is not told");
must(by("rank").length >= 3 && by("rank")[0].at.line > 0, "suspected statements are not told");
must(weights.join() === weights.slice().sort((a, b) => b - a).join(), "not ranked: " + weights);
for (const i of [...by("suppress"), by("rank")[0]]) {
	document.querySelectorAll("#list .finding")[items.indexOf(i)].click();
	must(+document.querySelector("#source .now b").textContent === i.at.line, "its line is not shown");
}
document.querySelectorAll("#list .finding")[items.indexOf(by("suppress")[0])].click();
must(/SIGSEGV here/.test(element("links").textContent), "the way there is not told");
END
in_browser 1300 850

cat >race.c <<'END'
#include <pthread.h>
static int counter;
static void *count(void *x)
{
	for (int i = 0; i < 10; i++)
		counter++;
	return x;
}
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
cc -g -O0 -pthread -o race race.c || fail "cannot compile"
make_capture raced ./race
expect_status 0 "$FAULTLINE" report raced -o page.html
cat >walk.js <<'END'
const must = (is, what) => { if (!is) throw new Error(what); };
must(items[state.item].rule === "RACE", "the race is not what is shown");
must(/two accesses/.test(element("links").textContent) && /thread \d+ writes 4 bytes, no lock held/.test(element("links").textContent),
	"both sides are not told: " + element("links").textContent);
must(new Set([...document.querySelectorAll("#time .thread")].map(e => e.getAttribute("fill"))).size >= 3, "threads are not in the time line");
document.querySelectorAll("#links button")[1].click();
must(document.querySelector("#source .now"), "the other side is not shown");
END
in_browser 1300 850

expect_status 2 "$FAULTLINE" report raced --with suppressed.json -o x.html
expect_error "another run"
echo '{ "crashed": true, "steps": [1] }' >mistaken.json
for result in mistaken.json race.c; do
	expect_status 2 "$FAULTLINE" report c --with $result -o x.html
	expect_error "$result"
done

# ---- what has no story, and mistakes

make_capture well /bin/true
expect_status 0 "$FAULTLINE" report well -o well.html
grep -q '"findings":\[\]' well.html || fail "something is wrong with /bin/true"
cat >many.c <<'END'
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 500; i++)
		free(malloc(i));
	return 0;
}
END
cc -O0 -s -o many many.c || fail "cannot compile"
make_capture many.flt ./many
expect_status 0 "$FAULTLINE" report many.flt -o many.html
for what in alloc free; do
	n=$(grep -o "\"$what\":\[[0-9,]*\]" many.html | tr -dc '0-9,' | tr ',' '+')
	[ $((n)) -ge 500 ] || fail "of 500 the time line has $((n)): $what"
done
expect_status 0 "$FAULTLINE" report c -o -
untimed() { sed 's/"phases":{[^}]*}//' "$1"; }
cmp -s <(untimed out) <(untimed first.html) || fail "another page to stdout"
expect_status 2 "$FAULTLINE" report nothing -o x.html
expect_error "nothing"
expect_status 2 "$FAULTLINE" report c --spec missing.spec -o x.html
expect_error "missing.spec"
[ ! -e x.html ] || fail "a page of nothing"
exit 0
