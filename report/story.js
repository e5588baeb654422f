// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of a capture. What is shown is in the address: an item (something that is wrong), one
// of its moments, a view. What a moment was made of are its children in the story's tree.

const VIEWS = ["source", "inputs", "heap", "gdb"], NEAR = 400, SHOWN_BYTES = 20000, RANKED = 10, SHOWN = 40, WARM_UP = 500;
const PLACE = 0, AT = 1, THREAD = 2, PARENT = 3, EDGE = 4, MADE = 5, CUT = 6;
let data, items = [], state = { item: 0, moment: -1, view: "source", step: -1, at: -1 }, chosen = -1, shown = "";
let drawn = false; // the heap, as the state has it
let drawnSeen, looking; // the part of it that is in sight then; a timer
let here = new Map(), settled = Promise.resolve(); // moments that a server told; done when all is drawn

const element = id => document.getElementById(id);

function make(name, attributes = {}, ...inside) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes))
		if (key === "click")
			e.addEventListener("click", value);
		else if (value !== undefined && value !== false)
			e.setAttribute(key, value);
	e.append(...inside.filter(i => i !== null && i !== undefined && i !== ""));
	return e;
}

const digits = n => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const short = file => file ? file.split("/").pop() : "";
const placeText = p => !p ? "?" : (p.file ? short(p.file) + (p.line ? `:${p.line}` : "") : "?") +
	(p.function ? ` in ${p.function}` : "");

// ---- what is wrong ---------------------------------------------------------------------------

function endItem() {
	const end = data.analysis.end, run = data.analysis.capture;
	if (!end)
		return { title: run.end === "exit" ? `it ended with status ${run.exit_status}` : "how it ended",
			 places: [], chains: [], frames: [], is_end: true, time: data.time.end };
	const frames = end.frames || [], own = frames.find(f => !f.library) || frames[0];
	let title = end.signal || end.kind;
	if (end.message)
		title += `: ${end.message}`;
	else if (end.address !== null && end.address !== undefined)
		title += ` at address ${end.address}`;
	const v = end.value, links = !v ? [] : [...(v.copies || []).slice().reverse(), v.statement].filter(p => p)
		.map(p => ({ ...p, value: v.value }));
	return { title, at: own, frames, is_end: true, is_wrong: true, time: data.time.end,
		 note: v ? `the pointer is ${v.is === "null" ? "NULL" : v.value}` + (v.name ? `: ${v.name}` : "") : "",
		 chains: links.length ? [{ of: v.name || "the pointer", links, end: "made" }] : [] };
}

// Both sides of a race, the later first.
function raceChains(f) {
	if (!f.one || !f.other)
		return [];
	const side = x => ({ ...x, value: `thread ${x.thread} ${x.write ? "writes" : "reads"} ${x.bytes} bytes` +
		(x.atomic ? ", atomically" : "") + (x.locks.length ? `, holding ${x.locks.join(", ")}` : ", no lock held") });
	return [{ title: "two accesses that nothing orders", links: [side(f.one), side(f.other)] }];
}

function checkItems(a) {
	const faults = (a.faults || []).map((f, i) => {
		const what = (a.violations[0] || {}), title = f.because === "missing" ? "a store is missing" : "this statement broke it";
		return { title: `${title} (${i + 1} of ${a.faults.length})`, at: f, time: f.time, is_wrong: true, weight: 4,
			 note: what.constraint ? `${what.constraint} (${short(what.spec)}:${what.line}) does not hold ` +
				 `for ${what.nodes.join(", ")} at ${what.cpoint}` : "", chains: [] };
	});
	return [...faults, ...(a.findings || []).map(f => ({
		title: f.message, at: f.at, rule: f.rule, time: f.time, is_wrong: f.severity === "error",
		weight: f.severity === "error" ? 3 : 1,
		chains: [...(f.chains || []), ...raceChains(f)], block: f.block, freed: f.freed }))];
}

// ---- what altered runs told -------------------------------------------------------------------

const list = (o, name) => Array.isArray(o[name]) ? o[name].filter(x => x && typeof x === "object") : [];

const signals = { 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 31: "SIGSYS" };

function suppressItems(r) {
	const steps = list(r, "steps"), found = list(r, r.removed ? "identified" : "suppressed_last");
	const links = steps.flatMap(s => [{ ...s.at, time: s.position, value: `${signals[s.signal] || "a signal"} here` },
		...list(s, "suppressed").map(p => ({ ...p, time: p.position, value: "left out, with all that it influences" }))]);
	return found.map(at => ({
		title: r.removed ? "the first corruption, likely" : "left out last; a crash remains", at, time: at.position, by: "suppress",
		is_wrong: !!r.removed, weight: r.removed ? 4 : 2,
		note: r.run ? `without it the run ${r.run.end}` + (r.run.stdout ? `, and prints ${JSON.stringify(r.run.stdout)}` : "") : "",
		chains: [{ title: "the program, run again and again", links }] }));
}

