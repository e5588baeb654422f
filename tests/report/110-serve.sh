#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `report --serve` in a browser: the same page, in which any moment can be looked at. From the crash it is
# gone back, from what a statement used to where that came from, to the statement that spoiled the ledger of
# more than 10,000 entries; stories, errors and inputs are found out when they are asked for; the time line leads to
# any moment, the heap is as it was then; keys, history and address work as in the file. Others get nothing: who has not the token, comes by another name, or asks for something else.
# FAULTLINE_SERVE=full does that with a run of some 10^9 instructions and tells how long interactions took.
# time limit: 1800
. tests/lib.sh
need cc chromium python3 gojq
need_bpf
here=$PWD
cd "$TMPDIR" || exit 1
# The entry that is spoiled is in one of the last slots: what was summed up before has more moments than a story.
rounds=30000 slots=1024 bad=1000
[ "${FAULTLINE_SERVE:-}" != full ] || rounds=12200000

cat >ledger.c <<'END'
#include <stdio.h>
#include <stdlib.h>
struct entry { struct entry *next; long key, sum; };
struct ledger { struct entry *slot[SLOTS]; long count; };
static struct ledger *ledger;
static struct entry *find(long key)
{
	struct entry *e = ledger->slot[key % SLOTS];
	while (e && e->key != key)
		e = e->next;
	return e;
}
static void post(long key, long amount)
{
	struct entry *e = find(key);
	if (!e) {
		e = malloc(sizeof(*e));
		e->key = key;
		e->sum = 0;
		e->next = ledger->slot[key % SLOTS]; // linked
		ledger->slot[key % SLOTS] = e;
		ledger->count++;
	}
	e->sum += amount; // posted
}
static void drop(long key)
{
	struct entry **at = &ledger->slot[key % SLOTS], *e = *at;
	while (e && e->key != key) {
		at = &e->next;
		e = *at;
	}
	if (e) {
		*at = e->next;
		free(e);
		ledger->count--;
	}
}
int main(int argc, char **argv)
{
	long rounds = atol(argv[argc - 1]), seed = 1, bad;
	setbuf(stdout, NULL);
	ledger = calloc(1, sizeof(*ledger));
	if (scanf("%ld", &bad) != 1)
		return 1;
	for (long i = 0; i < rounds; i++) {
		seed = (seed * 1103515245 + 12345) & 0x7fffffff;
		if (seed >> 8 & 7)
			post(seed >> 11 & 16383, i);
		else
			drop(seed >> 11 & 16383);
	}
	printf("%ld\n", ledger->count);
	for (; !find(bad); bad++)
		;
	find(bad)->next = (struct entry *)bad; // spoiled
	for (int k = 0; k < SLOTS; k++)
		for (struct entry *e = ledger->slot[k]; e; e = e->next)
			seed += e->sum; // crash
	return seed & 1;
}
END
cc -g -O1 -DSLOTS=$slots -o ledger ledger.c || fail "cannot compile"
line_of() { grep -n "// $1" ledger.c | cut -d: -f1; }
echo $bad >in.txt
want_status=139 make_capture c ./ledger $rounds <in.txt
[ "$("$FAULTLINE" replay --stdout c 2>/dev/null)" -ge 10000 ] || fail "the ledger has less than 10,000 entries"

early=
"$FAULTLINE" report c --serve >served 2>served.err &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 8500); do
	if [ -z "$early" ] && early=$(grep -m 1 -o 'http://[^ ]*' served.err); then
		python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read(), u.urlopen(sys.argv[1] + "known").read())' \
			"$early" >waiting 2>&1
		grep -q until served.err || { grep -q 'comes by itself' waiting && grep -q '{"doing":"' waiting; } ||
			fail "who waits is told: $(cat waiting)"
	fi
	url=$(sed -n 's/.*\(http[^ ]*\) until.*/\1/p' served.err)
	[ -z "$url" ] || break
	kill -0 $server 2>/dev/null || fail "it does not serve: $(cat served.err)"
	sleep 0.2
done
[ "$url" = "$early" ] || fail "at another address: $early, $url"
[ -n "$url" ] || fail "it does not begin: $(cat served.err)"

# ---- others

port=$(sed 's,.*:\([0-9]*\)/.*,\1,' <<<"$url")
cat >others.py <<'END'
import http.client, sys
port, path = int(sys.argv[1]), "/" + sys.argv[2]
def status(method, at, host="127.0.0.1:%d" % port, body=None):
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request(method, at, body=body, headers={"Host": host})
    r = c.getresponse()
    text = r.read()
    assert r.status == 200 or not text, (at, text)
    return r.status
