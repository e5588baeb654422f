#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p: a worker of nginx under wrk, attached to and left three times. No request
# fails, and each capture replays from where it was attached to. What the workers share is
# told as a gap.
# time limit: 240
. tests/lib.sh
. tests/pt-collect/attach.bash

PATH=$PATH:/usr/sbin
need nginx wrk
need_bpf
port=$(free_port)
mkdir -p "$TMPDIR/html"
make_text 1 | head -c 4000 >"$TMPDIR/html/index.html"
# Its workers are another user when root starts it.
chmod -R a+rX "$TMPDIR"
user=
[ "$(id -u)" = 0 ] && user='user root;'
cat >"$TMPDIR/nginx.conf" <<CONF
$user
daemon off;
worker_processes 2;
pid $TMPDIR/nginx.pid;
error_log $TMPDIR/error.log;
events { worker_connections 256; }
http {
	access_log $TMPDIR/access.log;
	client_body_temp_path $TMPDIR/body;
	proxy_temp_path $TMPDIR/proxy;
	fastcgi_temp_path $TMPDIR/fastcgi;
	uwsgi_temp_path $TMPDIR/uwsgi;
	scgi_temp_path $TMPDIR/scgi;
	server {
		listen 127.0.0.1:$port reuseport;
		root $TMPDIR/html;
	}
}
CONF
nginx -p "$TMPDIR" -e "$TMPDIR/error.log" -c "$TMPDIR/nginx.conf" >"$TMPDIR/nginx" 2>&1 &
nginx=$!
started+=($nginx)
until_true eval '[ "$(pgrep -c -P $nginx)" = 2 ]' ||
	fail "$(cat "$TMPDIR/nginx" "$TMPDIR/error.log")"
worker=$(pgrep -P $nginx | head -n 1)

for round in 1 2 3; do
	wrk --timeout 1m -t 1 -c 16 -d 1s "http://127.0.0.1:$port/" >"$TMPDIR/load" 2>&1 &
	load=$!
	dir=$TMPDIR/c$round
	attach "$dir" "$worker"
	# The first load may be over by now.
	wrk --timeout 1m -t 1 -c 4 -d 1s "http://127.0.0.1:$port/" >/dev/null 2>&1
	detach "$dir" TERM
	wait $load || fail "wrk ended with $?: $(cat "$TMPDIR/load")"
	grep -q 'Requests/sec' "$TMPDIR/load" || fail "$(cat "$TMPDIR/load")"
	grep -Eq 'Non-2xx|Socket errors' "$TMPDIR/load" && fail "$(cat "$TMPDIR/load")"
	is_left_alone "$worker" || fail "$(cat /proc/"$worker"/status)"
	grep -q '1 gap: shared memory at .*/dev/zero' "$dir.err" || fail "$(cat "$dir.err")"
	[ "$("$FAULTLINE" dump "$dir" | grep -c 'SYSCALL')" -gt 20 ] || fail "no calls"
	"$FAULTLINE" replay "$dir" >"$dir.replay" 2>&1 || fail "$(cat "$dir.replay")"
	grep -q 'all matched' "$dir.replay" || fail "$(cat "$dir.replay")"
done
pgrep -P $nginx | grep -qx "$worker" ||
	fail "the worker is gone"
grep -E 'alert|emerg|crit' "$TMPDIR/error.log" && fail "nginx complains"
kill -QUIT $nginx
wait $nginx || fail "nginx ended with $?"
forget $nginx
