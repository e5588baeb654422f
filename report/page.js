// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page: which part of the picture is in sight, keys, lists, search.

const READABLE = 0.7, MARGIN = 24, LISTED = 60, MAP_FROM = 200, LEAST = 0.02, MOST = 8;
let picture, view = { x: 0, y: 0, k: 1 }, found, wanted = -1;
let isFresh = false; // as show() made it

// ---- what is in sight ---------------------------------------------------------------------

function sight() {
	const p = element("picture");
	return { w: p.clientWidth || 800, h: p.clientHeight || 600 };
}

function setView(x, y, k) {
	view = { x, y, k };
	picture.world.setAttribute("transform", `translate(${x},${y}) scale(${k})`);
	drawMap();
	looked();
}

function fit() {
	const { w, h } = sight(), l = picture.layout;
	const k = Math.min(w / l.width, h / l.height, 1);
	setView((w - l.width * k) / 2, (h - l.height * k) / 2, k);
}

// On paper all of the picture is as large as it can be.
function forPrint(is) {
	const l = picture.layout;
	if (!is) {
		element("svg").removeAttribute("viewBox");
		return look(true);
	}
	setView(0, 0, 1);
	return element("svg").setAttribute("viewBox", `0 0 ${l.width} ${l.height}`);
}

// Towards a point of the window.
function zoom(by, x = sight().w / 2, y = sight().h / 2) {
	const k = Math.max(LEAST, Math.min(MOST, view.k * by)), r = k / view.k;
	setView(x - (x - view.x) * r, y - (y - view.y) * r, k);
}

function pan(dx, dy) {
	setView(view.x + dx, view.y + dy, view.k);
}

function inSight(b) {
	const { w, h } = sight(), x = view.x + b.x * view.k, y = view.y + b.y * view.k;
	return { all: x >= 0 && y >= 0 && x + b.w * view.k <= w && y + b.h * view.k <= h,
		some: x < w && y < h && x + b.w * view.k > 0 && y + b.h * view.k > 0 };
}

function center(b) {
	const { w, h } = sight(), k = view.k;
	setView(Math.max(w / 2 - (b.x + b.w / 2) * k, MARGIN - b.x * k - Math.max(0, w - b.w * k)),
		Math.min(h / 2 - (b.y + Math.min(b.h, h / k / 2) / 2) * k, h - MARGIN), k);
}

function around(boxes) {
	const x = Math.min(...boxes.map(b => b.x)), y = Math.min(...boxes.map(b => b.y));
	return { x, y, w: Math.max(...boxes.map(b => b.x + b.w)) - x, h: Math.max(...boxes.map(b => b.y + b.h)) - y };
}

// Of a box that is higher than the window: the rows that something is said of.
function part(b) {
	const { h } = sight(), rows = (b.rows || []).filter(r => rowClass(b, r, picture.say));
	if (b.h * view.k <= h || !rows.length)
		return b;
	return { x: b.x, y: rows[0].y - ROW, w: b.w, h: Math.min(rows[rows.length - 1].y - rows[0].y + 2 * ROW, h / view.k) };
}

// What the step is about, as much as the window holds; undefined for an empty picture. First it
// is what is violated, later what has changed.
function focus(isFirst) {
	const { w, h } = sight(), { boxes } = picture.layout;
	const shown = list => list.map(i => boxes.get(i)).filter(b => b !== undefined).map(part);
	const bad = shown(violated.flatMap(v => v[1]).map(live));
	const step = shown([wanted >= 0 ? wanted : at ? live(data.steps[at - 1][2]) : -1]);
	const [one, other] = isFirst && wanted < 0 ? [bad, step] : [step, bad];
	const sets = [[...one, ...other], one, one.slice(0, 1), other, other.slice(0, 1), shown(important()).slice(0, 1)];
	const areas = sets.filter(set => set.length).map(around);
	return areas.find(a => a.w * view.k <= w && a.h * view.k <= h) || areas[0] || boxes.values().next().value;
}

