#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program in C and one in Python, built and run as their users do against what `make install`
# leaves, find who wrote a variable; what they cannot have is an error, told in words.
. tests/lib.sh

need help2man make pkg-config python3
need_bpf
grep -qs -e -fsanitize= "$BUILD/.flags" && skip "a sanitizer's library insists on being first"
ulimit -c 0
tree=$TMPDIR/tree
env -u MAKEFLAGS make -s -o "$BUILD/faultline" -o "$BUILD/libfaultline.so.0" O="$BUILD" DESTDIR="$tree" \
	PREFIX=/opt/f PYTHONDIR=/opt/f/python install >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"

# Nothing but the header's functions leaves the library, and all of them do.
nm -D --defined-only "$tree/opt/f/lib/libfaultline.so.0" | awk '$2 == "T" { print $3 }' |
	sed 's/@.*//' | sort >"$TMPDIR/exported"
grep -o '\bflt_[a-z_]*(' "$tree/opt/f/include/faultline.h" | tr -d '(' | sort -u >"$TMPDIR/published"
diff "$TMPDIR/exported" "$TMPDIR/published" || fail "exported (<) and published (>) differ"

export PKG_CONFIG_PATH=$tree/opt/f/lib/pkgconfig PYTHONPATH=$tree/opt/f/python
export LD_LIBRARY_PATH=$tree/opt/f/lib
# shellcheck disable=SC2046 # words
${CC:-cc} -Wall -Wextra -Werror "$SOURCE/examples/library/whowrote.c" -o "$TMPDIR/whowrote" \
	$(pkg-config --define-variable=prefix="$tree/opt/f" --define-variable=libdir="$tree/opt/f/lib" \
		--cflags --libs faultline) || fail "the example does not compile"
echo '#include <faultline.h>' | ${CXX:-c++} -x c++ -Wall -Wextra -Werror -fsyntax-only -I"$tree/opt/f/include" - ||
	fail "the header is no C++"

cd "$TMPDIR" || exit 1
printf 'hallo' | want_status=139 make_capture run "$BUILD/tests/programs/written"
source=$SOURCE/tests/programs/written.c
line() {
	grep -n "// $1\$" "$source" | cut -d: -f1
}

# who VARIABLE - `LINE BYTES` of each write, as both programs say.
who() {
	./whowrote run "$1" >c.out 2>c.err || fail "whowrote.c: $(cat c.err)"
	python3 "$SOURCE/examples/library/whowrote.py" run "$1" >py.out 2>py.err || fail "whowrote.py: $(cat py.err)"
	diff c.out py.out >&2 || fail "C and Python differ"
	sed -E 's/^[0-9]+ [^ ]*:([0-9]+) in [^:]*: /\1 /' c.out
}
want="$(line THREAD) 07 00 00 00 00 00 00 00
$(line ADD) 21 00 00 00 00 00 00 00
$(line ADD) 0c 00 00 00 00 00 00 00
$(line ADD) 01 00 00 00 00 00 00 00"
[ "$(who total)" = "$want" ] || fail "total: $(cat c.out)"
who line >/dev/null
[ "$(wc -l <c.out)" = 1 ] && grep -q '(by the kernel): 68 61 6c 6c 6f 00 00 00$' c.out || fail "line: $(cat c.out)"

# What cannot be is told.
./whowrote run nothing 2>err && fail "there is a variable nothing"
grep -qx "whowrote: there is no variable 'nothing'" err || fail "$(cat err)"
./whowrote "$SOURCE/tests" total 2>err && fail "a folder is a capture"
grep -q 'capture' err || fail "$(cat err)"
mv "$tree/opt/f/bin/faultline" kept
./whowrote run total 2>err && fail "a machine without its program"
grep -q 'there is no faultline beside' err || fail "$(cat err)"
printf '#!/bin/sh\necho faultline 9.9\n' >"$tree/opt/f/bin/faultline"
chmod +x "$tree/opt/f/bin/faultline"
./whowrote run total 2>err && fail "a machine of another release"
grep -q "is 'faultline 9.9'" err || fail "$(cat err)"
rm "$tree/opt/f/bin/faultline"
mv kept "$tree/opt/f/bin/faultline"

# All that the module has, against what the commands say.
"$FAULTLINE" dump run >dump || fail "no dump"
python3 - "$(line CRASH)" <<'EOF' || fail "the module"
import faultline
from faultline import Ending, EventKind, On, Status, Trap

crash_line = int(__import__("sys").argv[1])
with faultline.Capture("run") as capture:
    assert capture.argv[0].endswith("/written") and capture.exe.endswith("/written"), capture.argv
    assert (capture.ending, capture.ending_value) == (Ending.SIGNAL, 11)
    assert capture.is_complete and capture.missing == []
    events = list(capture.events())
    assert len(events) == capture.n_events > 30
    assert [e.seq for e in events] == list(range(len(events)))
    reads = [e for e in events if e.kind == EventKind.SYSCALL and e.regs.rax == 0 and e.regs.rdi == 0]
    assert len(reads) == 1 and reads[0].value == 5 and reads[0].writes[0].bytes == b"hallo"
    assert [e.signal for e in events if e.kind == EventKind.SIGNAL and e.is_fatal] == [11]
    assert any(f.path == capture.exe and f.build_id for f in capture.files())

    machine = capture.machine()
    end = machine.seek()
    assert end.is_end and machine.place(end.rip).line == crash_line, machine.place(end.rip)
    add = machine.function("add")
    address, size = machine.variable("total")
    assert size == 8 and machine.read_int(address) == 7
    assert len(machine.threads()) == 1 and machine.threads()[0].is_running
    # Forward, to each call of add(); what it adds is in rdi.
    machine.seek(0)
    added = []
    while (stop := machine.run(faultline.on_execute(add))).trap is not None:
        assert stop.rip == add and stop.on == On.EXECUTE
        added.append(machine.regs().rdi)
        machine.seek(stop.position + 1)
    assert added == [1, 11, 21], added
    # Backward, to the same one, and to the call that read.
    assert machine.back(faultline.on_execute(add)).trap == 0 and machine.regs()["rdi"] == 21
    stop = machine.run(faultline.on_call(0))
    while machine.regs().rdi != 0:
        stop = machine.run(faultline.on_call(0))
    assert stop.number == 0 and stop.event == reads[0].seq, (stop, reads)
    inside = [m for m in machine.mappings() if m.start <= address < m.end]
    assert len(inside) == 1 and inside[0].prot & 2
    # A new thread goes on: two there are.
    stop = machine.run(Trap(On.SWITCH))
    assert stop.on == On.SWITCH and len(machine.threads()) == 2
    assert machine.notes() == []
    for wrong, status in ((lambda: machine.read(8, 8), Status.RANGE),
                          (lambda: machine.function("nobody"), Status.NOT_FOUND),
                          (lambda: machine.regs(1), Status.RANGE),
                          (lambda: machine.run(Trap(On.READ, address, 0)), Status.USAGE),
                          (lambda: faultline.Capture("/nowhere"), Status.NOT_FOUND),
                          (lambda: faultline.set_program("/bin/true"), Status.VERSION)):
        try:
            wrong()
        except faultline.Error as error:
            assert error.status == status and str(error), (error.status, status)
        else:
            raise AssertionError(status)
EOF
exit 0
