#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p: redis-server under redis-benchmark, attached to and left three times. The
# benchmark sees no error, the server keeps its data, and each capture replays from where
# it was attached to.
# time limit: 240
. tests/lib.sh
. tests/pt-collect/attach.bash

need redis-server redis-benchmark redis-cli
need_bpf
port=$(free_port)
cli=(redis-cli -h 127.0.0.1 -p "$port")
redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$TMPDIR" \
	>"$TMPDIR/redis" 2>&1 &
redis=$!
started+=($redis)
until_true eval '[ "$("${cli[@]}" ping)" = PONG ]' || fail "$(cat "$TMPDIR/redis")"
"${cli[@]}" set kept 'through all of it' >/dev/null
before=$(cpus $redis)

for round in 1 2 3; do
	redis-benchmark -h 127.0.0.1 -p "$port" -t set,get,lpush -n 60000 -c 20 -q \
		>"$TMPDIR/load" 2>&1 &
	load=$!
	dir=$TMPDIR/c$round
	attach "$dir" $redis
	# A child that writes the data to disk meanwhile is let go, and ends well.
	[ $round = 2 ] && "${cli[@]}" bgsave >/dev/null
	sleep 0.3
	detach "$dir" INT
	wait $load || fail "redis-benchmark ended with $?: $(cat "$TMPDIR/load")"
	grep -qi error "$TMPDIR/load" && fail "$(cat "$TMPDIR/load")"
	is_left_alone $redis || fail "$(cat /proc/$redis/task/*/status)"
	[ "$before" = "$(cpus $redis)" ] || fail "other CPUs now: $(cpus $redis)"
	[ "$("${cli[@]}" get kept)" = 'through all of it' ] || fail "redis lost its data"
	grep -q ': complete$' "$dir.err" || fail "$(cat "$dir.err")"
	"$FAULTLINE" replay "$dir" >"$dir.replay" 2>&1 || fail "$(cat "$dir.replay")"
	grep -q 'all matched' "$dir.replay" || fail "$(cat "$dir.replay")"
done

until_true eval '"${cli[@]}" info persistence | grep -q rdb_bgsave_in_progress:0' ||
	fail "the child that saves does not end"
"${cli[@]}" info persistence | grep -q rdb_last_bgsave_status:ok || fail "the child failed"
[ -s "$TMPDIR/dump.rdb" ] || fail "nothing was saved"

# Until it ends by itself: the recording ends with it, with its status.
attach "$TMPDIR/end" $redis
"${cli[@]}" shutdown nosave 2>/dev/null
got=0
wait "$recorder" || got=$?
[ $got = 0 ] || fail "record ended with $got: $(cat "$TMPDIR/end.err")"
forget $redis
"$FAULTLINE" replay "$TMPDIR/end" >"$TMPDIR/replay" 2>&1 || fail "$(cat "$TMPDIR/replay")"