def must(want, *args):
    got = status(*args)
    assert got == want, (got, want, args)
other = path[:5] + ("0" if path[5] != "0" else "1") + path[6:]
for want, *args in (
    (200, "GET", path), (200, "GET", path, "localhost:%d" % port), (200, "GET", path + "here/100"),
    (403, "GET", "/"), (403, "GET", other), (403, "GET", path[:-1]), (403, "GET", path, "evil.example"),
    (403, "GET", path, "127.0.0.1"), (403, "GET", path, "127.0.0.1:%d" % (port ^ 1)),
    (403, "GET", path + "../" + path), (405, "POST", path), (405, "POST", path, "localhost:%d" % port, "x"),
    (404, "GET", path + "here/"), (404, "GET", path + "here/1x"), (404, "GET", path + "here/01"),
    (404, "GET", path + "here/18446744073709551616"), (404, "GET", path + "here/18446744073709551615"),
    (404, "GET", path + "here/1/2"), (404, "GET", path + "origin/1"), (404, "GET", path + "origin/1/99"),
    (404, "GET", path + "page"), (404, "GET", path + "?x"), (404, "GET", path, "localhost:%d" % port, "x")):
    if args[1].find("../") >= 0:
        want = 404
    must(want, *args)
END
python3 others.py "$port" "$(sed 's,.*://[^/]*/,,' <<<"$url")" 2>said || fail "it answers otherwise: $(tail -n 1 said)"
expect_status 2 "$FAULTLINE" report c --serve="$port"
expect_error "port $port"
[ "$(wc -l <err)" = 1 ] || fail "not one line: $(cat err)"
expect_status 2 "$FAULTLINE" report c --serve -o x.html
ss -Hltn 2>/dev/null | grep ":$port " | grep -v "127.0.0.1:$port" && fail "it listens elsewhere, too"

# ---- in a browser

cat >walk.js <<END
const many = $([ "${FAULTLINE_SERVE:-}" = full ] && echo 25 || echo 16);
const spoiled = $(line_of spoiled), crash = $(line_of crash), posted = $(line_of posted), linked = $(line_of linked);
END
cat >>walk.js <<'END'
const must = (is, what) => { if (!is) throw new Error(what); };
const times = [];
// Do it, and wait until it is in sight.
const act = async (what, f) => {
	const begun = performance.now();
	f();
	for (let before; before !== settled;)
		await (before = settled);
	await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
	times.push([what, performance.now() - begun]);
};
const press = k => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
const now = () => { const d = document.querySelector("#source .now b"); return d ? +d.textContent : 0; };
const used = text => [...document.querySelectorAll("#links [data-used]")].find(b => b.textContent.includes(text));
const click = e => e.dispatchEvent(new MouseEvent("click", { bubbles: true }));
for (let before; before !== settled;)
	await (before = settled);
must(data.served && now() === crash, "not at the crash: " + now());
for (let i = items.length; i--;)
	await act("item", () => document.querySelectorAll("#list .finding")[i].click());

// Of what crashed it is told what it was about to use.
must(used("e"), "what the crash used is not told: " + element("links").textContent);

// What takes long is found out when somebody asks.
if (!(await ask("known")).length)
	must(!story() && items.length === 1, "something was found out that nobody asked for");
await findOut(`story/${data.time.end}`);
await findOut("wrong");
must(items.length > 1, "no error was found: " + element("list").textContent);
await findOut(`inputs/${data.time.end}`);
await act("inputs", () => go({ view: "inputs" }));
must(element("bytes").textContent.includes("stdin"), "no input: " + element("bytes").textContent);
await act("source", () => go({ view: "source" }));

// Back from the crash, by its story.
const found = await (async () => {
	for (let i = story().moments.length; i--;) {
		const p = story().places[story().moments[i][PLACE]];
		if (p[2] === spoiled)
			return i;
	}
	return -1;
})();
must(found >= 0, "the story does not lead to what spoiled it");
await act("moment", () => go({ moment: found, step: -1 }));
must(now() === spoiled, "not where it was spoiled: " + now());
must(used("bad"), "what was stored there is not told: " + element("links").textContent);
await act("origin", () => click(used("bad")));
must(state.at >= 0 && location.hash.includes(`at=${state.at}`), "the origin is not gone to");
const origin = state.at;
history.back();
await new Promise(done => setTimeout(done, 300));
await settled;
must(state.at < 0 && now() === spoiled, "Back does not lead back");
history.forward();
await new Promise(done => setTimeout(done, 300));
await settled;
must(state.at === origin, "Forward does not lead forward");