// All of the picture where it can be read so, else its part that matters.
function look(isFirst) {
	const { w, h } = sight(), l = picture.layout;
	if (isFirst && Math.min(w / l.width, h / l.height) >= READABLE)
		return fit();
	if (isFirst)
		setView(0, 0, 1);
	const b = focus(isFirst);
	if (b && !inSight(b).all)
		return center(b);
	return setView(view.x, view.y, view.k);
}

// The lists beside the picture are there when that is seen.
function draw(isFirst, isWaitedFor = false) {
	picture = makePicture(wanted, found, number => {
		wanted = number;
		draw(false);
	});
	if (!n_live)
		picture.world.append(shape("text", { x: 20, y: 40 }, "no node is live at this step"));
	element("svg").replaceChildren(picture.world);
	look(isFirst);
	describe();
	if (isWaitedFor)
		setTimeout(list);
	else
		list();
}

function go(step, isFirst = false) {
	moveTo(step);
	wanted = -1;
	found = undefined;
	say("");
	draw(isFirst);
	went(at ? data.steps[at - 1][0] : 0);
}

// A page that this is in has others, and says in its address which change is shown, and seen().
function went() {
}

function looked() {
}

// The part that is in sight, and what is sought.
function seen() {
	return [view.x.toFixed(), view.y.toFixed(), view.k.toFixed(3), element("find").value.trim()].join();
}

// That again, at the same step.
function see(text) {
	const [x, y, k, ...sought] = text.split(",");
	if (!(k >= LEAST && k <= MOST) || !isFinite(x) || !isFinite(y))
		return;
	element("find").value = sought.join();
	if (element("find").value)
		find(false);
	setView(+x, +y, +k);
}

// Is it known of all changes around that position?
function hasTime(time) {
	return data.steps.length > 0 && data.steps[0][0] <= time && time < data.steps[data.steps.length - 1][0];
}

function stepAt(time) {
	let step = data.steps.length;
	while (step && data.steps[step - 1][0] > time)
		step--;
	return step;
}

// The heap as it was at a position of the run. @return that of the change before.
function goToTime(time) {
	const step = stepAt(time);
	if (!isFresh || step !== at)
		go(step);
	isFresh = false;
	return step ? data.steps[step - 1][0] : 0;
}

function say(text) {
	element("note").textContent = text;
}

// ---- the whole graph, small ---------------------------------------------------------------

const MAP_EDGE = 4;
let mapTimer;

// Where nodes are in it: levels side by side, the leaves below each other.
function mapPlaces({ order, parent, level, leaves }, w, h) {
	const n = parent.length, next = new Float64Array(n), x = new Uint16Array(n), y = new Uint16Array(n);
	let all = 0, levels = 1;
	for (const i of order) {
		all += parent[i] < 0 ? leaves[i] : 0;
		levels = Math.max(levels, level[i] + 1);
	}
	let top = 0;
	for (const i of order) {
		const up = parent[i];
		next[i] = up < 0 ? top : next[up];
		x[i] = MAP_EDGE + (level[i] + 0.5) / levels * (w - 2 * MAP_EDGE);
		y[i] = MAP_EDGE + (next[i] + leaves[i] / 2) / all * (h - 2 * MAP_EDGE);
		if (up < 0)
			top += leaves[i];
		else
			next[up] += leaves[i];
	}
	return { x, y };
}

// A dot for each node.
function mapImage({ order }, { x, y }, color, w, h) {
	const dots = new Uint32Array(w * h), rgb = parseInt(color.trim().slice(1), 16) || 0;
	const dot = ((rgb & 255) << 16 | rgb & 0xff00 | rgb >> 16 | 0x70000000) >>> 0;
	for (const i of order) {
		const k = y[i] * w + x[i];
		dots[k] = dots[k + 1] = dots[k + w] = dots[k + w + 1] = dot;
	}
	return new ImageData(new Uint8ClampedArray(dots.buffer), w, h);
}