function cureText(v) {
	const signed = n => v.bytes && BigInt.asIntN(8 * v.bytes, BigInt(Math.trunc(n) || 0));
	return `test ${v.test} is right ` + (v.branch ? "if it goes the other way" : v.left_out ? "if that is not stored" :
		`with ${signed(v.alternate)} instead of ${signed(v.original)}`) + (v.each_time ? ", each time" : "");
}

function rankItems(r) {
	return list(r, "statements").slice(0, RANKED).map(s => {
		const cures = list(r, "ivmps").filter(v => v.file === s.file && v.line === s.line);
		return { title: `suspected: rank ${s.rank} by ${r.method}`, at: s, by: "rank", weight: 0, is_wrong: false,
			 note: [`executed by ${s.failed} of ${r.failed} failing and ${s.passed} of ${r.passed} passing tests`,
				 ...cures.slice(0, 3).map(cureText)].join("; "), chains: [] };
	});
}

// ---- in which order -----------------------------------------------------------------------------

// The end, then what is the graver, and of it what more than one analysis names.
function listItems() {
	const sameLine = (x, y) => x && y && x.line && x.line === y.line && x.file === y.file;
	const rest = [...checkItems(data.analysis), ...data.results.flatMap(([kind, r]) => (kind === "rank" ? rankItems : suppressItems)(r))];
	for (const item of rest)
		item.also = [...new Set(rest.filter(o => o !== item && sameLine(o.at, item.at)).map(o => o.by || o.rule || "--spec"))]
			.filter(name => name !== (item.by || item.rule || "--spec"));
	rest.sort((a, b) => b.weight - a.weight || b.also.length - a.also.length);
	items = [endItem(), ...rest];
	for (const item of items)
		item.story = data.stories.findIndex(s => item.is_end ? s.at === "crash" : s.position === item.time);
	data.stories.forEach((s, i) => s.made || listMoments(s, (items.find(item => item.story === i) || {}).at));
	for (const item of items)
		item.root = item.story < 0 ? -1 : data.stories[item.story].root;
}

// What each moment was made of. What was asked about may be several moments: one stands for them, on the
// line that was asked about; where none is there (a statement that crashed made nothing) it is added.
function listMoments(s, at) {
	const roots = s.moments.flatMap((m, i) => m[PARENT] < 0 ? [i] : []), place = i => s.places[s.moments[i][PLACE]];
	const there = roots.filter(i => at && at.line && place(i)[1] === at.file && place(i)[2] === at.line);
	s.root = there.find(i => s.moments[i][MADE]) ?? there[0] ?? -1;
	if (s.root < 0 && at && at.line && roots.length) {
		s.places.push([placeText(at), at.file, at.line, 0, 1]);
		s.root = s.moments.push([s.places.length - 1, s.position, s.thread, -1, "asked", ""]) - 1;
	} else if (s.root < 0) {
		s.root = roots.find(i => s.moments[i][MADE]) ?? roots[0] ?? -1;
	}
	for (const i of roots.filter(r => r !== s.root)) {
		s.moments[i][PARENT] = s.root;
		s.moments[i][EDGE] = "data";
	}
	s.made = s.moments.map(() => []);
	s.needed = s.moments.map(() => []);
	const link = (from, to, edge) => {
		s.made[to].push([from, edge]);
		s.needed[from].push(to);
	};
	s.moments.forEach((m, i) => m[PARENT] >= 0 && link(i, m[PARENT], m[EDGE]));
	s.shares.forEach(([from, to, edge]) => link(from, to, edge));
	s.made.forEach(list => list.sort((x, y) => s.moments[y[0]][AT] - s.moments[x[0]][AT]));
}

