# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the scripts about `record -p` share; source it after lib.sh. Servers that a script
# starts are ended with it, whatever happens.

started=()
end_started() {
	local pid
	for pid in "${started[@]}"; do
		kill -CONT "$pid" 2>/dev/null
		kill -TERM "$pid" 2>/dev/null
	done
	wait "${started[@]}" 2>/dev/null
}
trap end_started EXIT

# forget PID - it has ended, and its number may be another one's.
forget() {
	local pid rest=()
	for pid in "${started[@]}"; do
		[ "$pid" = "$1" ] || rest+=("$pid")
	done
	started=("${rest[@]}")
}

# child_of PID - its child, once it has one.
child_of() {
	until_true pgrep -P "$1"
}

# start_server [THREADS] - tests/programs/server; its number is in $server, what it prints
# in $TMPDIR/server.
start_server() {
	rm -f "$TMPDIR/server" # a former one's
	"$BUILD/tests/programs/server" "$@" >"$TMPDIR/server" 2>&1 &
	server=$!
	started+=("$server")
	until_true grep -q tick "$TMPDIR/server" || fail "the server does not start"
}

# stop_server - end it; it must have found nothing wrong all the time.
stop_server() {
	local got=0
	kill -TERM "$server"
	wait "$server" || got=$?
	[ $got = 0 ] || fail "the server ended with $got: $(tail -n 3 "$TMPDIR/server")"
	tail -n 1 "$TMPDIR/server" | grep -q '^done' || fail "the server did not finish"
	grep wrong "$TMPDIR/server" && fail "the server was harmed"
	forget "$server"
}

# attach DIR PID [ARG...] - in the background; $recorder is its number. Returns once it
# records.
attach() {
	local dir=$1 pid=$2
	shift 2
	"${RECORD[@]}" -p "$pid" -o "$dir" "$@" >"$dir.out" 2>"$dir.err" &
	recorder=$!
	until_true grep -q '^faultline: attached' "$dir.err" ||
		fail "not attached: $(cat "$dir.err")"
}

# detach DIR SIGNAL - end that recording: status 0, a whole capture.
detach() {
	local dir=$1 got=0
	kill "-$2" "$recorder"
	wait "$recorder" || got=$?
	[ $got = 0 ] || fail "record ended with $got: $(cat "$dir.err")"
	looks_whole "$dir" || fail "the capture is not finished: $(cat "$dir.err")"
	cat "$dir.err"
}

# cpus PID - on which CPUs its threads may run, for each.
cpus() {
	cat /proc/"$1"/task/*/status | grep Cpus_allowed:
}

# is_left_alone PID - no tracer, nothing of ours pending, not stopped.
is_left_alone() {
	local status
	for status in /proc/"$1"/task/*/status; do
		grep -Eq '^TracerPid:[[:space:]]0$' "$status" || return 1
		grep -Eq '^State:[[:space:]][RSD]' "$status" || return 1
		[ $((0x$(sed -n 's/^SigPnd:[[:space:]]*//p' "$status") & 0x40000)) = 0 ] ||
			return 1
	done
}

server_state() {
	local got=0
	cat /proc/"$server"/task/*/status 2>/dev/null && return
	wait "$server" || got=$?
	echo "ended with $got: $(tail -n 1 "$TMPDIR/server")"
}

# goes_on - the server ticks.
goes_on() {
	local before
	before=$(wc -l <"$TMPDIR/server")
	until_true eval "[ \$(wc -l <\"$TMPDIR/server\") -gt $((before + 1)) ]" ||
		fail "the server stands still, or ended: $(server_state)"
}
