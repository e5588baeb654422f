# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Runs a group of the command lines in tests/corpus/commands: natively, recorded, replayed.
# What is printed, the files left behind and the exit status must be the same each time.
. tests/lib.sh

# corpus_lines GROUP - its command lines: name, package, flags, command. Of %{SMALL:LARGE}
# in a command, which=1 takes the first and which=2 the second.
corpus_lines() {
	awk -v group="[$1]" '/^\[/ { on = $0 == group; next } on && /^[^#\t ]/' \
		"$SOURCE/tests/corpus/commands" |
		sed -E "s/%\{([^{}: ]*):([^{}: ]*)\}/\\${which:-1}/g"
}

has_flag() { # flags flag
	case ,$1, in *,$2,*) return 0 ;; esac
	return 1
}

# is_installed COMMAND-STRING - its first word is a program, or is found only by running it.
is_installed() {
	case $1 in '$'* | ./*) return 0 ;; esac
	command -v "${1%% *}" >/dev/null
}

# corpus_reason NAME - why it cannot be supported: the indented line below it.
corpus_reason() {
	awk -v name="$1" '$1 == name && /^[^#\t ]/ { on = 1; next }
		on && /^\t/ { sub(/^\t/, ""); print } { on = 0 }' \
		"$SOURCE/tests/corpus/commands"
}

# in_work COMMAND-STRING PREFIX... - run it in a fresh copy of the inputs, always under
# the same path; stdout goes to $TMPDIR/out, stderr to err; the status is in $status.
in_work() {
	local command=$1
	shift
	rm -rf "$TMPDIR/work"
	cp -a "$TMPDIR/inputs" "$TMPDIR/work"
	# Not in a function of this shell: whatever it does to it stays its own.
	status=0
	(cd "$TMPDIR/work" && . "$SOURCE/tests/corpus/environment.sh" && eval "exec ${*@Q} $command") \
		>"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || status=$?
}

# corpus_try FLAGS COMMAND-STRING - prints why it failed, if it does.
corpus_try() {
	local flags=$1 command=$2 native capture=$TMPDIR/capture options=()

	in_work "$command"
	native=$status
	rm -rf "$TMPDIR/native" "$capture"
	mv "$TMPDIR/work" "$TMPDIR/native"
	mv "$TMPDIR/out" "$TMPDIR/native.out"
	mv "$TMPDIR/err" "$TMPDIR/native.err"
	has_flag "$flags" "fails" || [ "$native" = 0 ] || {
		echo "natively it exits with $native: $(tail -n 1 "$TMPDIR/native.err")"
		return 1
	}
	has_flag "$flags" "follow" && options+=(-f)
	in_work "$command" "${RECORD[@]}" "${options[@]}" -o "$capture" --
	[ "$status" = "$native" ] || {
		echo "recorded it exits with $status, not $native: $(tail -n 1 "$TMPDIR/err")"
		return 1
	}
	tail -n 1 "$TMPDIR/err" | grep -q complete || {
		echo "not complete: $(tail -n 1 "$TMPDIR/err")"
		return 1
	}
	cmp "$TMPDIR/native.out" "$TMPDIR/out" || {
		echo "recorded it prints something else"
		return 1
	}
	has_flag "$flags" "nofiles" || diff -rq --no-dereference "$TMPDIR/native" "$TMPDIR/work" || {
		echo "recorded it leaves other files"
		return 1
	}
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$capture"
	# Whose children are followed, all of them replay: each with its own output.
	has_flag "$flags" follow && options=("--json") || options=("--stdout")
	"$FAULTLINE" replay "$capture" "${options[@]}" >"$TMPDIR/replayed" 2>"$TMPDIR/err" || {
		echo "replay exits with $?: $(grep -v matched "$TMPDIR/err" | head -n 12)"
		return 1
	}
	has_flag "$flags" follow || cmp "$TMPDIR/native.out" "$TMPDIR/replayed" || {
		echo "replay prints something else"
		return 1
	}
}

# corpus_run GROUP - all of the group. The last line says how many of how many matched. With
# ONLY=PATTERN those whose name matches; what fails leaves its capture in KEEP=DIR.
corpus_run() {
	local name package flags command n=0 matched=0 missing='' failed='' cannot='' why start
	need_bpf
	mkdir "$TMPDIR/inputs"
	bash tests/corpus/inputs.sh "$TMPDIR/inputs" small || fail "no inputs"
	while read -r name package flags command <&3; do
		n=$((n + 1))
		if [ -n "${ONLY:-}" ] && [[ $name != $ONLY ]]; then
			n=$((n - 1))
		elif ! is_installed "$command"; then
			missing+=" $package"
		elif has_flag "$flags" cannot; then
			cannot+="; $name: $(corpus_reason "$name")"
		elif has_flag "$flags" low && lacks_low_addresses; then
			cannot+="; $name: the sanitizer's shadow lies where its memory must"
		else
			start=$EPOCHREALTIME
			if why=$(corpus_try "$flags" "$command"); then
				matched=$((matched + 1)) why=matched
			else
				failed+=" $name"
				[ -z "${KEEP:-}" ] || cp -a "$TMPDIR/capture" "$KEEP/$name.flt"
			fi
			echo "$name: $why" \
				"($(((${EPOCHREALTIME/./} - ${start/./}) / 1000)) ms: $command)"
		fi
	done 3< <(corpus_lines "$1")
	[ $n -gt 0 ] || fail "no command line in group $1"
	[ -z "$failed" ] || fail "$matched of $n matched, not:$failed"
	[ $matched -gt 0 ] || [ -n "$missing$cannot" ] || fail "nothing of $n was recorded"
	[ -z "$missing" ] || skip "$matched of $n matched; not installed:$missing"
	echo "result: $matched of $n matched${cannot:+, cannot$cannot}"
}