function drawList() {
	const list = element("list"), run = data.analysis.capture;
	list.replaceChildren(make("h2", {}, items.filter(i => i.is_wrong).length ? "what is wrong" : "nothing wrong was found"));
	items.forEach((item, i) => list.append(make("button", {
		class: "finding", "aria-current": i === state.item, click: () => go({ item: i, moment: item.root, view: "source", step: -1 }) },
		item.is_wrong ? make("b", {}, item.title) : item.title,
		make("small", {}, item.at ? placeText(item.at) : "", item.by || item.rule ? `  [${item.by || item.rule}]` : ""),
		item.also && item.also.length ? make("small", {}, `named by ${item.also.join(", ")}, too`) : "")));
	if (data.served && !data.has_rules)
		list.append(laterButton("wrong", "look for errors of memory, too", "looking at each access"));
	if (items[0].frames.length) {
		list.append(make("h2", {}, "the stack at its end"));
		items[0].frames.forEach((f, i) => list.append(make("div", { class: "frame" }, `${i}  `,
			make("button", { click: () => lookAt(f) }, placeText(f)), f.arguments ? ` (${[].concat(f.arguments)
				.map(x => typeof x === "object" ? `${x.name} = ${x.value}` : x).join(", ")})` : "")));
	}
	list.append(make("h2", {}, "the run"), make("div", { class: "frame" },
		`${digits(run.instructions)} instructions, ${digits(data.capture.calls)} system calls, process ${data.capture.pid}, in ${data.capture.cwd}`));
	if (data.notes.length)
		list.append(make("h2", {}, "to be noted"), ...data.notes.map(n => make("div", { class: "frame" }, n)));
}

// ---- source -----------------------------------------------------------------------------------

const sourceOf = file => data.sources.find(s => s[0] === file && Object.keys(s[1]).length);
const item = () => items[state.item];
const story = () => item().story < 0 ? null : data.stories[item().story];
const moment = () => story() && state.moment >= 0 ? story().moments[state.moment] : null;
const steps = () => item().chains.flatMap(c => c.links);

// Which place is looked at: a moment's, a step's of a chain, another's, the item's.
function where() {
	const m = moment(), h = here.get(state.at);
	if (state.place)
		return state.place;
	if (state.at >= 0)
		return { file: "", line: 0, ...(h && h.at), time: state.at };
	if (state.step >= 0 && steps()[state.step])
		return { ...steps()[state.step], value: steps()[state.step].value };
	if (m) {
		const p = story().places[m[PLACE]];
		return { text: p[0], file: p[1], line: p[2], value: m[MADE], time: m[AT], is_input: p[3] };
	}
	return item().at ? { ...item().at, time: item().time } : null;
}

// Of each line of a file the latest that it made up to a position: moments.
function madeIn(file, until) {
	const s = story(), made = new Map();
	if (s)
		s.moments.forEach((m, i) => {
			const p = s.places[m[PLACE]];
			if (p[1] === file && m[MADE] && m[AT] <= until &&
			    (!made.has(p[2]) || s.moments[made.get(p[2])][AT] < m[AT]))
				made.set(p[2], i);
		});
	return made;
}

function drawSource() {
	const pre = element("source"), at = where(), source = at && at.file ? sourceOf(at.file) : null;
	const made = at ? madeIn(at.file, at.time || Infinity) : new Map(), ran = new Set(source ? source[2] : []);
	const part = new Set(story() ? story().places.filter(p => p[1] === (at || {}).file).map(p => p[2]) : []);
	pre.replaceChildren();
	if (!source) {
		pre.append(make("div", {}, at ? at.is_input ? "an input" : at.file ? `${at.file} is not at hand (report --sources DIR)` :
			at.text || "no line of a source" : item().is_end && !item().is_wrong ? "it ended well: there is nothing to look back from" :
			"no statement is known of it"));
		return;
	}
	for (const [n, text] of Object.entries(source[1])) {
		const line = +n, m = made.get(line);
		if (Math.abs(line - at.line) > NEAR)
			continue;
		pre.append(make("div", { class: [ran.has(line) && "ran", part.has(line) && "part", line === at.line && "now"]
			.filter(c => c).join(" "), click: m !== undefined ? () => go({ moment: m, step: -1 }) : undefined,
			title: part.has(line) ? "it had a part" : ran.has(line) ? "it ran" : undefined },
			make("b", {}, n.padStart(5) + " "), make("span", {}, text),
			m !== undefined ? make("button", { class: "made", click: () => go({ moment: m, step: -1 }) }, story().moments[m][MADE]) : ""));
	}
	const now = pre.querySelector(".now");
	if (now)
		pre.scrollTop = now.offsetTop - pre.clientHeight / 2;
}

