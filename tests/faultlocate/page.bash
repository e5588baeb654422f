# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# For the tests of pages; sourced behind tests/lib.sh: pages of a list in which one node has a
# wrong neighbour, small.html, large.html, empty.html, plain.html, bare.html, and for each a
# script that judges it, small.js, .., with lib.js before it. In TMPDIR, which is entered.
need cc
need_bpf
cd "$TMPDIR" || exit 1

cat >list.c <<'END'
#include <stdio.h>
#include <stdlib.h>
struct node { int key; struct node *next, *prev; char name[12]; };
struct list { struct node *head, *tail; };
static void insert(struct list *l, int key)
{
	struct node *n = calloc(1, sizeof(*n)), **p = &l->head;
	n->key = key;
	while (*p && (*p)->key < key)
		p = &(*p)->next;
	n->next = *p; // the neighbours disagree from here ..
	n->prev = *p ? (*p)->prev : l->tail;
	*p = n;
	if (n->next)
		n->next->prev = n; // .. to here
	else
		l->tail = n;
	if (key == 13)
		printf("%p\n", (void *)&n->next);
}
static void drop(struct list *l, int key)
{
	struct node *n = l->head;
	while (n && n->key != key)
		n = n->next;
	if (n->prev)
		n->prev->next = n->next;
	else
		l->head = n->next;
	if (n->next && key != 13)
		n->next->prev = n->prev;
	free(n);
}
int main(int argc, char **argv)
{
	struct list *l = calloc(1, sizeof(*l));
	int n = atoi(argv[argc - 1]);
	for (int i = 0; i < n; i++)
		insert(l, i * 7 % n);
	drop(l, 4);
	drop(l, 13);
	drop(l, 8);
	if (argc > 2)
		while (l->head)
			drop(l, l->head->key);
	return 0;
}
END
cc -g -O0 -o list list.c || fail "cannot compile"
cat >list.spec <<'END'
CPOINT insert; CPOINT drop;
node FIELD 15 EDGE 2;
node X; node Y; X.next == Y => Y.prev == X; ..(doubly)
END
make_capture small.fl ./list 20
make_capture large.fl ./list 300
make_capture empty.fl ./list all 20
address=$(cat small.fl.out)
for c in small large empty; do
	"$FAULTLINE" graph $c.fl --spec list.spec --html $c.html || fail "graph $c.fl"
done
sed 's/CPOINT.*//' list.spec >plain.spec
"$FAULTLINE" graph small.fl --spec plain.spec --html plain.html || fail "graph without C-points"

# What both hosts understand: keys, and what can be seen.
cat >lib.js <<'END'
const hasBrowser = typeof KeyboardEvent !== "undefined";
function must(is, what) {
	if (!is)
		throw new Error(what + " (step " + at + " " + element("note").textContent + ")");
}
function press(key, shiftKey = false, on = document) {
	const e = hasBrowser ? new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }) :
		{ type: "keydown", key, shiftKey, target: on, preventDefault() {} };
	(hasBrowser ? on : document).dispatchEvent(e);
}
function ask(text) {
	element("find").value = text;
	found = undefined;
	press("Enter", false, element("find"));
}
function text(id) {
	return element(id).textContent;
}
// Of a node that is drawn: is it wholly in the window?
function isSeen(id) {
	const b = picture.layout.boxes.get(numbers.get(id));
	return b !== undefined && inSight(b).all;
}
function marked(kind) {
	return [...document.querySelectorAll(kind)].map(e => e.getAttribute("data-field")).sort().join();
}
function idOf(key) {
	return ids[search({ field: "key", value: String(key) }, ids.length - 1).number];
}
END

cat >small.js <<'END'
// The last step is a free; still something is in the window: what is violated.
const bad = violated[0][1];
must(data.steps[at - 1][1] === "free" && at === data.steps.length, "not at the end");
must(bad.length === 2 && bad.every(isSeen), "the violated nodes are not in sight");
// The fields, not just the nodes, and the pointer between them.
must(marked(".field.bad") === "next,prev", "not next and prev are marked: " + marked(".field.bad"));
must(document.querySelectorAll(".edge.bad").length === 1, "not the one violated edge is marked");
must(/^list\.c:\d+ in drop/.test(text("source")) && /free\(n\);/.test(text("source")), "no source");

