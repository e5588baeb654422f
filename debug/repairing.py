# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Paper 004: draw the heap as it should be, get the patch. A session of `faultline repair' that begins
# where gdb stands (repair.md).

REPAIR = {
    "start": "here, in the call of the selected frame's function, or of the function named",
    "next": "execute a statement", "step": "the same, and stop in functions that it calls",
    "until": "go on to a line", "break": "stop at a line, when it continues",
    "enter": "go into the loop", "leave": "go out of the loop", "flip": "go the branch's other way",
    "show": "boxes and arrows", "dot": "the same as a graph for dot",
    "suspects": "what may be wrong, the most suspicious first",
    "change": "E V: what it should be", "spec": "assert the state", "repair": "find a patch",
    "rewrite": "the patches as a difference", "resume": "go on from a checkpoint",
    "continue": "go on to the end, and behind it with the recorded program",
    "quit": "end it",
}


class RepairSession:
    def __init__(self, function, where):
        command = command_on_capture(["repair", "--function", function] + where)
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.asked = 0

    def ask(self, line):
        """Do a command. @return what it prints; None: the session is over."""
        self.asked += 1
        end = "done %d" % self.asked
        try:
            self.process.stdin.write(("%s\necho %s\n" % (line, end)).encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = []
        for said in self.process.stdout:
            said = said.decode("utf-8", "replace").rstrip("\n")
            if said == end:
                return answer
            answer.append(said)
        return None

    def close(self):
        """End it. @return what it said of that."""
        self.process.stdin.close()
        self.process.wait()
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace").strip()


def is_in(function):
    """Is the function being executed?"""
    frame = gdb.newest_frame()
    while frame and frame.name() != function:
        frame = frame.older()
    return frame is not None


class Repair(gdb.Command):
    """Debug a function's call by drawing how the heap should be, and get the patch (repair.md).

repair start [FUNCTION [OPTION...]]  begin: here, in the call of the selected frame's function; where the
                                     function named is not being executed, at its last call before here
repair COMMAND                       next, step, until LINE, break LINE, enter, leave, flip, show, dot,
                                     change E V, spec, suspects, resume ID, rewrite, continue, quit
repair                               find a patch (also: repair repair)

gdb itself stays where it is. The options of start are those of `faultline repair': --source, --also."""

    def __init__(self):
        super().__init__("repair", gdb.COMMAND_DATA)
        self.session = None

    def complete(self, text, word):
        return [w for w in REPAIR if w.startswith(word)] if " " not in text.lstrip() else []

    def start(self, words):
        function = words[0] if words else gdb.selected_frame().name()
        if not function:
            raise gdb.GdbError("the selected frame has no function: repair start FUNCTION")
        try:
            entry = int(gdb.parse_and_eval("(unsigned long)&*" + function))
        except gdb.error as e:
            raise gdb.GdbError(str(e))
        begun = count([entry]) + (gdb.selected_frame().pc() == entry)
        if not begun:
            raise gdb.GdbError("%s() was not called before here: go on first" % function)
        if self.session:
            self.session.close()
        now = monitor("when")
        here = ["--at", now.split()[1].rstrip(",")] if is_in(function) and "altered" not in now else ["--call", str(begun)]
        self.session = RepairSession(function, here + words[1:])
        self.tell(self.session.ask("start"))

    def tell(self, answer):
        if answer is None:
            said = self.session.close()
            self.session = None
            raise gdb.GdbError(said or "the session has ended")
        print("\n".join(answer[1:]))  # behind the command itself

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument) or ["repair"]
        if words[0] not in REPAIR:
            raise gdb.GdbError("repair %s: there is %s" % (words[0], ", ".join(REPAIR)))
        if words[0] == "start":
            self.start(words[1:])
        elif not self.session:
            raise gdb.GdbError("repair start begins it")
        elif words[0] == "quit":
            self.session.close()
            self.session = None
        else:
            self.tell(self.session.ask(argument or "repair"))


Repair()
