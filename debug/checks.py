# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Bug rules (paper 002, chapter 3): what `faultline check' finds, to stand before it, and to go along the ways
# of the values.

import json


class Findings:
    """What was found in this process's run, and where on which way it is stood."""

    def __init__(self):
        self.of, self.list, self.at, self.links, self.link = None, [], None, [], None

    def ask(self, only):
        """Run the check, unless the same was asked last."""
        command = command_on_capture(["check", "--json"] + (["--only", only] if only else []))
        if self.of == command:
            return
        output = run_command(command)
        self.__init__()
        self.list = json.loads(output)["findings"]
        self.of = command

    def need(self):
        if self.of is None:
            self.ask(None)
        if not self.list:
            raise gdb.GdbError("nothing is wrong by any rule that was asked")


findings = Findings()


def spot(at):
    """A place of the check's, for people."""
    if at.get("line"):
        return "%s:%d in %s" % (at["file"], at["line"], at.get("function") or "?")
    return "%s: %s" % (at.get("file") or "unknown code", at.get("function") or "%#x" % at.get("address", 0))


def arrive(position):
    answer = go(position)
    if answer.startswith("cannot "):
        raise gdb.GdbError(answer)
    gdb.execute("frame")


class Check(gdb.Command):
    """Look for what bug rules say is wrong in the recorded run, and go there.

check               list what is found (`faultline check', which replays the run), or was
check RULE,..       by these rules
check goto N        stand just before finding N happens

`chain' then tells how its values came there."""

    def __init__(self):
        super().__init__("check", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if words[:1] == ["goto"]:
            self.goto(words[1:])
            return
        if len(words) > 1:
            raise gdb.GdbError("check, check RULE,.., or check goto N")
        findings.ask(words[0] if words else None)
        if not findings.list:
            print("nothing is wrong by any rule that was asked")
        for i, found in enumerate(findings.list):
            print("%d. [%s] %s at %s  (position %d%s)" % (
                i + 1, found["rule"], found["message"], spot(found["at"]), found["time"],
                ", %d times" % found["instances"] if found["instances"] > 1 else ""))

    def goto(self, words):
        findings.need()
        if len(words) != 1 or not words[0].isdigit() or not 1 <= int(words[0]) <= len(findings.list):
            raise gdb.GdbError("check goto takes the number of a finding, 1 to %d" % len(findings.list))
        found = findings.list[int(words[0]) - 1]
        findings.at, findings.link = found, None
        findings.links = [(c, k) for c in found["chains"] for k in c["links"]]
        print("[%s] %s" % (found["rule"], found["message"]))
        arrive(found["time"])

    def complete(self, text, word):
        return [w for w in ("goto",) if w.startswith(word)]


class Chain(gdb.Command):
    """Go along the ways that the values of a finding came, the latest statement first.

chain           list the statements, with the values
chain next      stand before the next one, going back to where the value was made
chain previous  .. the other way; from the first, to the finding"""

    def __init__(self):
        super().__init__("chain", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if findings.at is None:
            raise gdb.GdbError("stand before a finding first: check goto N")
        argument = argument.strip()
        if argument in ("next", "previous"):
            self.step(1 if argument == "next" else -1)
        elif argument:
            raise gdb.GdbError("chain, chain next, or chain previous")
        else:
            self.list()

    def list(self):
        if not findings.links:
            print("no way of a value is known")
        for i, (chain, link) in enumerate(findings.links):
            if i == 0 or findings.links[i - 1][0] is not chain:
                print("%s came by" % chain["of"])
            print("%s%s%s%s  (position %d)" % (
                "> " if i == findings.link else "  ", spot(link),
                " = " + link["value"] if link["value"] else "", ", by arithmetic" if link["arithmetic"] else "",
                link["time"]))
            if i + 1 == len(findings.links) or findings.links[i + 1][0] is not chain:
                print("  it was %s" % {"allocated": "what the allocation returned", "made": "made there",
                                       "input": "input", "initial": "there when the program began",
                                       "far": "there longer ago than is looked back"}[chain["end"]])

    def step(self, by):
        to = by - 1 if findings.link is None else findings.link + by
        if to == -1 and findings.link is not None:
            findings.link = None
            arrive(findings.at["time"])
            return
        if not 0 <= to < len(findings.links):
            raise gdb.GdbError("there is no statement %s: `chain' lists them"
                               % ("behind the last one" if by > 0 else "before the first one"))
        findings.link = to
        chain, link = findings.links[to]
        print("%s%s at %s" % (chain["of"], " = " + link["value"] if link["value"] else "", spot(link)))
        arrive(link["time"])

    def complete(self, text, word):
        return [w for w in ("next", "previous") if w.startswith(word)]


Check()
Chain()
