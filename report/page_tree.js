// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What is shown: a box for few nodes, the others folded below those. Arrays are by number.

// Boxes drawn at once; the rest is folded until somebody asks for it.
const BOXES = 30, CHAIN_MIN = 9, CHAIN_HEAD = 3, CHAIN_TAIL = 2, FOLDS_BELOW = 4;
const opened = new Set(); // numbers that people asked for

// The forest at this step.
let planted;
function plant() {
	if (!planted || planted.version !== version)
		planted = { version, ...grow() };
	return planted;
}

// A forest: each node below the one that it is first reached from, breadth first from the nodes
// that none leads to; rings begin anywhere.
function grow() {
	const n = ids.length, parent = new Int32Array(n).fill(-2), isTarget = new Uint8Array(n);
	const order = new Int32Array(n_live), level = new Int32Array(n);
	let size = 0;
	for (let i = 0; i < n; i++)
		for (let k = 1; isLive[i] && k < pointers[i].length; k += 2) {
			const to = pointers[i][k];
			if (to >= 0 && to !== i)
				isTarget[to] = 1;
		}
	const from = root => {
		let next = size;
		parent[root] = -1;
		order[size++] = root;
		for (; next < size; next++) {
			const up = order[next], list = pointers[up];
			for (let k = 1; k < list.length; k += 2) {
				const to = list[k];
				if (to < 0 || !isLive[to] || parent[to] !== -2)
					continue;
				parent[to] = up;
				level[to] = level[up] + 1;
				order[size++] = to;
			}
		}
	};
	for (let i = 0; i < n; i++)
		if (isLive[i] && !isTarget[i])
			from(i);
	for (let i = 0; i < n; i++)
		if (isLive[i] && parent[i] === -2)
			from(i); // rings
	const forest = { parent, order, level, ...weigh(parent, order) };
	return { ...forest, isMiddle: cutChains(forest), sorted: byLevel(forest) };
}

// How many nodes are below each, itself included, how deep, how many leaves, how many children
// and, where that is one, which.
function weigh(parent, order) {
	const n = parent.length, below = new Int32Array(n), depth = new Int32Array(n);
	const leaves = new Int32Array(n), children = new Int32Array(n), child = new Int32Array(n);
	for (let i = order.length - 1; i >= 0; i--) {
		const id = order[i], up = parent[id];
		below[id]++;
		depth[id]++;
		leaves[id] = leaves[id] || 1;
		if (up < 0)
			continue;
		below[up] += below[id];
		depth[up] = Math.max(depth[up], depth[id]);
		leaves[up] += leaves[id];
		children[up]++;
		child[up] = id;
	}
	return { below, depth, leaves, children, child };
}

// The middles of long chains, which one box stands for.
function cutChains({ parent, order, children, child }) {
	const isMiddle = new Uint8Array(parent.length);
	for (const id of order) {
		const chain = [id];
		if (order.length <= BOXES || parent[id] >= 0 && children[parent[id]] === 1)
			continue;
		while (children[chain[chain.length - 1]] === 1)
			chain.push(child[chain[chain.length - 1]]);
		if (chain.length >= CHAIN_MIN)
			chain.slice(CHAIN_HEAD, -CHAIN_TAIL).forEach(i => { isMiddle[i] = 1; });
	}
	return isMiddle;
}

// From the top down, each level as the nodes were met; of the roots large trees first.
function byLevel({ order, level, parent, below }) {
	const starts = [0], sorted = new Int32Array(order.length);
	for (const id of order)
		starts[level[id] + 1] = (starts[level[id] + 1] || 0) + 1;
	for (let i = 1; i < starts.length; i++)
		starts[i] += starts[i - 1];
	const n_roots = starts[1] || 0;
	for (const id of order)
		sorted[starts[level[id]]++] = id;
	const roots = Float64Array.from(sorted.subarray(0, n_roots), (id, i) => i - below[id] * 2 ** 31);
	const was = sorted.slice(0, n_roots);
	roots.sort().forEach((key, i) => { sorted[i] = was[((key % 2 ** 31) + 2 ** 31) % 2 ** 31]; });
	return sorted;
}

// The nodes that the picture is about: what is violated, what has just changed; what is next to
// it where that is gone.
function important() {
	const list = [];
	for (const [, nodes, marks] of violated)
		list.push(...nodes, ...marks.map(m => m[0]));
	if (at) {
		const [, , id, , changes] = data.steps[at - 1];
		list.push(id, ...changes.map(c => c[2]).slice(0, 4));
	}
	for (let i = at - 1; i >= 0 && i > at - 1000 && !list.some(id => live(id) >= 0); i--)
		list.push(data.steps[i][2]);
	return list.map(live).filter(number => number >= 0);
}

// Which nodes get a box: what matters, with what is right above it, then the forest from the
// top. @wanted: a number that must; or -1.
function choose(forest, wanted) {
	const { parent } = forest, isShown = new Uint8Array(parent.length);
	const { isMiddle } = forest;
	let n = 0;
	const show = i => {
		n += 1 - isShown[i];
		isShown[i] = 1;
	};
	for (const i of wanted >= 0 ? [wanted, ...important()] : important())
		if (n < BOXES) {
			show(i);
			if (parent[i] >= 0)
				show(parent[i]);
		}
	for (const i of forest.sorted) {
		const up = parent[i];
		if (n < BOXES && !isMiddle[i] && (up < 0 || isShown[up] || isMiddle[up]))
			show(i);
	}
	for (const i of opened)
		if (isLive[i])
			show(i);
	return { isShown, ...fold(forest, isShown, isMiddle) };
}

// Each node that is not shown belongs to the box of the topmost one above it; siblings beyond a
// few share one.
function fold({ parent, order, below, depth }, isShown, isMiddle) {
	const folds = [], place = new Int32Array(parent.length).fill(-1), last = new Map();
	for (const id of order) {
		const up = parent[id];
		if (isShown[id])
			continue;
		let f = up >= 0 ? place[up] : -1;
		if (f < 0 || isMiddle[up] && !isMiddle[id]) {
			const above = f >= 0 ? "f" + f : up, before = last.get(above) || [];
			last.set(above, before);
			f = up < 0 && before.length ? before[0] :
				before.length >= FOLDS_BELOW ? before[FOLDS_BELOW - 1] : folds.length;
			if (f === folds.length) {
				before.push(f);
				folds.push({ id, up: above, n: 0, trees: 0, isMiddle: isMiddle[id],
					isChain: below[id] === depth[id], depth: depth[id] });
			}
			folds[f].trees++;
		}
		place[id] = f;
		folds[f].n++;
	}
	return { folds, place };
}

// Its first nodes, breadth first.
function unfold(f) {
	const forest = plant(), { place, folds } = choose(forest, -1);
	const k = folds.findIndex(other => other.id === f.id);
	let n = 0;
	for (const id of forest.order)
		if (place[id] === k && n++ < BOXES / 2)
			opened.add(id);
}