function paintMap() {
	const canvas = element("map"), c = canvas.getContext("2d"), w = canvas.width, h = canvas.height;
	const { forest, layout: l, say: what } = picture, style = getComputedStyle(document.documentElement);
	const color = name => style.getPropertyValue(name);
	const { x, y } = forest.places = forest.places || mapPlaces(forest, w, h);
	forest.image = forest.image || mapImage(forest, forest.places, color("--line"), w, h);
	const dots = (numbers, name, size) => {
		c.fillStyle = color(name);
		numbers.forEach(i => isLive[i] && c.fillRect(x[i] - size / 2, y[i] - size / 2, size, size));
	};
	const boxes = [...l.boxes.values()].filter(b => !b.fold), seen = boxes.filter(b => inSight(b).some).map(b => b.number);
	c.putImageData(forest.image, 0, 0);
	dots(boxes.map(b => b.number), "--text", 4);
	dots([...what.changed.keys()], "--now", 8);
	dots([...what.badNodes], "--bad", 8);
	const left = Math.min(...seen.map(i => x[i])), top = Math.min(...seen.map(i => y[i]));
	c.strokeStyle = color("--found");
	c.lineWidth = 2;
	if (seen.length)
		c.strokeRect(left - 6, top - 6, Math.max(...seen.map(i => x[i])) - left + 12,
			Math.max(...seen.map(i => y[i])) - top + 12);
}

// Not with each step of many.
function drawMap() {
	clearTimeout(mapTimer);
	element("map").hidden = n_live <= MAP_FROM;
	if (n_live > MAP_FROM)
		mapTimer = setTimeout(paintMap, 40);
}

// A click into it, from 0 to 1: to the node that is nearest.
function goInMap(across, down) {
	const { width: w, height: h } = element("map"), { forest } = picture;
	const { x, y } = forest.places = forest.places || mapPlaces(forest, w, h);
	let best = -1, least = Infinity;
	for (const i of forest.order) {
		const d = (x[i] - across * w) ** 2 + (y[i] - down * h) ** 2;
		if (d < least) {
			least = d;
			best = i;
		}
	}
	if (best >= 0)
		reveal(best, -1);
}

// ---- beside the picture -------------------------------------------------------------------

// Bytes of an array of char that changed together are one text.
function changeWords(type, changes) {
	const said = [];
	for (let k = 0; k < changes.length; k++) {
		const i = changes[k][0], first = k;
		const inArray = (type.chars || []).some(c => c[0] <= i && (c[1] < 0 || i < c[0] + c[1]));
		while (inArray && k + 1 < changes.length && changes[k + 1][0] === i + k + 1 - first)
			k++;
		const codes = changes.slice(first, k + 1).map(c => +c[1]), end = codes.indexOf(0);
		const shown = end < 0 ? codes : codes.slice(0, end);
		const name = /^(.*)\[(\d+)\]$/.exec(fieldName(type, i));
		said.push(k > first && name && shown.every(c => c >= 32 && c < 127) ?
			`.${name[1]}[${name[2]}..${+name[2] + k - first}] = ` +
				(shown.length ? `"${String.fromCharCode(...shown)}"` : "0") :
			changes.slice(first, k + 1).map(c => "." + fieldName(type, c[0]) + " = " +
				c[1]).join(", "));
	}
	return said.join(", ");
}

function did([time, kind, id, , changes]) {
	const node = about(numbers.get(id));
	return `(${time}) n${id}` + (kind === "store" ? changeWords(node.type, changes) :
		kind === "alloc" ? " " + (node.origin || "allocated") : " freed");
}

function where(step) {
	return data.places[step[3]][0];
}

function describe() {
	const step = at ? data.steps[at - 1] : null, names = new Map();
	element("at").value = at;
	element("where").textContent = `step ${at} of ${data.steps.length}, ${n_live} nodes` + (data.far ? `, ${data.far} farther ones are left out` : "");
	element("what").textContent = step ? did(step) + "  " + where(step) : "before the first step";
	for (const v of violated)
		names.set(v[0], (names.get(v[0]) || 0) + 1);
	element("violated").textContent = [...names].map(([c, n]) =>
		`${data.constraints[c][0]} violated ${n} time${n > 1 ? "s" : ""}: ` +
		data.constraints[c][1].replace(/\s+/g, " ")).join("   ");
	source(step);
}