function drawWhat() {
	const what = element("what"), at = where(), i = item();
	what.replaceChildren(make("p", {}, make("b", {}, i.title)));
	if (i.note)
		what.append(make("p", {}, i.note));
	if (i.block)
		what.append(make("p", {}, `of ${i.block.node} (${i.block.size} bytes, allocated at `, link(i.block.allocated),
			")", ...(i.freed ? [", freed at ", link(i.freed)] : [])));
	if (at && !(i.at && at.line === i.at.line && at.file === i.at.file && state.moment === i.root))
		what.append(make("p", {}, [at.is_input ? at.text : at.file || at.function ? placeText({ function: "", ...at }) : "",
			at.time !== undefined ? `position ${digits(at.time)}` : ""].filter(t => t).join(", ")));
	if (at && at.value)
		what.append(make("p", { class: "value" }, at.value));
}

const link = p => make("button", { click: () => lookAt(p) }, placeText(p));

function lookAt(p) {
	go({ place: p, view: "source" });
}

// ---- where it came from ---------------------------------------------------------------------------

const words = { data: "values that it was made of", address: "what chose where", control: "why it ran",
	asked: "asked about", begin: "asked about" };

function momentButton(s, i) {
	const m = s.moments[i], p = s.places[m[PLACE]];
	return make("button", { class: p[3] ? "input" : "", "data-moment": i, click: () => go({ moment: i, step: -1 }) },
		m[MADE] || p[0], m[MADE] ? make("small", {}, p[1] ? `${short(p[1])}:${p[2]}` : p[0]) : "",
		make("small", {}, `position ${digits(m[AT])}` + (m[THREAD] && s.thread && m[THREAD] !== s.thread ? `, thread ${m[THREAD]}` : "")));
}

function drawLinks() {
	const links = element("links"), s = story(), m = moment();
	links.replaceChildren();
	item().chains.forEach((c, k) => {
		const before = item().chains.slice(0, k).reduce((n, x) => n + x.links.length, 0);
		links.append(make("h2", {}, c.title || (item().rule ? `how ${c.of}, of the rule, came here` : `how ${c.of} came here`)));
		c.links.forEach((l, i) => links.append(make("button", { "aria-current": state.step === before + i,
			click: () => go({ step: before + i, view: "source" }) },
			`${l.value || ""}`, make("small", {}, placeText(l)), l.time !== undefined ? make("small", {}, `position ${digits(l.time)}`) : "")));
	});
	if (state.at >= 0)
		return;
	if (data.served && !s && item().time !== undefined && (item().is_wrong || !item().is_end))
		links.append(laterButton(`story/${item().time}`, "tell its story: all that had a part in it", "going back"));
	if (m) {
		for (const edge of ["data", "address", "control"]) {
			const of = s.made[state.moment].filter(x => x[1] === edge);
			if (of.length)
				links.append(make("h2", {}, words[edge]), ...of.map(([i]) => momentButton(s, i)));
		}
		if (s.places[m[PLACE]][3])
			links.append(make("h2", {}, "an input: here the way back ends"),
				make("button", { click: () => go({ view: "inputs" }) }, "which of its bytes had a part"));
		else if (m[CUT])
			links.append(make("h2", {}, "it was made of more: this story has the nearest moments alone"));
		else if (!s.made[state.moment].length)
			links.append(make("h2", {}, s.is_full ? "what it was made of is farther away than this story goes" :
				"nothing else is known that it was made of"));
		if (s.needed[state.moment].length)
			links.append(make("h2", {}, "needed by"), ...s.needed[state.moment].slice(0, SHOWN).map(i => momentButton(s, i)));
	} else if (!item().chains.length && !data.served)
		links.append(make("h2", {}, item().story < 0 && !item().is_end && item().time !== undefined ? `for its story: faultline slice ${data.capture.path} --at ${item().time}` :
			item().is_end && !item().is_wrong ? "nothing to look back from" : "nothing is known of where it came from"));
	chosen = -1;
}

// ---- any moment, where there is a server --------------------------------------------------------------

// What it has, or why it has nothing.
async function ask(what, read = answer => answer.json()) {
	try {
		const answer = await fetch(what);
		return answer.ok ? await read(answer) : { why: `the server says ${answer.status}` };
	} catch {
		return { why: "the server is gone: faultline report --serve begins it again" };
	}
}

function timeShown() {
	const at = where();
	return at && at.time !== undefined ? at.time : item().time ?? data.time.end;
}

async function goToOrigin(position, n, button) {
	const path = `far/${position}/${n}`, asked = shown;
	let told = await ask(`origin/${position}/${n}`);
	if (told.is_far) {
		button.append(make("small", { class: "why", "data-later": path, "data-what": "longer ago: going back" },
			laterText(path, "longer ago: going back")));
		told = await findFar(path);
	}
	if (told.why)
		return button.append(make("small", { class: "why" }, told.why));
	if (asked === shown)
		go({ at: told.time, view: "source" });
	return settled;
}

