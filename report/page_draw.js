// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The drawing: boxes in columns, arrows between them.

const ROW = 16, GAP_X = 90, GAP_Y = 18, CHAR = 6.7, FIELDS = 12, FOLDED = 24;
const NAME_MAX = 16, VALUE_MAX = 18, TITLE_MAX = 60;

function shape(name, attributes, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	return e;
}

function clip(text, n) {
	return text.length > n ? text.slice(0, n - 1) + "\u2026" : text;
}

// Nodes of types that are not shown do not count.
function isFreed(f) {
	return f && (f.to && numbers.has(f.to) && live(f.to) < 0 || / \(freed\)/.test(f.text));
}

// Field i, from 0; behind the struct's are those of a flexible array.
function fieldName(type, i) {
	const n = type.fields.length, tail = type.tail || [], k = i - n;
	return i < n ? type.fields[i] :
		tail.length ? tail[k % tail.length].replace("[]",
			"[" + Math.floor(k / tail.length) + "]") : "[" + i + "]";
}

// An array of char as text: {name, text, n fields}, undefined where i begins none.
function textAt(type, fields, i) {
	const range = (type.chars || []).find(c => c[0] === i);
	const n = !range ? 0 : range[1] < 0 ? fields.length - i : range[1];
	let text = "";
	for (let k = i; k < i + n && (!fields[k] || fields[k].text !== "0"); k++) {
		const code = fields[k] ? +fields[k].text : 0;
		if (!(code >= 32 && code < 127))
			return undefined;
		text += String.fromCharCode(code);
	}
	return n > 1 ? { name: fieldName(type, i).replace(/\[0\]$/, ""), text: `"${text}"`, n } : undefined;
}

// What the box of a node says, row by row: {i, n fields, name, text, f}.
function rowsOf(fields, type) {
	const rows = [];
	for (let i = 0; i < fields.length; i++) {
		const f = fields[i], chars = textAt(type, fields, i);
		rows.push(chars ? { i, n: chars.n, name: clip(chars.name, NAME_MAX),
			text: clip(chars.text, VALUE_MAX), f: f && { ...f, text: chars.text } } :
			{ i, n: 1, name: clip(fieldName(type, i), NAME_MAX), text: clip(f ? f.text : "", VALUE_MAX) +
				(isFreed(f) && !/freed/.test(f.text) ? " (freed)" : ""), f });
		i += chars ? chars.n - 1 : 0;
	}
	return rows;
}

function hasField(row, fields) {
	return fields !== undefined && [...fields].some(i => row.i <= i && i < row.i + row.n);
}

// Of a table's rows those that something is said of, those that lead to a box, and some that lead to folded ones.
// @say: {bad, changed, found}: sets of fields by number.
function makeBox(number, isShown, say) {
	const node = about(number), all = rowsOf(fieldsOf(number), node.type);
	const title = clip("n" + ids[number] + " " + node.type.name + (node.origin ? ", " + node.origin : ""), TITLE_MAX);
	let folded = 0;
	const leads = to => to && (isShown[live(to)] || folded++ < FOLDED);
	const isWanted = r => r.f && leads(r.f.to) || [say.bad, say.changed, say.found].some(s => hasField(r, s.get(number)));
	const rows = all.length > FIELDS ? all.filter((r, k) => k < FIELDS - 1 || isWanted(r)) : all;
	const name = Math.max(...rows.map(r => r.name.length), 3);
	const value = Math.max(...rows.map(r => r.text.length), title.length - name, 4);
	return { number, title, node, rows, more: all.length - rows.length, split: name * CHAR + 12,
		w: (name + value) * CHAR + 24, h: (rows.length + 1 + (rows.length < all.length)) * ROW };
}

function foldBox(f) {
	const what = "n" + ids[f.id] + " " + about(f.id).type.name;
	const text = f.up === -1 ? [f.n + " more nodes,", "of roots that are not shown"] :
		f.trees > 1 ? [f.n + " more nodes,", "from " + what + " on"] :
		f.isMiddle ? [what, "and " + (f.n - 1) + " more in a row"] :
		f.n === 1 ? [what] :
		f.isChain ? [what, "and a chain of " + (f.n - 1) + " more"] :
		[what, "and " + (f.n - 1) + " below, " + f.depth + " deep"];
	return { fold: f, text, w: Math.max(...text.map(t => t.length)) * CHAR + 20, h: text.length * ROW + 8 };
}

