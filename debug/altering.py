# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Paper 002, section 2.1.1: statements left out, predicates switched, in an altered run.



class Statement:
    """A line of the program's, as its instructions are."""

    def __init__(self, spec):
        try:
            places = [s for s in gdb.decode_line(spec)[1] or () if s.symtab]
        except gdb.error as e:
            raise gdb.GdbError(str(e))
        if not places:
            raise gdb.GdbError("'%s' is no line that there is code of" % spec)
        self.symtab, self.line = places[0].symtab, places[0].line
        self.starts = sorted({s.pc for s in places})
        self.name = "%s:%d" % (self.symtab.filename, self.line)

    def pieces(self):
        """Where it lies: [(start, end)], ascending, each as long as it can be."""
        pieces = []
        for entry in self.symtab.linetable().line(self.line) or ():
            at = entry.pc
            if pieces and at < pieces[-1][1]:
                continue
            end = at
            while (sal := gdb.find_pc_line(end)).line == self.line and sal.symtab \
                    and sal.symtab.filename == self.symtab.filename and sal.last:
                end = sal.last + 1
            if end > at:
                pieces.append((at, end))
        return pieces or [(pc, gdb.find_pc_line(pc).last + 1) for pc in self.starts]

    def predicate(self):
        """Its conditional branches: {address: (taken, not taken)}, where these leave the statement
        (0: they do not)."""
        pieces = self.pieces()
        code = [i for start, end in pieces
                for i in gdb.selected_inferior().architecture().disassemble(start, end - 1)]
        at = {i["addr"]: i for i in code}
        target = {a: int(m.group(1), 16) for a, i in at.items()
                  if (m := re.match(r"(?:bnd |notrack )?j\w+\s+0x([0-9a-f]+)", i["asm"]))}

        def leads_to(address):
            """Outside, through jumps that nothing decides."""
            for _ in range(16):
                if not any(start <= address < end for start, end in pieces):
                    return address
                if not re.match(r"(bnd )?jmp", at.get(address, {}).get("asm", "")) or address not in target:
                    return 0
                address = target[address]
            return 0

        return {a: (leads_to(target[a]), leads_to(a + i["length"])) for a, i in at.items()
                if a in target and not re.match(r"(bnd )?jmp|j[er]?cxz", i["asm"])}

    def switched(self):
        """The turns that invert the predicate, and where its instances begin."""
        branches = {a: e for a, e in self.predicate().items() if any(e)}
        if not branches:
            raise gdb.GdbError("%s has no conditional branch to be switched" % self.name)
        ends = {e for pair in branches.values() for e in pair if e}
        turns = []
        for address, (taken, not_taken) in branches.items():
            if len(ends) == 2:
                other = {e: (ends - {e}).pop() for e in ends}
                turns.append("f:%x:%x:%x" % (address, other.get(taken, 0), other.get(not_taken, 0)))
            elif taken and not_taken:
                turns.append("f:%x:%x:%x" % (address, not_taken, taken))
        starts = [start for start, end in self.pieces() if any(start <= a < end for a in branches)]
        return turns, starts

    def instances(self):
        """Where its instances begin: a predicate's where it is evaluated."""
        try:
            return self.switched()[1]
        except gdb.GdbError:
            return self.starts


def count(addresses):
    """How often one of the addresses was executed before here."""
    return int(stub("count " + " ".join("%x" % a for a in addresses)).splitlines()[-1])


def alter(which, addresses, turns, what):
    """Begin an altered run here, in which turns are taken at all instances, the next, or one."""
    if which == "all":
        nth, told = 0, "each instance"
    elif which == "once":
        nth, told = 1, "the next instance"
    else:
        before = count(addresses)
        nth, told = int(which) - before, "instance " + which
        if nth < 1:
            raise gdb.GdbError("instance %s was before here: %d have begun; go back first" % (which, before))
    starts = ["s:%x" % a for a in addresses] if not turns[0].startswith("r") else []
    answer = monitor("alter %d %s" % (nth, " ".join(starts + turns)))
    if answer:
        print(answer)
    print("%s of %s in the altered run that begins here" % (told, what))


class Altering(gdb.Command):
    """What switch and suppress share."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_RUNNING, gdb.COMPLETE_LOCATION)

    def split(self, argument):
        words = argument.split()
        if not words or len(words) > 2:
            raise gdb.GdbError("%s takes a place, and which of its instances: all, once, or a number"
                               % self.name)
        which = words[1] if len(words) == 2 else "once"
        if which not in ("all", "once") and not (which.isdigit() and int(which)):
            raise gdb.GdbError("'%s': all, once, or a number from 1" % which)
        return words[0], which


class Switch(Altering):
    """Invert the outcome of a predicate, in an altered run that begins here.

switch FILE:LINE [all|once|N]    each time, the next time (as without it), or its Nth
                                 instance, counted from the beginning of the recorded run

`continue' and the like then go on in the altered run; going back, or `seek', leaves it."""

    name = "switch"

    def __init__(self):
        super().__init__("switch")

    def invoke(self, argument, from_tty):
        place, which = self.split(argument)
        statement = Statement(place)
        turns, starts = statement.switched()
        alter(which, starts, turns, statement.name + " is switched")


class Suppress(Altering):
    """Leave a statement or a call out, in an altered run that begins here.

suppress FILE:LINE [all|once|N]    the statement: each time, the next time (as without it),
                                   or its Nth instance, counted from the beginning of the
                                   recorded run
suppress FUNCTION [all|once|N]     calls of the function: it returns at once what is in rax

`continue' and the like then go on in the altered run; going back, or `seek', leaves it."""

    name = "suppress"

    def __init__(self):
        super().__init__("suppress")

    def invoke(self, argument, from_tty):
        place, which = self.split(argument)
        if ":" not in place and not place.isdigit():
            entries = function_entries(place)
            alter(which, entries, ["r:%x" % a for a in entries], "the call of %s is left out" % place)
            return
        statement = Statement(place)
        alter(which, statement.starts, ["j:%x:%x" % piece for piece in statement.pieces()],
              statement.name + " is left out")


Switch()
Suppress()
