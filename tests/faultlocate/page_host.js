// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// node page_host.js PAGE DRIVE - run a page of `faultline graph --html`, then the script DRIVE,
// without a browser: as much of a document as the page asks for, and no layout: the picture is 800
// wide and 600 high, or what the environment's SIGHT says.
"use strict";
const fs = require("fs"), vm = require("vm");
const [page, drive] = process.argv.slice(2);
const html = fs.readFileSync(page, "utf8");
const [width, height] = (process.env.SIGHT || "800x600").split("x").map(Number);

class Element {
	constructor(name, id) {
		Object.assign(this, { name, id, attributes: {}, children: [], listeners: {}, own: "", className: "",
			value: "", clientWidth: width, clientHeight: height, offsetTop: 0, offsetHeight: 0 });
	}
	set textContent(text) { this.own = String(text); this.children = []; }
	get textContent() {
		return this.own + this.children.map(c => typeof c === "string" ? c : c.textContent).join("");
	}
	setAttribute(name, value) {
		this.attributes[name] = String(value);
		if (name === "class" || name === "id")
			this[name === "id" ? "id" : "className"] = String(value);
	}
	getAttribute(name) { return this.attributes[name]; }
	append(...all) { this.children.push(...all); }
	replaceChildren(...all) { this.own = ""; this.children = all; }
	remove() { this.isRemoved = true; }
	blur() {}
	focus() { host.activeElement = this; }
	showModal() { this.open = true; }
	close() { this.open = false; }
	getContext() {
		return { fillRect: () => 0, strokeRect: () => 0, putImageData: () => 0 };
	}
	addEventListener(name, act) { (this.listeners[name] = this.listeners[name] || []).push(act); }
	dispatchEvent(e) {
		e.target = e.target || this;
		(this.listeners[e.type] || []).forEach(act => act(e));
	}
	// Only what the drive asks for: one class, or an id.
	querySelectorAll(what) {
		const is = e => what[0] === "#" ? e.id === what.slice(1) :
			what.slice(1).split(".").every(c => e.className.split(" ").includes(c));
		return this.children.flatMap(c => typeof c === "string" ? [] :
			[...(is(c) ? [c] : []), ...c.querySelectorAll(what)]);
	}
}

const host = new Element("document");
for (const m of html.matchAll(/<(\w+)[^>]* id="(\w+)"/g))
	host.append(new Element(m[1], m[2]));
host.documentElement = new Element("html");
host.createElement = host.createElementNS = (a, b) => new Element(b || a);
host.getElementById = id => host.querySelectorAll("#" + id)[0];
const scripts = [...html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
for (const [, attributes, text] of scripts.filter(s => s[1]))
	if (/id="log"/.test(attributes))
		host.getElementById("log").textContent = text;
const find = host.querySelectorAll.bind(host);
host.querySelectorAll = what => what === "script.block" ?
	scripts.filter(s => /block/.test(s[1])).map(s => ({ textContent: s[2] })) : find(what);

// A canvas is as large as its element says.
const size = /<canvas id="map" width="(\d+)" height="(\d+)"/.exec(html);
Object.assign(host.getElementById("map"), { width: +size[1], height: +size[2] });

const context = vm.createContext({ document: host, console, setTimeout, clearTimeout, ImageData: Object, window: new Element("window"),
	getComputedStyle: () => ({ getPropertyValue: () => "#000" }) });
scripts.filter(s => !s[1]).forEach(s => vm.runInContext(s[2], context));
const said = vm.runInContext(fs.readFileSync(drive, "utf8"), context);
if (said)
	console.log(said);