function drawHere(h) {
	const links = element("links");
	if (h.why) {
		links.append(make("p", { class: "why" }, h.why));
		return;
	}
	const section = (title, list, act) => list.length && links.append(make("h2", {}, title), ...list.map(act));
	if (h.arguments)
		links.append(make("h2", {}, `arguments of ${h.at.function || "the function"}`), make("div", { class: "frame" }, h.arguments));
	section("made at this moment", h.made, text => make("div", { class: "frame" }, text));
	section("used: go to where it came from", h.used, (text, n) => {
		const b = make("button", { "data-used": n, click: () => { settled = goToOrigin(h.position, n, b); } }, text);
		return b;
	});
}

function keepSource(h) {
	const known = data.sources.find(s => s[0] === h.at.file);
	if (known)
		Object.assign(known[1], h.source);
	else
		data.sources.push([h.at.file, h.source, []]);
}

async function askHere() {
	const position = timeShown(), asked = shown, h = here.get(position) || await ask(`here/${position}`);
	if (!h.why && !here.has(position)) {
		here.set(position, h);
		keepSource(h);
	}
	if (asked !== shown)
		return; // somebody has gone on
	if (state.at >= 0) {
		drawSource();
		drawWhat();
	}
	drawHere(h);
}

// ---- what a server finds out when it is asked for it: it takes long ------------------------------------

const later = new Map(); // by what is asked for: how far it is, why not, or that it was found

function laterText(path, what) {
	const l = later.get(path) || { seconds: 0, doing: "" }, s = Math.round(l.seconds);
	return l.why || `${what}, for ${s < 120 ? `${s} s` : `${Math.round(s / 60)} min`}: ${l.doing.replace(/^faultline: (report: )?/, "") || "begun"}`;
}

function laterButton(path, title, what) {
	return later.has(path) ? make("p", { class: "why", "data-later": path, "data-what": what }, laterText(path, what)) :
		make("button", { class: "finding", click: () => findOut(path) }, title);
}

function keepSources(sources) {
	for (const [file, lines, ran] of sources) {
		const known = data.sources.find(s => s[0] === file);
		if (known) {
			Object.assign(known[1], lines);
			known[2].push(...ran);
		} else {
			data.sources.push([file, lines, ran]);
		}
	}
}

// What is looked at stays so.
function keepFound(path, found) {
	const [kind, position] = path.split("/"), { is_end, time, title } = item() || {};
	later.set(path, { found: true });
	keepSources(found.sources);
	if (kind === "wrong") {
		data.analysis = found.analysis;
		data.has_rules = true;
		data.notes = [...new Set([...data.notes, ...found.analysis.notes])];
	} else if (kind === "story") {
		data.stories.push(...found.stories);
	} else {
		data.inputsOf.set(+position, found.inputs[0]);
	}
	listItems();
	state.item = Math.max(0, items.findIndex(i => is_end ? i.is_end : i.time === time && i.title === title));
	if (kind === "story" && state.moment < 0 && state.at < 0 && state.step < 0)
		state.moment = items[state.item].root;
}

// Ask until it is known; how far it is is shown where it is waited for.
async function waitFor(path) {
	for (;; await new Promise(done => setTimeout(done, 300))) {
		const told = await ask(path);
		if (told.found || told.why)
			return told;
		later.set(path, told);
		document.querySelectorAll(`[data-later="${path}"]`).forEach(e => { e.textContent = laterText(path, e.dataset.what); });
	}
}

async function findFar(path) {
	const told = await waitFor(path);
	later.delete(path);
	return told.found ? told.origin : told;
}

async function findOut(path) {
	if (later.has(path))
		return;
	later.set(path, { doing: "", seconds: 0 });
	draw();
	const told = await waitFor(path);
	if (told.found) {
		keepFound(path, told);
		shown = address();
		history.replaceState(null, "", shown);
	} else {
		later.set(path, told);
	}
	draw();
	drawTime();
	drawCursor();
}

// ---- inputs, heap, gdb --------------------------------------------------------------------------------

