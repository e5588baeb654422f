#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The page of `repair --html' in a browser: an arrow that is dragged and a number that is edited become
# commands, which a session takes.
. tests/lib.sh

need chromium
sed '/^change/,$d' tests/repair/figure4.commands >"$TMPDIR/commands"
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/commands" \
	--html "$TMPDIR/page.html" >"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
cat >"$TMPDIR/try.js" <<'J'
{
	const drag = (name, x, y) => {
		const e = entities.find((o) => o.name === name), r = svg.getBoundingClientRect();
		const dot = [...document.querySelectorAll("circle")].find((c) => c.cx.baseVal.value === e.port.x &&
			c.cy.baseVal.value === e.port.y);
		for (const [type, at, px, py] of [["pointerdown", dot, e.port.x, e.port.y], ["pointermove", window, x, y],
			["pointerup", window, x, y]])
			at.dispatchEvent(new PointerEvent(type, { clientX: r.left + px, clientY: r.top + py, bubbles: true }));
	};
	const n1 = state.nodes[0];
	drag("n3->next", n1.x + 5, n1.y + 5);
	drag("temp", 2, 2);
	window.prompt = () => "77";
	entities.find((o) => o.name === "n2->data").label.dispatchEvent(new MouseEvent("click", { bubbles: true }));
	document.body.append("TOLD " + commands.value.trim().split("\n").join("; ") + " END");
}
J
sed -i "/^draw();$/r $TMPDIR/try.js" "$TMPDIR/page.html"
chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMPDIR/c" --dump-dom "file://$TMPDIR/page.html" \
	>"$TMPDIR/dom" 2>"$TMPDIR/err" || skip "chromium does not start: $(tail -n 1 "$TMPDIR/err")"
told=$(sed -n 's/^.*TOLD \(.*\) END.*$/\1/p' "$TMPDIR/dom" | tail -n 1 | sed 's/&gt;/>/g')
for c in "change n3->next n1" "change temp null" "change n2->data 77" "spec"; do
	case "; $told;" in
	*"; $c;"*) ;;
	*) fail "'$c' is not in '$told'" ;;
	esac
done
# A session takes them.
echo "$told" | tr ';' '\n' >>"$TMPDIR/commands"
echo show >>"$TMPDIR/commands"
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/commands" \
	>"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q '^  n2 | data = 77 ' "$TMPDIR/out" && grep -q '^  temp -> null$' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
exit 0
