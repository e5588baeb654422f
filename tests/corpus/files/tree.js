'use strict';
// Objects, closures, strings, typed arrays, JSON, bigint, regular expressions.
const n = Number(process.argv[2]);
let seed = 12345;
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) >> 8;

class Node {
	constructor(key) { this.key = key; this.left = this.right = null; }
	insert(key) {
		const side = key < this.key ? 'left' : 'right';
		if (this[side]) this[side].insert(key); else this[side] = new Node(key);
	}
	*[Symbol.iterator]() {
		if (this.left) yield* this.left;
		yield this.key;
		if (this.right) yield* this.right;
	}
}
const root = new Node(random());
for (let i = 0; i < n; i++) root.insert(random());
const keys = Float64Array.from([...root]);
console.log(keys.length, keys[0], keys.every((k, i) => i === 0 || k >= keys[i - 1]));
const text = JSON.stringify(Array.from(keys.slice(0, 500), (k, i) => ({ k, i })));
console.log(text.length, text.replace(/\d+/g, (d) => d.length).slice(0, 60));
let f = 1n;
for (let i = 1n; i <= 60n; i++) f *= i;
console.log(String(f));
