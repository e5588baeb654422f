# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""Commands of `faultline debug', which gdb runs: the stub's, with completion and help."""

import contextlib
import re
import shlex
import subprocess
import tempfile

import gdb

# The stub could not replay the capture, and has said why.
if not gdb.selected_inferior().pid:
    gdb.execute("quit 2")


def monitor(text):
    """Ask the stub."""
    return gdb.execute("monitor " + text, to_string=True).strip()


def stub(command):
    """Ask the stub for a thing that may fail."""
    answer = monitor(command)
    if answer.startswith("cannot "):
        raise gdb.GdbError(answer)
    return answer


def command_on_capture(arguments):
    """What runs another command of faultline's on the capture that is debugged."""
    try:
        words = shlex.split(stub_command.partition("exec")[2])
    except NameError:
        raise gdb.GdbError("this gdb did not start the stub: run `faultline %s' yourself" % arguments[0])
    process = words[words.index("--process"):][:2] if "--process" in words else []
    return [words[0]] + arguments + process + ["--", words[words.index("--") + 1]]


def run_command(command):
    """Run it. @return what it prints."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode not in (0, 1):
        raise gdb.GdbError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")


class When(gdb.Command):
    """Tell where the replay stands: position, instructions, event, recorded time."""

    def __init__(self):
        super().__init__("when", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        print(monitor("when"))


class Seek(gdb.Command):
    """Go elsewhere in the recorded run.

seek POSITION         a number, as `when' tells it
seek start|end
seek event N          behind event N of `faultline dump'
seek time SECONDS     after the first event"""

    def __init__(self):
        super().__init__("seek", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        gdb.execute("monitor seek " + argument)

    def complete(self, text, word):
        return [w for w in ("start", "end", "event", "time") if w.startswith(word)]


@contextlib.contextmanager
def quietly():
    """Stops are not shown."""
    shown = gdb.parameter("suppress-cli-notifications")
    gdb.execute("set suppress-cli-notifications on")
    try:
        yield
    finally:
        gdb.execute("set suppress-cli-notifications %s" % ("on" if shown else "off"))


def learn():
    """It may stand where gdb does not know: the next resumption tells, and moves nothing."""
    tid = int(monitor("moved"))
    if not tid:
        return
    for command in ("info threads", "maintenance flush register-cache"):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error:
            pass  # the thread that was looked at is not there yet, or no more
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid:
            thread.switch()
    gdb.execute("stepi")


def go(position):
    """Stand at a position, without a word. @return what the stub says."""
    with quietly():
        return gdb.execute("monitor seek %s" % position, to_string=True).strip()


class Process(gdb.Command):
    """List the processes that were recorded, or debug another one of them.

process              those of `faultline dump --processes'
process NUMBER|PID   this one, from its beginning; breakpoints stay

A child's run begins behind the fork() that made it, or behind the last exec() soon after. `catch fork'
stops there in the parent; with `set follow-fork-mode child' gdb goes on with the child."""

    def __init__(self):
        super().__init__("process", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        argument = argument.strip()
        if not argument:
            print(monitor("processes"))
            return
        if not re.fullmatch(r"\d+", argument):
            raise gdb.GdbError("process takes a number or a process id: `process' lists them")
        try:
            command = stub_command
        except NameError:
            raise gdb.GdbError("this gdb did not start the stub: connect it to one of `faultline debug "
                               "--process %s'" % argument)
        row = re.search(r"^ +(\d+) +(%s) |^ +(%s) +\d+ " % (argument, argument), monitor("processes"), re.M)
        if not row:
            raise gdb.GdbError("there is no process %s: `process' lists them" % argument)
        chosen = " --process '%s' --" % (row.group(1) or row.group(3))
        gdb.execute("disconnect", to_string=True)
        gdb.execute("file")
        gdb.execute("set confirm off")
        gdb.execute(re.sub(r"( --process '[^']*')? -- ", lambda _: chosen + " ", command, count=1))


def is_sliced():
    """Whether most of the run is left out: it is a slice capture."""
    return "(recorded at" in monitor("when")


def list_libraries(event):
    """The place where gdb would hear of new libraries may have been left out."""
    gdb.execute("sharedlibrary", to_string=True)


if is_sliced():
    gdb.events.stop.connect(list_libraries)
When()
Seek()
Process()
gdb.execute("define hookpost-monitor\npython learn()\nend")