function drawInputs() {
	const to = element("bytes"), time = item().time, inputs = data.served ? data.inputsOf.get(time) : data.inputs[item().story];
	to.replaceChildren();
	if (!inputs && data.served && time !== undefined)
		return to.append(laterButton(`inputs/${time}`, "find out which bytes of which input had a part in it", "going back"));
	if (!inputs)
		return to.append(item().is_end && !item().is_wrong ? "Nothing was wrong at its end." : "Which inputs had a part was not looked at: " +
			(time === undefined ? "it was at no known instruction." : `faultline inputs ${data.capture.path} --at ${time}`));
	to.append(make("p", {}, "of ", inputs.position >= data.time.end || item().is_end ? "the crash" :
		`position ${digits(inputs.position)}`, ": ",
		make("span", { class: "derived" }, "made of it"), " ", make("span", { class: "control" }, "decided what ran"), " ",
		make("span", { class: "address" }, "chose an address"), "; ", make("span", { class: "strong" }, "needs just this byte")));
	let n = 0;
	for (const input of inputs.inputs) {
		to.append(make("h2", {}, `${input.name} (${digits(input.size)} bytes)`));
		let end = 0;
		for (const b of input.bytes) {
			if (n++ > SHOWN_BYTES)
				break;
			if (b.offset > end)
				to.append(`[${digits(b.offset - end)} others]`);
			end = b.offset + 1;
			const role = ["derived", "control", "address"].find(r => b[r]);
			to.append(make("span", { class: role + (b[role] === "strong" ? " strong" : ""), title: `byte ${b.offset}: ` +
				["derived", "control", "address"].filter(r => b[r]).map(r => `${r} (${b[r]})`).join(", ") },
				b.text), b.byte === 10 ? "\n" : "");
		}
		if (end < input.size)
			to.append(`[${digits(input.size - end)} others]`);
	}
}

// The heap at another time, in the page that is there; where there is none, why, instead of the old one.
// What is no more looked at when it comes is not shown.
async function fetchHeap(frame, time, show) {
	const told = await ask(`heap/${time}`, async answer => ({ text: await answer.text() }));
	if (element("heap") !== frame || time !== (state.heap ?? timeShown()))
		return;
	if (told.why)
		return element("frame").replaceChildren(make("p", { class: "why" }, told.why));
	frame.contentWindow.take(told.text);
	show(frame);
}

// The picture is at the instant that is looked at.
function drawHeap() {
	const to = element("frame"), time = state.heap ?? timeShown(), frame = element("heap");
	const show = f => {
		drawn = false;
		f.contentWindow.went = heapWent;
		f.contentWindow.looked = heapLooked;
		const step = f.contentWindow.goToTime(state.heap ?? timeShown());
		drawnSeen = f.contentWindow.seen();
		if (state.seen)
			f.contentWindow.see(state.seen);
		drawn = true;
		return step;
	};
	if (!data.heap) {
		to.replaceChildren(make("p", {}, "No heap: the program allocated nothing of which the types are known."));
	} else if (data.served) {
		if (frame && frame.contentWindow.hasTime && frame.contentWindow.hasTime(time))
			return show(frame);
		if (frame && frame.contentWindow.take)
			return settled = fetchHeap(frame, time, show);
		const f = make("iframe", { id: "heap", title: "the heap", src: `heap/${time}` });
		settled = new Promise(done => f.addEventListener("load", () => done(show(f))));
		to.replaceChildren(f);
	} else if (frame) {
		show(frame);
	} else {
		const f = make("iframe", { id: "heap", title: "the heap" });
		f.addEventListener("load", () => show(f));
		f.srcdoc = data.heap;
		to.replaceChildren(f);
		if (data.heap_left_out)
			to.prepend(make("p", {}, `${digits(data.heap_left_out)} changes before are left out: faultline graph --html`));
	}
}

function drawText() {
	const time = timeShown();
	element("text").replaceChildren(make("p", {}, "In gdb, forward and backward, at this moment:"),
		make("pre", {}, `faultline debug ${data.capture.path}\n(gdb) monitor seek ${time}\n(gdb) reverse-step`),
		make("p", {}, "All that had a part in it:"),
		make("pre", {}, `faultline slice ${data.capture.path} --at ${item().is_end && item().story >= 0 ? "crash" : time}`));
}

// The first heap that is shown would take twice as long as the others: a browser learns with it.
function warmUp() {
	if (!element("heap") && state.view !== "heap")
		element("frame").replaceChildren(make("iframe", { id: "heap", title: "the heap", src: `heap/${timeShown()}` }));
}

// ---- time ----------------------------------------------------------------------------------------------

function svg(name, attributes, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, value);
	if (text)
		e.textContent = text;
	return e;
}

// Which thread ran when, where there is more than one: a colour each.
function drawThreads(s, x) {
	const switches = data.time.events.filter(e => e[1] === "switch"), ids = [...new Set(data.time.events.map(e => e[2]))];
	const end = data.time.is_cut && switches.length ? switches[switches.length - 1][0] : data.time.end;
	switches.forEach(([at, , tid], i) => {
		const until = i + 1 < switches.length ? switches[i + 1][0] : end;
		const band = svg("rect", { class: "thread", x: x(at), width: Math.max(.5, x(until) - x(at)), y: 25, height: 8,
			fill: `hsl(${ids.indexOf(tid) * 137 % 360} 55% 55%)` });
		band.append(svg("title", {}, `thread ${tid}, from position ${digits(at)}`));
		s.append(band);
	});
}

