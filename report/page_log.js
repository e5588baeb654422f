"use strict";
// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The log: the heap at the beginning, and what changes it, step by step. Nodes go by numbers from
// 0 on, in the order in which the page has them; people see their ids, n1, n2, ..

const BLOCKS_KEPT = 300;
let data, at, violated, undo;
let ids, numbers, isLive, n_live; // id of a number, number of an id
let pointers, firstPointers; // [field, number, ..] of a number; -1 leads out of the page
let version; // changes with each pointer and node: what is worked out of these can be kept until then
let changed; // what steps did to a number, the last first: {isNew, changes, time, place, before}
let blocks, inBlock, parsed; // texts; [block, place in it] of a number; parsed ones

function element(id) {
	return document.getElementById(id);
}

function takeLog() {
	data = JSON.parse(element("log").textContent);
	blocks = Array.from(document.querySelectorAll("script.block"), e => e.textContent);
	ids = [];
	numbers = new Map();
	pointers = [];
	inBlock = [];
	parsed = new Map();
	blocks.forEach((text, block) => {
		const first = JSON.parse(text.slice(0, text.indexOf("\n")));
		for (let i = 0, k = 0; i < first.length; k++) {
			const n = first[i + 1];
			inBlock.push([block, k]);
			pointers.push(first.slice(i + 2, i + 2 + 2 * n));
			numbers.set(first[i], ids.push(first[i]) - 1);
			i += 2 + 2 * n;
		}
	});
	const n_start = ids.length;
	for (const id in data.nodes) {
		numbers.set(+id, ids.push(+id) - 1);
		pointers.push([]);
	}
	for (let i = 0; i < n_start; i++)
		for (let k = 1; k < pointers[i].length; k += 2)
			pointers[i][k] = numbers.get(pointers[i][k]) ?? -1;
	firstPointers = pointers.slice();
	isLive = new Uint8Array(ids.length).fill(1, 0, n_start);
	n_live = n_start;
	changed = new Map();
	violated = data.violated;
	undo = [];
	at = version = 0;
}

// A node of the beginning, as the log has it: [what is known, value, ..].
function inLog(number) {
	const [block, k] = inBlock[number];
	if (!parsed.has(block)) {
		if (parsed.size >= BLOCKS_KEPT)
			parsed.clear();
		parsed.set(block, JSON.parse(blocks[block].slice(blocks[block].indexOf("\n"))));
	}
	return parsed.get(block)[k];
}

// {type, place, address, bytes, time, origin}
function about(number) {
	const [type, place, address, bytes, time, origin] =
		number in inBlock ? inLog(number)[0] : data.nodes[ids[number]];
	return { type: data.types[type], place, address, bytes, time, origin };
}

// The fields of a node at the beginning: [{text, to: id or 0, time, place}].
function firstFields(number) {
	const [node, ...values] = inLog(number), to = firstPointers[number];
	const fields = values.map(v => typeof v === "string" ?
		{ text: v, to: 0, time: node[4], place: node[1] } :
		{ text: v[0], to: 0, time: node[4] + v[1], place: v[2] });
	for (let i = 0; i < to.length; i += 2)
		fields[to[i]].to = to[i + 1] < 0 ? 0 : ids[to[i + 1]];
	return fields;
}

// .. and at this step.
function fieldsOf(number) {
	const steps = [];
	let step = changed.get(number);
	for (; step; step = step.isNew ? undefined : step.before)
		steps.push(step);
	const fields = steps.length && steps[steps.length - 1].isNew ? [] : firstFields(number);
	for (const { changes, time, place } of steps.reverse())
		for (const [i, text, to] of changes)
			fields[i] = { text, to, time, place };
	return fields;
}

function live(id) {
	const number = numbers.get(id);
	return number !== undefined && isLive[number] ? number : -1;
}

function setLive(number, is) {
	version += is !== isLive[number];
	n_live += is - isLive[number];
	isLive[number] = is;
}

function setPointers(number, to) {
	version += to !== pointers[number];
	pointers[number] = to;
}

// In the order of the fields, which is that of the picture.
function pointersAfter(before, changes) {
	let to = before;
	for (const [i, , id] of changes) {
		let k = 0;
		while (k < to.length && to[k] < i)
			k += 2;
		const rest = to.slice(to[k] === i ? k + 2 : k);
		if (to[k] === i || numbers.has(id))
			to = [...to.slice(0, k), ...(numbers.has(id) ? [i, numbers.get(id)] : []), ...rest];
	}
	return to;
}