function row(text, kind) {
	const div = document.createElement("div");
	div.textContent = text;
	div.className = kind;
	return div;
}

// The row of now in the middle.
function put(id, rows) {
	const box = element(id), now = rows.find(r => r.className.startsWith("now"));
	box.replaceChildren(...rows);
	if (now)
		box.scrollTop = now.offsetTop - (box.clientHeight - now.offsetHeight) / 2;
}

function stepRow(i, isLasting) {
	const s = data.steps[i], isNow = i === at - 1, div = row(did(s) + " ", (isNow ? "now " : "") +
		(isLasting ? "lasting" : isWorse(s) ? "worse" : ""));
	const place = document.createElement("i");
	place.textContent = where(s).replace(/^.*\//, "");
	div.append(place);
	div.title = where(s);
	div.setAttribute("role", "option");
	div.setAttribute("aria-selected", String(isNow));
	if (isNow)
		div.id = "now";
	div.addEventListener("click", () => go(i + 1));
	return div;
}

// The steps around this one, with the C-points between them.
function list() {
	const rows = [], first = Math.max(0, at - LISTED), end = Math.min(data.steps.length, at + LISTED);
	const lasting = new Set(data.lasting);
	let point = data.points.findIndex(p => p[0] >= first);
	for (let i = first; i <= end; i++) {
		const names = new Set();
		for (; point >= 0 && point < data.points.length && data.points[point][0] === i; point++)
			names.add(data.points[point][1]);
		if (names.size)
			rows.push(row([...names].slice(0, 3).join(", "), "point"));
		if (i < end)
			rows.push(stepRow(i, lasting.has(i + 1)));
	}
	put("side", rows);
}

// The statement of the step in its source.
function source(step) {
	const [text, file, line] = step ? data.places[step[3]] : ["", -1, 0];
	const lines = file >= 0 ? data.sources[file] : {}, rows = [];
	for (let k = line - 3; k <= line + 3; k++) {
		if (lines[k] === undefined)
			continue;
		const div = row("", k === line ? "now" : ""), number = document.createElement("b");
		number.textContent = String(k).padStart(5) + "  ";
		div.append(number, lines[k]);
		rows.push(div);
	}
	if (!rows.length)
		rows.push(row(step ? "the source is not at hand" : "", ""));
	put("source", [row(text.replace(/^.*\//, ""), "file"), ...rows]);
}

// ---- search -------------------------------------------------------------------------------

function reveal(number, field) {
	wanted = number;
	found = { number, field };
	draw(false);
}

function find(isAgain) {
	const text = element("find").value.trim(), sought = parseSearch(text);
	let match = sought && search(sought, isAgain && found ? found.number : ids.length - 1);
	if (!text)
		return;
	if (match) {
		reveal(match.number, match.field);
		return say("n" + ids[match.number] + " (N: next match)");
	}
	const step = sought ? findLife(sought) : 0;
	if (!step)
		return say(`nothing is called '${text}'`);
	go(step);
	match = search(sought, ids.length - 1);
	if (match)
		reveal(match.number, match.field);
	say(`'${text}' is not live at the step that was shown: this is step ${at}`);
}

function goToViolation(direction) {
	const all = element("all").checked, to = findViolation(direction, all);
	if (!to)
		return say(data.steps.some(isWorse) ? "every violation ends within its operation (T: show these)" :
			"no step leaves anything violated");
	go(to.step);
	if (to.isAround)
		say(direction > 0 ? "no later one: this is the first" : "no earlier one: this is the last");
}

// ---- keys, pointers -----------------------------------------------------------------------

const keys = {
	ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
	PageUp: () => go(at - 20), PageDown: () => go(at + 20),
	Home: () => go(0), End: () => go(data.steps.length),
	w: () => goToViolation(1), b: () => goToViolation(-1),
	t: () => { element("all").checked = !element("all").checked; },
	"+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit, f: fit,
	c: () => { const b = focus(false); return b && center(b); },
	n: () => find(true), "/": () => element("find").focus(),
	"?": () => element("help").showModal(),
};
const shifted = { ArrowLeft: () => pan(80, 0), ArrowRight: () => pan(-80, 0),
	ArrowUp: () => pan(0, 80), ArrowDown: () => pan(0, -80) };

function onKey(e) {
	const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
	const act = e.shiftKey && shifted[key] || keys[key];
	if (e.ctrlKey || e.altKey || e.metaKey)
		return;
	if (e.target === element("find")) {
		if (key === "Enter")
			find(found !== undefined);
		if (key === "Escape")
			e.target.blur();
		return;
	}
	if (act) {
		act();
		e.preventDefault();
	}
}

// One pointer moves the picture, two zoom it. A click is none.
function onPointers(p) {
	const pointers = new Map();
	const middle = () => [...pointers.values()].reduce((a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }));
	const span = () => {
		const [a, b] = pointers.values();
		return b ? Math.hypot(a.x - b.x, a.y - b.y) : 1;
	};
	const at = e => ({ x: e.clientX - p.getBoundingClientRect().left, y: e.clientY - p.getBoundingClientRect().top });
	p.addEventListener("pointerdown", e => e.target.closest("#zoom, #map, .fold") || pointers.set(e.pointerId, at(e)));
	p.addEventListener("pointermove", e => {
		if (!pointers.has(e.pointerId))
			return;
		const before = middle(), width = span();
		pointers.set(e.pointerId, at(e));
		p.setPointerCapture(e.pointerId);
		pan(middle().x - before.x, middle().y - before.y);
		if (pointers.size > 1)
			zoom(span() / width, middle().x, middle().y);
	});
	for (const name of ["pointerup", "pointercancel"])
		p.addEventListener(name, e => pointers.delete(e.pointerId));
	p.addEventListener("wheel", e => {
		zoom(Math.exp(-e.deltaY / (e.deltaMode ? 20 : 400)), at(e).x, at(e).y);
		e.preventDefault();
	}, { passive: false });
	// A box that is reached by Tab comes into sight.
	p.addEventListener("focusin", e => {
		const b = [...picture.layout.boxes.values()].find(box => !box.fold && "n" + ids[box.number] === e.target.id);
		if (b && !inSight(b).all)
			center(b);
	});
}

function connect() {
	const click = (id, act) => element(id).addEventListener("click", act);
	for (const [id, key] of [["first", "Home"], ["back", "ArrowLeft"], ["next", "ArrowRight"], ["last", "End"],
				 ["worse", "w"], ["in", "+"], ["out", "-"], ["fit", "f"], ["ask", "?"]])
		click(id, keys[key]);
	click("close", () => element("help").close());
	click("map", e => goInMap(e.offsetX / element("map").clientWidth, e.offsetY / element("map").clientHeight));
	element("at").addEventListener("input", () => go(+element("at").value));
	document.addEventListener("keydown", onKey);
	onPointers(element("picture"));
	window.addEventListener("resize", () => look(true));
	window.addEventListener("beforeprint", () => forPrint(true));
	window.addEventListener("afterprint", () => forPrint(false));
	if (!data.constraints.length)
		["worse", "temporary"].forEach(id => element(id).remove());
}

// What the log has, from its end or the instant that it is about.
function begin() {
	takeLog();
	opened.clear();
	planted = undefined;
	wanted = -1;
	found = undefined;
	document.title = element("title").textContent = data.title;
	element("at").max = data.steps.length;
	moveTo(data.now ? stepAt(data.now) : data.steps.length);
	while (!data.now && !n_live && at)
		moveTo(at - 1);
	draw(true, true);
	isFresh = true;
	say(!data.now && at < data.steps.length ? "no node is live at the end: this is the last step before" : "");
}

// Another page like this one, as text: it takes half the time that a new document would.
function take(text) {
	const other = new DOMParser().parseFromString(text, "text/html");
	document.querySelectorAll("script.block").forEach(e => e.remove());
	element("log").replaceWith(...other.querySelectorAll("script.block"), other.getElementById("log"));
	begin();
}

function show() {
	begin();
	connect();
}