function drawTime() {
	const to = element("time"), w = to.clientWidth || 800, t = data.time, x = at => 60 + at / (t.end || 1) * (w - 70);
	const s = svg("svg", { viewBox: `0 0 ${w} 84`, role: "img" }), css = name => `var(--${name})`;
	const most = Math.max(1, ...t.alloc, ...t.free), part = (w - 70) / t.alloc.length;
	t.alloc.forEach((n, i) => n && s.append(svg("rect", { x: 60 + i * part, width: Math.max(1, part - .5), y: 54 - 13 * n / most,
		height: 13 * n / most, fill: css("link") })));
	t.free.forEach((n, i) => n && s.append(svg("rect", { x: 60 + i * part, width: Math.max(1, part - .5), y: 54,
		height: 13 * n / most, fill: css("dim") })));
	drawThreads(s, x);
	for (const [at, kind, tid, name] of t.events.filter(e => e[1] !== "switch")) {
		const tick = svg("line", { x1: x(at), x2: x(at), y1: 70, y2: 80, stroke: css(kind === "signal" ? "bad" : "dim"),
			"stroke-opacity": .5 });
		tick.append(svg("title", {}, `${kind} ${name} (thread ${tid}, position ${digits(at)})`));
		s.append(tick);
	}
	for (const [y, text] of [[18, "wrong"], [54, "heap"], [79, "calls"], ...(s.querySelector(".thread") ? [[32, "threads"]] : [])])
		s.append(svg("text", { x: 8, y }, text));
	items.forEach((i, k) => {
		if (i.time === undefined || !i.is_wrong)
			return;
		const mark = svg("path", { d: `M${x(i.time)},22 l-5,-10 h10 z`, fill: css("bad"), style: "cursor: pointer" });
		mark.append(svg("title", {}, i.title));
		mark.addEventListener("click", () => go({ item: k, moment: i.root, step: -1 }));
		s.append(mark);
	});
	s.append(svg("line", { id: "cursor", y1: 4, y2: 82, stroke: css("now"), "stroke-width": 2 }));
	to.replaceChildren(s);
	to.onclick = e => {
		const r = to.getBoundingClientRect(), at = (e.clientX - r.left - 60) / (w - 70) * t.end, m = story() && story().moments;
		if (data.served && e.target.tagName !== "path")
			go({ at: Math.max(0, Math.min(t.end - 1, Math.round(at))), step: -1 });
		else if (m && m.length && e.target.tagName !== "path")
			go({ moment: m.reduce((best, x, i) => Math.abs(x[AT] - at) < Math.abs(m[best][AT] - at) ? i : best, 0), step: -1 });
	};
}

function drawCursor() {
	const at = where(), w = element("time").clientWidth || 800, time = at && at.time !== undefined ? at.time : item().time;
	const x = 60 + (time || 0) / (data.time.end || 1) * (w - 70), line = element("cursor");
	line.setAttribute("x1", x);
	line.setAttribute("x2", x);
}

// ---- one state, in the address ---------------------------------------------------------------------------

function draw() {
	element("tabs").replaceChildren(...VIEWS.map((v, i) => make("button", { role: "tab", "aria-selected": v === state.view,
		title: `${i + 1}`, click: () => go({ view: v }) }, v)));
	for (const [v, id] of [["source", "source"], ["inputs", "bytes"], ["heap", "frame"], ["gdb", "text"]])
		element(id).hidden = v !== state.view;
	drawList();
	drawWhat();
	drawLinks();
	settled = Promise.resolve();
	({ source: drawSource, inputs: drawInputs, heap: drawHeap, gdb: drawText })[state.view]();
	drawCursor();
	if (data.served && state.view === "source" && timeShown() <= data.time.end)
		settled = askHere();
}

function address() {
	return `#item=${state.item}&moment=${state.moment}&step=${state.step}&view=${state.view}` +
		(state.at >= 0 ? `&at=${state.at}` : "") + (state.heap !== undefined ? `&heap=${state.heap}` : "") +
		(state.seen ? `&seen=${encodeURIComponent(state.seen)}` : "") +
		(state.place ? `&place=${encodeURIComponent(JSON.stringify([state.place.file, state.place.line, state.place.function]))}` : "");
}