function forward() {
	const [time, kind, id, place, changes, now] = data.steps[at++];
	const number = numbers.get(id);
	undo.push([number, isLive[number], changed.get(number), pointers[number], violated]);
	setLive(number, kind === "free" ? 0 : 1);
	if (kind !== "free") {
		changed.set(number, { isNew: kind === "alloc", changes, time, place, before: changed.get(number) });
		setPointers(number, pointersAfter(kind === "alloc" ? [] : pointers[number], changes));
	}
	violated = now || violated;
}

function backward() {
	const [number, was, last, to, before] = undo.pop();
	at--;
	setLive(number, was);
	setPointers(number, to);
	violated = before;
	if (last)
		changed.set(number, last);
	else
		changed.delete(number);
}

function moveTo(step) {
	step = Math.max(0, Math.min(data.steps.length, step));
	while (at < step)
		forward();
	while (at > step)
		backward();
}

// ---- steps that leave something violated ------------------------------------------------

function isWorse(step) {
	return step[5] && step[5].length > 0;
}

// Behind or before this one, in a ring. {step, isAround}; undefined: there is none.
function findViolation(direction, withTemporary) {
	const all = withTemporary ?
		data.steps.flatMap((s, i) => isWorse(s) ? [i + 1] : []) :
		data.lasting.slice().sort((a, b) => a - b);
	const next = direction > 0 ? all.find(s => s > at) : all.reverse().find(s => s < at);
	return next !== undefined ? { step: next } :
		all.length ? { step: all[0], isAround: true } : undefined;
}

// ---- search -------------------------------------------------------------------------------

// What is sought: {id}, {address}, or {id, type, field, value}, each as far as it is given.
function parseSearch(text) {
	const m = /^(?:n(\d+)|([A-Za-z_]\w*(?=\.)))?\.?([A-Za-z_][\w.[\]]*)?\s*(?:==?\s*(.*))?$/.exec(text);
	if (/^n?\d+$/.test(text))
		return { id: +text.replace("n", "") };
	if (/^0x[0-9a-f]+$/i.test(text))
		return { address: BigInt(text) };
	return m && text ? { id: m[1] && +m[1], type: m[2], field: m[3], value: m[4] } : undefined;
}

function hasAddress(number, address) {
	const node = about(number), start = BigInt(node.address);
	return start <= address && address < start + BigInt(node.bytes || 1);
}

// The field of a node that is sought: its index, -1 for the node itself, undefined for none.
function matchNode(number, sought) {
	if (sought.id && ids[number] !== sought.id)
		return undefined;
	if (sought.address !== undefined)
		return hasAddress(number, sought.address) ? -1 : undefined;
	if (!sought.field && !sought.value)
		return -1;
	const type = about(number).type, fields = fieldsOf(number);
	if (sought.field === type.name && sought.value === undefined && !sought.type)
		return -1;
	if (sought.type && sought.type !== type.name)
		sought = { ...sought, field: sought.type + "." + sought.field };
	for (let i = 0; i < fields.length; i++) {
		const name = fieldName(type, i), chars = textAt(type, fields, i);
		const names = [name, name.replace(/\[.*/, ""), name.replace(/.*\./, "")];
		const texts = [fields[i] && fields[i].text, chars && chars.text, chars && chars.text.slice(1, -1)];
		if (sought.field && !names.includes(sought.field))
			continue;
		if (sought.value === undefined || texts.includes(sought.value))
			return i;
	}
	return undefined;
}

// The next live node behind number `from`, in a ring: {number, field}.
function search(sought, from) {
	for (let k = 1; k <= ids.length; k++) {
		const number = (from + k) % ids.length;
		const field = isLive[number] ? matchNode(number, sought) : undefined;
		if (field !== undefined)
			return { number, field };
	}
	return undefined;
}

// A step behind which a node lives that does not now; 0 for none.
function findLife(sought) {
	for (let i = data.steps.length; i-- > 0;) {
		const [, kind, id] = data.steps[i], number = numbers.get(id);
		if (sought.id ? sought.id === id : sought.address !== undefined && hasAddress(number, sought.address))
			return kind === "free" ? i : i + 1;
	}
	return 0;
}