// Columns by distance from the root, each tree a band of its own; parents in the middle of
// what is below them.
function layout(forest, chosen, say) {
	const boxes = new Map(), children = new Map(), roots = [];
	for (const id of forest.order)
		if (chosen.isShown[id])
			boxes.set(id, makeBox(id, chosen.isShown, say));
	chosen.folds.forEach((f, k) => boxes.set("f" + k, foldBox(f)));
	for (const key of boxes.keys())
		children.set(key, []);
	for (const key of boxes.keys()) {
		const b = boxes.get(key), up = b.fold ? b.fold.up : forest.parent[key];
		const above = up < 0 || boxes.has(up) ? up : "f" + chosen.place[up];
		(boxes.has(above) ? children.get(above) : roots).push(key);
	}
	const width = [], order = roots.map(r => [r, 0]);
	for (let i = 0; i < order.length; i++) { // grows
		const [key, level] = order[i], b = boxes.get(key);
		b.level = level;
		width[level] = Math.max(width[level] || 0, b.w);
		for (const c of children.get(key))
			order.push([c, level + 1]);
	}
	let y = 20;
	const put = key => {
		const b = boxes.get(key), below = children.get(key), top = y;
		below.forEach(put);
		const one = boxes.get(below[0]), last = boxes.get(below[below.length - 1]);
		b.y = one ? Math.max(top, (one.y + last.y + last.h - b.h) / 2) : y;
		y = Math.max(y, b.y + b.h + GAP_Y);
	};
	roots.forEach(put);
	const x = [20];
	for (let i = 0; i < width.length; i++)
		x.push(x[i] + width[i] + GAP_X);
	for (const b of boxes.values())
		b.x = x[b.level];
	return { boxes, children, width: x[x.length - 1] - (width.length ? GAP_X - 20 : -80), height: y };
}

function lineOf(place) {
	const line = data.places[place][2];
	return line ? ":" + line : "";
}

function rowClass(b, r, say) {
	return hasField(r, say.bad.get(b.number)) ? "bad" :
		hasField(r, say.found.get(b.number)) ? "found" :
		hasField(r, say.changed.get(b.number)) ? "changed" : "";
}

function drawBox(world, b, say) {
	const kind = (say.badNodes.has(b.number) ? "bad " : "") + (say.changed.has(b.number) ? "now " : "") +
		(say.found.has(b.number) ? "sought" : "");
	const g = shape("g", { class: "node " + kind, id: "n" + ids[b.number], tabindex: 0, role: "group",
		transform: `translate(${b.x},${b.y})` });
	world.append(g);
	g.append(shape("rect", { width: b.w, height: b.h, rx: 3 }));
	g.append(shape("rect", { class: "head", width: b.w, height: ROW, rx: 3 }));
	g.append(shape("text", { class: "title", x: 6, y: 12 }, b.title));
	g.append(shape("title", {}, `n${ids[b.number]} at ${b.node.address}, ${b.node.bytes} bytes, allocated (${b.node.time}) at ` +
		data.places[b.node.place][0]));
	b.rows.forEach((r, k) => {
		const y = (k + 1) * ROW, mark = rowClass(b, r, say);
		if (mark)
			g.append(shape("rect", { class: "field " + mark, y, width: b.w, height: ROW,
				"data-field": fieldName(b.node.type, r.i) }));
		g.append(shape("line", { x1: 0, x2: b.w, y1: y, y2: y }));
		g.append(shape("text", { x: 6, y: y + 12 }, r.name));
		const text = shape("text", { x: b.split, y: y + 12, class: isFreed(r.f) ? "freed" : "" }, r.text);
		if (r.f)
			text.append(shape("title", {}, r.f.text + ", since time " + r.f.time +
				" at " + data.places[r.f.place][0]));
		g.append(text);
		r.y = b.y + y + ROW / 2;
	});
	if (b.more)
		g.append(shape("text", { x: 6, y: (b.rows.length + 1) * ROW + 12 }, b.more + " more"));
}

