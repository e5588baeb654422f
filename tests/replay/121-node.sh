#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# node: a JIT on several threads, a garbage collector on others, a worker, crypto, zlib,
# files and timers; and what chance gives a script is the same in the replay.
# time limit: 240
. tests/lib.sh

need node
need_low_addresses
cat >"$TMPDIR/a.js" <<'EOF'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs');

function hot(n) {
	const kept = [];
	let sum = 0;

	for (let i = 0; i < n; i++) {
		kept.push({ number: i, text: 'x' + i % 7 });
		if (i % 3)
			sum += kept[i >> 1].number;
	}
	return sum;
}

if (!isMainThread) {
	parentPort.postMessage(hot(5000));
} else {
	for (let round = 0; round < 20; round++)
		hot(5000);
	console.log(hot(20000), 'a1b22c333'.replace(/(\d+)/g, (m) => m.length));
	console.log(crypto.createHash('sha256').update('x'.repeat(10000)).digest('hex'),
		    crypto.randomBytes(8).toString('hex'), Math.random());
	zlib.deflate(Buffer.alloc(100000, 'abc'), (e, b) => console.log('zlib', b.length));
	fs.readFile(__filename, (e, data) => console.log('read', data.length));
	setTimeout(() => console.log('timer', Date.now()), 10);
	new Worker(__filename).on('message', (m) => console.log('worker', m));
}
EOF
record_and_replay node "$TMPDIR/a.js"