// A place of the source that no moment is at: of the stack, where a block was allocated.
function placeFrom(text) {
	try {
		const [file, line, name] = JSON.parse(text);
		return typeof file === "string" && Number.isInteger(line) ? { file, line, function: typeof name === "string" ? name : "" } : undefined;
	} catch {
		return undefined;
	}
}

// Somebody steps through the heap.
function heapWent(time) {
	if (state.view !== "heap" || !drawn)
		return;
	state.heap = time;
	shown = address();
	history.replaceState(null, "", shown);
}

// .. or pans, zooms and searches it, which may be many times a second.
function heapLooked() {
	clearTimeout(looking);
	looking = setTimeout(() => {
		const frame = element("heap");
		if (state.view !== "heap" || !frame || !frame.contentWindow.seen)
			return;
		state.seen = frame.contentWindow.seen();
		if (state.seen === drawnSeen)
			state.seen = undefined;
		shown = address();
		history.replaceState(null, "", shown);
	}, 200);
}

function go(to) {
	state = { ...state, place: undefined, heap: undefined, seen: undefined, at: to.view && Object.keys(to).length === 1 ? state.at : -1, ...to };
	shown = address();
	if (location.hash !== shown)
		history.pushState(null, "", shown);
	draw();
}

function fromAddress() {
	const asked = new URLSearchParams(location.hash.slice(1)), n = (name, end) => {
		const v = parseInt(asked.get(name), 10);
		return v >= 0 && v < end ? v : -1;
	};
	// Where the run ended well, what is wrong says more.
	const i = asked.has("item") ? Math.max(0, n("item", items.length)) : Math.max(0, items.findIndex(x => x.is_wrong)), s = items[i].story < 0 ? null : data.stories[items[i].story];
	state = { item: i, step: n("step", items[i].chains.reduce((k, c) => k + c.links.length, 0)),
		  moment: asked.has("moment") && s ? n("moment", s.moments.length) : items[i].root,
		  at: data.served ? n("at", data.time.end) : -1,
		  view: VIEWS.includes(asked.get("view")) ? asked.get("view") : "source",
		  heap: asked.has("heap") && n("heap", data.time.end + 1) >= 0 ? n("heap", data.time.end + 1) : undefined,
		  seen: asked.get("seen") || undefined,
		  place: asked.has("place") ? placeFrom(asked.get("place")) : undefined };
	shown = address();
	draw();
}

function choose(by) {
	const all = [...element("links").querySelectorAll("button")];
	if (!all.length)
		return;
	chosen = Math.max(0, Math.min(all.length - 1, chosen + by));
	all[chosen].focus();
}

function key(e) {
	if (e.ctrlKey || e.altKey || e.metaKey || element("help").open)
		return;
	const i = Math.max(0, Math.min(items.length - 1, state.item + (e.key === "j" ? 1 : -1))), m = moment();
	if (e.key === "j" || e.key === "k")
		go({ item: i, moment: items[i].root, step: -1 });
	else if (e.key === "ArrowDown" || e.key === "ArrowUp")
		choose(e.key === "ArrowDown" ? 1 : -1);
	else if (e.key === "ArrowRight" && document.activeElement.closest("#links"))
		document.activeElement.click();
	else if ((e.key === "ArrowLeft" || e.key === "Backspace") && m && m[PARENT] >= 0)
		go({ moment: m[PARENT], step: -1 });
	else if (e.key >= "1" && e.key <= String(VIEWS.length))
		go({ view: VIEWS[e.key - 1] });
	else if (e.key === "?")
		element("help").showModal();
	else
		return;
	e.preventDefault();
}

// What somebody has found out before is there at once.
async function takeKnown() {
	const known = await ask("known");
	for (const path of known.why ? [] : known.filter(p => !p.startsWith("far/")))
		keepFound(path, await ask(path));
	if (known.length)
		fromAddress();
}

function begin() {
	data = JSON.parse(element("data").textContent);
	data.inputsOf = new Map();
	listItems();
	const argv = data.capture.argv.join(" ");
	document.title = `${argv}: faultline`;
	element("title").replaceChildren(argv, " ", make("small", {}, data.capture.path));
	drawTime();
	addEventListener("popstate", fromAddress);
	addEventListener("keydown", key);
	addEventListener("resize", () => { drawTime(); drawCursor(); });
	element("ask").onclick = () => element("help").showModal();
	fromAddress();
	if (data.served)
		settled = settled.then(takeKnown);
	if (data.served && data.heap)
		settled = settled.then(() => { setTimeout(warmUp, WARM_UP); });
}
