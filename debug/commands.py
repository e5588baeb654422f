# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""Commands of `faultline debug', which gdb runs: the stub's, with completion and help."""

import gdb

# The stub could not replay the capture, and has said why.
if not gdb.selected_inferior().pid:
    gdb.execute("quit 2")


def monitor(text):
    """Ask the stub."""
    return gdb.execute("monitor " + text, to_string=True).strip()


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


class Writes(gdb.Command):
    """What LastWrite and History share."""

    def writes(self, expression, most):
        """The last writes to the memory of expression: position, thread, where, value."""
        value = gdb.parse_and_eval(expression)
        if value.address is None:
            raise gdb.GdbError("'%s' is not in memory" % expression)
        value_type = value.type
        answer = monitor("writes %d %d %d" % (int(value.address), value_type.sizeof, most))
        for line in answer.splitlines():
            words = line.split()
            if not words or not words[0].isdigit():
                print(line)  # how far it is
                continue
            yield (int(words[0]), int(words[1]),
                   "the kernel" if words[-1] == "kernel" else place(int(words[2], 16)),
                   gdb.Value(bytes.fromhex(words[3]), value_type).format_string(max_elements=16))


def place(address):
    """An address for people: its function and line."""
    line = gdb.find_pc_line(address)
    try:
        function = gdb.block_for_pc(address)
        while function and not function.function:
            function = function.superblock
        name = function.function.name if function else "?"
    except RuntimeError:
        name = gdb.execute("info symbol %d" % address, to_string=True).split(" in section")[0]
    return "%s at %s:%d" % (name, line.symtab.filename, line.line) if line.symtab else name


class LastWrite(Writes):
    """Go back to before the last write to the memory of EXPRESSION, and tell who made it."""

    def __init__(self):
        super().__init__("last-write", gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        for position, thread, where, value in self.writes(argument, 1):
            print("%s = %s was written by %s, thread %d, at position %d"
                  % (argument, value, where, thread, position))
            gdb.execute("monitor seek %d" % position)
            return
        print("nothing wrote %s before" % argument)


class History(Writes):
    """Tell the values that the memory of EXPRESSION had, and who wrote them: the last one first.

history EXPRESSION        the last 20
history EXPRESSION, N     the last N"""

    def __init__(self):
        super().__init__("history", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        expression, comma, most = argument.rpartition(",")
        if not comma or not most.strip().isdigit():
            expression, most = argument, "20"
        for position, thread, where, value in self.writes(expression, int(most)):
            print("%12d  %s  by %s, thread %d" % (position, value, where, thread))


When()
Seek()
LastWrite()
History()
gdb.execute("define hookpost-monitor\npython learn()\nend")