// W stops where the list stays broken, only there: each insert breaks it for a moment.
const temporary = data.steps.filter(isWorse).length;
press("Home");
press("W");
const first = at;
must(/n->prev->next = n->next;/.test(text("source")), "W went to " + text("what"));
must(isSeen(data.steps[at - 1][2]), "the change is not in sight");
press("w");
must(at === first && /no later one/.test(text("note")), "another violation");
press("t");
press("b");
must(at < first && violated.length, "no temporary violation before " + first);
let n = 0;
for (press("Home"), press("w"); !text("note") && n < 1000; press("w"))
	n++;
must(n === temporary && temporary > 20, n + " temporary ones, not " + temporary);

// Zoom, pan, fit.
press("End");
const { x, k } = view;
press("+");
must(view.k > k, "+ does not enlarge");
press("-");
press("ArrowLeft", true);
must(view.x > x + 50 && at === data.steps.length, "Shift+Left does not move the picture");
press("f");
must([...picture.layout.boxes.values()].every(b => inSight(b).all), "not all of it fits");
must(new RegExp(`scale\\(${view.k}\\)`).test(picture.world.getAttribute("transform")), "not drawn so");
press("?");
must(element("help").open, "no help");
element("help").close();

// Search: a node, an address inside of one, a field, a value; and what is freed.
const freed = data.steps[first][2];
press("End");
ask("n" + bad[0]);
must(found && ids[found.number] === bad[0] && isSeen(bad[0]), "the node is not found");
ask("next");
const one = found.number;
must(marked(".field.found") === "next", "the field is not marked");
press("n");
must(found.number !== one, "N finds the same");
ask("key = 14");
must(ids[found.number] === idOf(14) && isSeen(idOf(14)), "no key 14");
ask(address);
must(at < data.steps.length && ids[found.number] === freed && isSeen(freed), "the address is not found");
ask("n" + freed);
must(ids[found.number] === freed, "the freed node is not found");
ask("nowhere");
must(/nothing is called 'nowhere'/.test(text("note")), "nowhere is found");
must(element("map").hidden, "a map of few nodes");
END
cat >large.js <<'END'
// Larger than the window: what is violated is in it, and can be read.
must(violated[0][1].some(isSeen) && view.k >= 0.7, "the violated part is not in sight");
must(!element("map").hidden, "no map of " + n_live + " nodes");
paintMap();
must(picture.forest.order.every(i => new Uint32Array(picture.forest.image.data ? picture.forest.image.data.buffer :
	picture.forest.image.buffer)[picture.forest.places.y[i] * element("map").width + picture.forest.places.x[i]]),
	"a node is missing in the map");
const far = idOf(290);
must(!picture.layout.boxes.has(numbers.get(far)), "not folded");
ask("key = 290");
must(isSeen(far), "what is folded is not shown when it is sought");
goInMap(1, 0.5);
must(isSeen(ids[found.number]) && picture.forest.level[found.number] > 200, "a click into the map shows no end");
press("Home");
must(/no node is live/.test(picture.world.textContent), "nothing is said of nothing");
for (press("ArrowRight"); at < data.steps.length; go(at + 7))
	must([...picture.layout.boxes.values()].some(b => inSight(b).all), "nothing is in sight");
END
# All is freed at the end.
cat >empty.js <<'END'
must(n_live === 1 && isSeen(ids[isLive.indexOf(1)]), "the page opens with nothing");
must(/no node is live at the end/.test(text("note")), "it does not say so");
END
# Nobody named C-points: the end is one.
cat >plain.js <<'END'
must(data.lasting.length === 1, "not one lasting violation: " + data.lasting);
press("W");
must(/n->prev->next = n->next;/.test(text("source")), "W went to " + text("what"));
END
"$FAULTLINE" graph large.fl --html bare.html || fail "graph without a specification"
cat >bare.js <<'END'
// Nothing is violated, the last step is a free: what was changed before it is in sight.
const last = data.steps.map(s => s[2]).reverse().find(id => live(id) >= 0);
must(data.steps[at - 1][1] === "free" && isSeen(last), "n" + last + " is not in sight");
END

# judge PAGE [FIRST] - all of its script, on stdout.
judge() {
	echo "const address = \"$address\";"
	cat lib.js ${2:-} "$1.js"
}