function drawFold(world, b, onOpen) {
	const g = shape("g", { class: "fold", tabindex: 0, role: "button", transform: `translate(${b.x},${b.y})` });
	g.append(shape("rect", { width: b.w, height: b.h, rx: 8 }));
	b.text.forEach((t, k) => g.append(shape("text", { x: 10, y: 16 + k * ROW }, t)));
	g.append(shape("title", {}, b.text.join(" ") + ": unfold"));
	const open = () => {
		unfold(b.fold);
		onOpen(b.fold.id);
	};
	g.addEventListener("click", open);
	g.addEventListener("keydown", e => {
		if (e.key !== "Enter" && e.key !== " ")
			return;
		e.stopPropagation();
		e.preventDefault();
		open();
	});
	world.append(g);
}

function drawLine(world, x1, y1, to, kind) {
	const y2 = to.y + (to.fold ? to.h / 2 : ROW / 2);
	const x2 = to.x, bend = Math.max(30, Math.abs(x2 - x1) / 2);
	const back = x2 <= x1;
	const d = back ? `M${x1},${y1} C${x1 + 60},${y1} ${x1 + 60},${(y1 + y2) / 2 - 20} ` +
		`${(x1 + x2) / 2},${(y1 + y2) / 2 - 20} S${x2 - 60},${y2} ${x2},${y2}` :
		`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
	world.append(shape("path", { d, class: "edge " + kind, "marker-end": `url(#arrow${kind})` }));
}

function arrow(kind, color) {
	const m = shape("marker", { id: "arrow" + kind, viewBox: "0 0 8 8", refX: 8, refY: 4,
		markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" });
	m.append(shape("path", { d: "M0,0 L8,4 L0,8 z", style: `fill:var(${color});stroke:none` }));
	return m;
}

// What is said of nodes and fields at this step. @found: {number, field}, or undefined.
function whatToSay(found) {
	const badNodes = new Set(), bad = new Map(), changed = new Map(), pairs = new Set();
	const step = at ? data.steps[at - 1] : null;
	for (const [, nodes, marks] of violated) {
		nodes.forEach(a => badNodes.add(numbers.get(a)));
		nodes.forEach(a => nodes.forEach(b => a !== b && pairs.add(a + ">" + b)));
		for (const [id, field] of marks)
			bad.set(numbers.get(id), (bad.get(numbers.get(id)) || new Set()).add(field));
	}
	if (step && step[1] !== "free")
		changed.set(numbers.get(step[2]), new Set(step[4].map(c => c[0])));
	return { badNodes, bad, changed, pairs, found: new Map(found ? [[found.number, new Set([found.field])]] : []) };
}

function drawEdges(world, lines, l, chosen, say) {
	for (const b of l.boxes.values())
		for (const r of b.rows || []) {
			const number = r.f && r.f.to ? live(r.f.to) : -1;
			const to = l.boxes.get(number) || number >= 0 && l.boxes.get("f" + chosen.place[number]);
			if (!to)
				continue;
			const kind = hasField(r, say.bad.get(b.number)) || say.pairs.has(ids[b.number] + ">" + r.f.to) ? "bad" :
				hasField(r, say.changed.get(b.number)) ? "now" : "";
			drawLine(lines, b.x + b.w, r.y, to, kind);
			world.append(shape("text", { class: "label", x: b.x + b.w + 6, y: r.y - 3 },
				`(${r.f.time})${lineOf(r.f.place)}`));
		}
	// What is folded leads on to what is shown.
	for (const [key, b] of l.boxes)
		for (const c of b.fold ? l.children.get(key) : [])
			drawLine(lines, b.x + b.w, b.y + b.h / 2, l.boxes.get(c), "");
}

// @return {forest, layout, world}: all of the picture.
function makePicture(wanted, found, onOpen) {
	const forest = plant(), chosen = choose(forest, wanted), say = whatToSay(found);
	const l = layout(forest, chosen, say), world = shape("g", { id: "world" });
	const lines = shape("g", {}); // behind the boxes
	const defs = shape("defs", {});
	defs.append(arrow("", "--line"), arrow("bad", "--bad"), arrow("now", "--now"));
	world.append(defs, lines);
	for (const b of l.boxes.values())
		if (b.fold)
			drawFold(world, b, onOpen);
		else
			drawBox(world, b, say);
	drawEdges(world, lines, l, chosen, say);
	return { forest, say, layout: l, world };
}
