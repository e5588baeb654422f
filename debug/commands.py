# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""Commands of `faultline debug', which gdb runs: the stub's, with completion and help."""

import re

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


When()
Seek()
gdb.execute("define hookpost-monitor\npython learn()\nend")