// Anywhere: the time line, and from there on back.
const line = element("time"), box = line.getBoundingClientRect();
let walked = 0, seed = 7;
for (let k = 0; k < many; k++) {
	seed = seed * 16807 % 2147483647;
	await act("time line", () => line.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.left + 65 + seed / 2147483647 * (box.width - 75), clientY: box.top + 40 })));
	must(state.at >= 0, "the time line leads nowhere");
	for (let n = 0; n < 4; n++) {
		const all = [...document.querySelectorAll("#links [data-used]")], b = all[n % Math.max(1, all.length)], at = state.at;
		if (!b)
			break;
		await act("origin", () => click(b));
		walked += state.at !== at;
	}
}
// A moment in three uses nothing that comes from anywhere; which ones are met is chance.
must(walked > many / 2, "hardly anything leads on: " + walked);

// The heap, as it was there.
for (let k = 0; k < 2; k++) {
	const at = Math.floor(data.time.end * (k + 1) / 3);
	go({ at, view: "source" });
	await settled;
	await act("heap", () => press("3"));
	const heap = element("heap").contentWindow, number = element("heap").contentDocument.getElementById("at").value;
	const step = heap.goToTime(at);
	must(number === element("heap").contentDocument.getElementById("at").value, "it was at another change");
	must(step <= at && at - step < data.time.end / 50, "the heap is not that of the instant: " + step + " at " + at);
}
must(element("heap").contentDocument.querySelectorAll(".node").length > 2, "the heap is not drawn");
const header = element("heap").contentDocument.querySelector("header");
must(header.scrollWidth <= header.clientWidth, "the heap's header is wider than the window");
must(element("heap").clientHeight > innerHeight / 2, "the heap is too low: " + element("heap").clientHeight);
must(/farther ones are left out/.test(element("heap").contentDocument.getElementById("where").textContent), "it is not said that nodes are left out");
const fetched = () => performance.getEntriesByType("resource").filter(e => /heap\/\d+$/.test(e.name)).length, before_near = fetched();
go({ at: element("heap").contentWindow.goToTime(state.at) - 1, view: "heap" });
await settled;
must(before_near > 0 && fetched() === before_near, "what is near is fetched again");
const heap = element("heap").contentWindow;
await act("search", () => {
	heap.document.getElementById("find").value = "key";
	heap.find(false);
});
must(/^n\d+ /.test(heap.document.getElementById("note").textContent), "an entry is not found: " + heap.document.getElementById("note").textContent);

// What is sought and what is in sight are in the address, and there again by it.
heap.zoom(1.5);
await new Promise(done => setTimeout(done, 600));
const seen = heap.seen();
must(new URLSearchParams(location.hash.slice(1)).get("seen") === seen && seen.endsWith(",key"), `${seen} is not in the address: ${location.hash}`);
element("frame").replaceChildren();
fromAddress();
await settled;
must(element("heap").contentWindow.seen() === seen, `${element("heap").contentWindow.seen()} is seen again, not ${seen}`);

// A heap that cannot be had is not another one's picture.
const kept = window.fetch, there = state.at;
window.fetch = async () => { throw new TypeError("gone"); };
go({ at: Math.floor(data.time.end / 4), view: "heap" });
await settled;
window.fetch = kept;
must(!element("heap") && /the server is gone/.test(element("frame").textContent), "the old heap is shown: " + element("frame").textContent);
go({ at: there, view: "heap" });
await settled;
must(element("heap").contentDocument.querySelectorAll(".node").length > 2, "the heap is not drawn again");
press("1");
await settled;
press("ArrowDown");
must(document.activeElement.closest("#links"), "Down");
await act("key", () => press("ArrowRight"));
must(document.documentElement.scrollWidth <= document.documentElement.clientWidth, "wider than the window");
return times;
END
look() { # width height [dark]
	python3 "$here/tests/report/drive.py" "$url" walk.js "$@" >times.json 2>said || fail "at $*: $(cat said)"
}
look 1300 850
cp times.json wide.json
look 420 800 dark
kill $server
wait $server 2>/dev/null
trap - EXIT
[ "${FAULTLINE_SERVE:-}" != full ] || jq -r 'group_by(.[0])[] | "\(.[0][0]): \(length), median \(map(.[1]) | sort | .[length / 2 | floor] | round) ms, most \(map(.[1]) | max | round) ms"' wide.json
exit 0
