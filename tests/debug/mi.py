# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""mi.py FAULTLINE CAPTURE CASE: what a front end does that speaks gdb/MI: a session in which each answer is
waited for."""
import os
import re
import signal
import subprocess
import sys


class FrontEnd:
    def __init__(self, faultline, capture):
        self.gdb = subprocess.Popen([faultline, "debug", capture, "--", "-nx", "--interpreter=mi2"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number, self.stopped, self.console = 0, None, ""

    def ask(self, command):
        """The result record of a command; self.console: what it printed."""
        self.number, self.console = self.number + 1, ""
        self.gdb.stdin.write("%d%s\n" % (self.number, command))
        self.gdb.stdin.flush()
        while line := self.gdb.stdout.readline():
            if line.startswith("*stopped"):
                self.stopped = line
            if line.startswith("~"):
                self.console += line
            if line.startswith("%d^" % self.number):
                assert "^error" not in line, (command, line)
                return line
        raise EOFError(command)

    def move(self, command, is_interrupted=False):
        """What it stops for; Ctrl-C comes with the first word of how far it is."""
        self.stopped = None
        self.ask(command)
        while not self.stopped:
            line = self.gdb.stdout.readline()
            assert line, command
            if is_interrupted and line.startswith('@"at instruction'):
                os.kill(self.gdb.pid, signal.SIGINT)
            if line.startswith("*stopped"):
                self.stopped = line
        return self.stopped


def shown(line, name):
    return re.search(r'\b%s="((?:[^"\\]|\\.)*)"' % name, line).group(1)


def session(f):
    """One on `debugged crash': a crash, variables, the way back, threads."""
    f.ask("-interpreter-exec console \"handle SIGUSR1 nostop noprint pass\"")
    assert "SIGSEGV" in f.move("-exec-continue")
    frames = re.findall(r'func="(\w+)"', f.ask("-stack-list-frames"))
    assert frames[:2] == ["sum", "main"], frames
    assert "n" in f.ask("-stack-list-variables --simple-values")
    variable = f.ask("-var-create link * head")
    assert shown(variable, "type") == "struct node *", variable
    assert shown(f.ask("-var-list-children --all-values link"), "numchild") == "3"
    f.ask("-interpreter-exec console \"watch -l head->next->next\"")
    stop = f.move("-exec-continue --reverse")
    assert shown(stop, "reason") == "watchpoint-trigger" and shown(stop, "func") == "fill", stop
    assert shown(f.ask("-data-evaluate-expression i"), "value") == "13"
    f.ask("-break-delete")
    f.ask("-break-insert -c \"i == 5\" fill")
    f.ask("-break-insert -c \"value == 3\" add")
    stop = f.move("-exec-continue --reverse")
    assert shown(stop, "reason") == "breakpoint-hit" and shown(stop, "func") == "add", stop
    line = int(shown(f.move("-exec-next"), "line"))
    assert int(shown(f.move("-exec-next --reverse"), "line")) < line
    assert shown(f.move("-exec-finish"), "func") == "main"
    assert shown(f.move("-exec-step --reverse"), "func") in ("add", "main")
    threads = f.ask("-thread-info")
    assert shown(threads, "name") == "debugged", threads
    # Commands of ours, from a front end's console.
    assert shown(f.move("-interpreter-exec console \"last-write head\""), "func") == "add"
    assert "done" in f.ask("-interpreter-exec console \"when\"")


def interrupt(f):
    """Ctrl-C on the way back, in a run of more than 1 G instructions, at an address where nothing is."""
    f.ask("-interpreter-exec console \"seek 1000000000\"")
    f.ask("-break-watch -r *(long*)4096")
    assert "SIGINT" in f.move("-exec-continue --reverse", True), f.stopped
    f.ask("-interpreter-exec console \"when\"")
    here = int(re.search(r"position (\d+)", f.console).group(1))
    assert 0 < here < 1000000000, here


front_end = FrontEnd(*sys.argv[1:3])
globals()[sys.argv[3]](front_end)
front_end.ask("-gdb-exit")
assert front_end.gdb.wait(60) == 0
