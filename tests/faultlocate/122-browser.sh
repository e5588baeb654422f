#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The page of `faultline graph --html` in a browser: all of it does as it does in node, and what
# only a browser knows is right, where things are, in a wide window and in a narrow one: nothing
# is cut, nothing blank; drag, wheel, clicks.
# time limit: 240
. tests/lib.sh
need chromium
. tests/faultlocate/page.bash

cat >browser.js <<'END'
const wide = document.documentElement.clientWidth, tall = document.documentElement.clientHeight;
for (const id of ["picture", "side", "source", "worse", "find"]) {
	const r = element(id).getBoundingClientRect();
	must(r.width > 40 && r.height > 15 && r.left >= 0 && r.right <= wide && r.bottom <= tall, id + " is cut");
}
must(element("side").clientHeight > 100 && element("picture").clientHeight > 150, "no room");
must([...element("side").children].every(d => d.scrollWidth <= element("side").clientWidth), "steps are cut");
const now = document.querySelector("#side .now").getBoundingClientRect();
must(now.top >= element("side").getBoundingClientRect().top && now.bottom <= tall, "the step is not in the list's sight");
const p = element("picture").getBoundingClientRect();
const seen = [...document.querySelectorAll(".node")].map(g => g.getBoundingClientRect());
const to = { bubbles: true, clientX: p.left + 99, clientY: p.top + 50, pointerId: 1, deltaY: -99 };
const svg = element("svg"), were = { ...view };
for (const name of ["pointerdown", "pointermove", "pointerup", "pointermove"])
	svg.dispatchEvent(new PointerEvent(name, name === "pointerdown" ? { ...to, clientX: p.left } : to));
must(Math.round(view.x - were.x) === 99, "it is not dragged");
svg.dispatchEvent(new WheelEvent("wheel", { ...to, cancelable: true }));
must(view.k > were.k && Math.round(p.left + view.x + (99 - were.x - 99) / were.k * view.k) === Math.round(p.left + 99),
	"the wheel does not zoom towards the pointer");
press("f");
const fold = document.querySelector(".fold");
if (fold) {
	const n = document.querySelectorAll(".node").length;
	fold.dispatchEvent(new MouseEvent("click", { bubbles: true }));
	must(document.querySelectorAll(".node").length > n, "a click does not unfold");
}
opened.clear();
go(data.steps.length, true);
must(seen.some(r => r.left >= p.left && r.right <= p.right && r.top >= p.top && r.bottom <= p.bottom), "blank");
END
in_browser() { # page width height
	{
		cat $1.html
		echo "<script>let said = 'well'; try {"
		judge $1 browser.js
		echo "} catch (e) { said = e.message; } parent.postMessage(said, '*');</script>"
	} >driven.html
	cat >frame.html <<-END
		<iframe src="driven.html" width="$2" height="$3"></iframe>
		<script>onmessage = e => { document.title = e.data; };</script>
	END
	HOME=$TMPDIR chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=20000 \
		--window-size=1400,1000 --user-data-dir="$TMPDIR/profile" \
		--dump-dom "file://$PWD/frame.html" >dom 2>browser.err
	grep -q '<title>well</title>' dom || fail "$1 at $2: $(grep -o '<title>.*</title>' dom)"
}
in_browser small 1280 800
in_browser small 420 800
in_browser large 420 700
exit 0
