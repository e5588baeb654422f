# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Backward slices: paper 002, section 2.1.4 and chapter 5. The stub makes them of instructions; here they
# become entries: instances of the program's lines.

import bisect
import json

STATEMENT_MOST = 64  # instructions of a line that are looked for
DUE = {"d": {"m": "Memory", "r": "Register", "-": "Register", "i": "an input"}, "a": "an address", "c": "Control"}


class Node:
    """An instance of an instruction, or an input."""

    def __init__(self, line):
        words = line.split()
        self.position, self.thread, self.rip = int(words[0]), int(words[1]), int(words[2], 16)
        self.parent, self.edge, self.what = int(words[3]), words[4], words[5]
        self.entry = None


class Entry:
    """An instance of a statement in a slice."""

    def __init__(self, node, key):
        self.position, self.last, self.thread, self.rip = node.position, node.position, node.thread, node.rip
        self.key, self.end, self.why, self.needs = key, node.rip, None, None

    def takes(self, node, key):
        """Whether a later node is of the same instance."""
        if (key, node.thread) != (self.key, self.thread) or (node.rip <= self.end and node.position != self.last):
            return False
        self.last, self.end = node.position, node.rip
        return True


def own(rip):
    """What statement of the program's own an instruction is of; None: it is a library's."""
    if not rip or gdb.solib_name(rip):
        return None
    line = gdb.find_pc_line(rip)
    return (line.symtab.filename, line.line) if line.symtab else rip


class Slice:
    def __init__(self, asked, seeds):
        self.asked, self.seeds, self.prunes, self.pruned = asked, seeds, [], []
        self.points = []
        self.entries = []

    def make(self):
        answer = stub("slice " + self.words()).splitlines()[-1]
        n, self.instances, full, self.begin, self.run = (int(w) for w in answer.split())
        nodes = []
        while len(nodes) < n:
            nodes += [Node(line) for line in stub("slice-nodes %d" % len(nodes)).splitlines()
                      if re.match(r"\d+ \d+ ", line)]
        self.is_full, self.told = bool(full), len(nodes)
        self.group(nodes)

    def words(self):
        """What is asked of the stub."""
        spans = bounds.spans()
        begin = ["b:%d" % spans[0][0]] if spans and spans[0][0] else []
        return " ".join(self.seeds + begin + linker() + self.prunes)

    def group(self, nodes):
        """Entries, the earliest first."""
        keys = {}
        for node in nodes:
            if node.rip not in keys:
                keys[node.rip] = own(node.rip)
        if any(isinstance(key, tuple) for key in keys.values()):
            keys = {rip: key if isinstance(key, tuple) else None for rip, key in keys.items()}
        self.entries = []
        for node in sorted((n for n in reversed(nodes) if keys[n.rip] is not None), key=lambda n: n.position):
            if not self.entries or not self.entries[-1].takes(node, keys[node.rip]):
                self.entries.append(Entry(node, keys[node.rip]))
            node.entry = self.entries[-1]
        for node in nodes:
            if node.entry and not node.entry.needs:
                self.link(nodes, node)

    def link(self, nodes, node):
        """What else needed this one's entry: what libraries did in between is gone through."""
        at = node
        for _ in range(1000):
            if at.parent < 0:
                return
            why, at = DUE[at.edge], nodes[at.parent]
            if at.entry and at.entry is not node.entry:
                node.entry.needs = at.entry
                node.entry.why = why[node.what] if isinstance(why, dict) else why
                return

    def number(self, entry):
        return self.entries.index(entry) + 1

    def tell(self, number):
        entry = self.entries[number - 1]
        text = "#%d  %s, position %d" % (number, place(entry.rip), entry.position)
        if entry.needs:
            text += " -> #%d %s due to %s" % (self.number(entry.needs), line_of(entry.needs), entry.why)
        return text

    def summary(self):
        text = "%s: %d entries at %d statements" % (self.asked, len(self.entries), len({e.key for e in self.entries}))
        if self.pruned:
            text += ", without " + ", ".join(self.pruned)
        if self.points:
            text += "; breakpoints"
        return text


def line_of(entry):
    return "%s:%d" % entry.key if isinstance(entry.key, tuple) else "%#x" % entry.key


def linker():
    """What the dynamic linker fills in counts as an input."""
    text = gdb.execute("info sharedlibrary", to_string=True)
    return ["S:%s:%s" % m.groups() for m in re.finditer(r"^(0x\w+)\s+(0x\w+)\s.*/ld[-.][^/]*$", text, re.M)]


class Slices:
    """Those that were made."""

    def __init__(self):
        self.made, self.next, self.current = {}, 1, None

    def add(self, made):
        self.made[self.next] = made
        self.current = self.next
        self.next += 1
        return self.current

    def find(self, word):
        if not self.made:
            raise gdb.GdbError("there is no slice yet: see help slice")
        if word and (not word.isdigit() or int(word) not in self.made):
            raise gdb.GdbError("there is no slice %s: `info slices' lists them" % word)
        self.current = int(word or self.current)
        return self.made[self.current]

    def complete(self, word):
        return [str(n) for n in self.made if str(n).startswith(word)]


slices = Slices()


def statement_here():
    """The positions of what is left of the line here, or of the instruction."""
    line, pc = gdb.find_pc_line(gdb.newest_frame().pc()), gdb.newest_frame().pc()
    pieces = Statement("*%#x" % pc).pieces() if line.symtab else []
    home, found = here(), []
    while len(found) < STATEMENT_MOST:
        found.append(here())
        try:
            with quietly():
                gdb.execute("nexti", to_string=True)
        except gdb.error:
            break
        pc = gdb.newest_frame().pc()
        if here() <= found[-1] or not any(start <= pc < end for start, end in pieces):
            break
    go(home)
    return found


def seeds_of(expressions):
    """What the slice begins with, here."""
    at, seeds = here(), []
    for expression in expressions:
        location = Location(expression)
        if location.register and not location.saved:
            seeds.append("r:%d:%s:%d" % (at, location.register, min(location.size, 64)))
        else:
            seeds.append("m:%d:%d:%d" % (at, location.saved if location.register else location.address,
                                         8 if location.register else location.size))
    return seeds


class SliceCommand(gdb.Command):
    """Make the backward slice of a place in the run: what had a part in the values there.

slice                       of all that the line here uses; at a crash, of what crashed
slice LINE [N]              of all that the line uses, the last time before here, or the Nth
slice LINE [N] WHAT...      only of these, as the line begins: variables, $registers, *ADDRESS,
slice . WHAT...             .. or here

It gets a number. Entries are instances of the program's lines; what libraries do counts for what
needed it. `region' bounds it.

slice show [ID [FIRST]]     the last 20 entries, or 20 from number FIRST: what needed each, and why
slice step [ID]             go to the next entry; slice reverse-step: to the one before
slice next [ID]             .. passing over calls; slice reverse-next
slice save ID FILE          write it to a file
slice load FILE             .. and have it again, in another session
slice capture DIR [ID]      write a capture of it alone"""

    def __init__(self):
        super().__init__("slice", gdb.COMMAND_DATA, gdb.COMPLETE_LOCATION, True)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words:
            return self.made("here", ["crash"] if self.is_crash() else ["i:%d" % p for p in statement_here()])
        place_word, nth, what = words[0], None, words[1:]
        if what and what[0].isdigit():
            nth, what = int(what[0]), what[1:]
        if place_word == ".":
            if not what or nth is not None:
                raise gdb.GdbError("slice . takes variables, $registers, or *ADDRESS")
            return self.made(" ".join(what) + " here", seeds_of(what))
        return self.elsewhere(place_word, nth, what)

    def is_crash(self):
        return monitor("at-crash") == "yes"

    def elsewhere(self, spec, nth, what):
        statement = Statement(spec)
        addresses, home = statement.instances(), here()
        if nth is None:
            nth = count(addresses) + (gdb.newest_frame().pc() in addresses)
        if not nth:
            raise gdb.GdbError("%s has not been executed yet" % statement.name)
        answer = go("execution %d %s" % (nth, " ".join("%x" % a for a in addresses)))
        if answer.startswith("cannot"):
            raise gdb.GdbError(answer)
        try:
            seeds = seeds_of(what) if what else ["i:%d" % p for p in statement_here()]
        finally:
            go(home)
        self.made("%s%s, instance %d" % (" ".join(what) + " at " if what else "", statement.name, nth), seeds)

    def made(self, asked, seeds):
        made = Slice(asked, seeds)
        made.make()
        print("slice %d of %s" % (slices.add(made), made.summary()))
        if made.is_full:
            print("it is incomplete: more memory was wanted than is kept track of")
        if made.instances > made.told:
            print("of its %d instances, the earlier ones of each instruction are not told apart" % made.instances)


class SlicePart(gdb.Command):
    """What the commands below slice share: they begin with a slice's number."""

    def __init__(self, name):
        super().__init__("slice " + name, gdb.COMMAND_DATA)

    def complete(self, text, word):
        return slices.complete(word)


class Show(SlicePart):
    """List entries of a slice: the last 20, or 20 from number FIRST on.

slice show [ID [FIRST]]"""

    def invoke(self, argument, from_tty):
        words = argument.split()
        chosen = slices.find(words[0] if words else None)
        if len(words) > 1 and not words[1].isdigit():
            raise gdb.GdbError("slice show takes a slice's number, and one to begin with")
        first = max(1, int(words[1]) if len(words) > 1 else len(chosen.entries) - 19)
        for number in range(first, min(first + 20, len(chosen.entries) + 1)):
            print(chosen.tell(number))


class Along(SlicePart):
    """Go to the next entry of a slice, or to the one before."""

    def __init__(self, name, is_back, passes_calls):
        self.is_back, self.passes_calls = is_back, passes_calls
        super().__init__(name)

    def invoke(self, argument, from_tty):
        chosen, at = slices.find(argument.strip()), here()
        positions = [e.position for e in chosen.entries]
        if self.is_back:
            numbers = range(bisect.bisect_left(positions, at), 0, -1)
        else:
            numbers = range(bisect.bisect_right(positions, at) + 1, len(positions) + 1)
        outer, thread = self.outer(), gdb.selected_thread().ptid[1]
        for number in numbers:
            entry = chosen.entries[number - 1]
            if self.passes_calls and entry.thread != thread:
                continue
            go(entry.position)
            if not self.passes_calls or self.outer() >= outer:
                print("slice %d, %s" % (slices.current, chosen.tell(number)))
                gdb.execute("frame")
                return
        go(at)
        print("no entry of slice %d lies %s" % (slices.current, "before" if self.is_back else "behind"))

    def outer(self):
        """Where the frame of the caller begins."""
        if not self.passes_calls:
            return 0
        caller = gdb.newest_frame().older()
        return int(caller.read_register("rsp")) & (1 << 64) - 1 if caller else 1 << 64


class Save(gdb.Command):
    """Write a slice to a file, which `slice load' reads in any session on this capture.

slice save ID FILE"""

    def __init__(self):
        super().__init__("slice save", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        number, _, path = argument.strip().partition(" ")
        if not path:
            raise gdb.GdbError("slice save takes a slice's number and a file")
        chosen = slices.find(number)
        saved = {"faultline-slice": 1, "run": chosen.run, "process": gdb.selected_inferior().pid,
                 "of": chosen.asked, "seeds": chosen.seeds, "prunes": chosen.prunes, "without": chosen.pruned,
                 "entries": [[e.position, e.thread, e.rip] for e in chosen.entries]}
        try:
            with open(path.strip(), "x", encoding="utf-8") as file:
                json.dump(saved, file)
        except OSError as e:
            raise gdb.GdbError("cannot write %s: %s" % (path.strip(), e.strerror))


class Load(gdb.Command):
    """Have a slice again that `slice save' wrote.

slice load FILE"""

    def __init__(self):
        super().__init__("slice load", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        path = argument.strip()
        try:
            with open(path, encoding="utf-8") as file:
                saved = json.load(file)
            loaded = Slice(str(saved["of"]), [str(s) for s in saved["seeds"]])
            loaded.prunes, loaded.pruned = ([str(p) for p in saved[k]] for k in ("prunes", "without"))
            entries = [[int(n) for n in e] for e in saved["entries"]]
            run, process = int(saved["run"]), int(saved["process"])
        except OSError as e:
            raise gdb.GdbError("cannot read %s: %s" % (path, e.strerror))
        except (ValueError, KeyError, TypeError):
            raise gdb.GdbError("%s is no slice that `slice save' wrote" % path)
        if any(not re.fullmatch(r"crash|[irmMSCR]:[\w:]+", w) for w in loaded.seeds + loaded.prunes):
            raise gdb.GdbError("%s is no slice that `slice save' wrote" % path)
        loaded.make()
        if (run, process) != (loaded.run, gdb.selected_inferior().pid) or \
                entries != [[e.position, e.thread, e.rip] for e in loaded.entries]:
            raise gdb.GdbError("%s is of another capture, or another region of it" % path)
        print("slice %d of %s" % (slices.add(loaded), loaded.summary()))


class CaptureSlice(gdb.Command):
    """Write a capture of a slice alone: the run up to what it is of, without the rest.

slice capture DIR [ID]    DIR is made; `faultline debug DIR' debugs it"""

    def __init__(self):
        super().__init__("slice capture", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not 0 < len(words) < 3:
            raise gdb.GdbError("slice capture takes a new directory, and a slice's number")
        chosen = slices.find(words[1] if len(words) > 1 else None)
        print(run_command(command_on_capture(["slice", "--at", chosen.asked, "--asked", chosen.words(), "--capture", words[0]])).strip())


class Prune(gdb.Command):
    """Do not follow, in a slice, what came through registers, variables or functions.

prune ID WHAT...    $register, a function, a variable or other memory as it is here

The slice is made anew, without them."""

    def __init__(self):
        super().__init__("prune", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if len(words) < 2:
            raise gdb.GdbError("prune takes a slice's number, and what is not to be followed")
        chosen = slices.find(words[0])
        pruned = [self.as_asked(word) for word in words[1:]]
        before, kept = len(chosen.entries), (chosen.prunes, chosen.pruned)
        chosen.prunes, chosen.pruned = chosen.prunes + pruned, chosen.pruned + words[1:]
        try:
            chosen.make()
        except gdb.GdbError:
            chosen.prunes, chosen.pruned = kept
            raise
        clear(chosen)
        print("slice %d of %s; there were %d entries" % (slices.current, chosen.summary(), before))

    def as_asked(self, word):
        symbol = gdb.lookup_global_symbol(word) or gdb.lookup_static_symbol(word)
        if symbol and symbol.type and symbol.type.code == gdb.TYPE_CODE_FUNC:
            block = gdb.block_for_pc(int(symbol.value().address))
            return "C:%#x:%#x" % (block.start, block.end)
        location = Location(word)
        if location.register:
            return "R:" + location.register
        return "M:%#x:%#x" % (location.address, location.address + location.size)


class Point(gdb.Breakpoint):
    """Stops at entries of a slice, not at each execution of their lines."""

    def __init__(self, address, positions):
        super().__init__("*%#x" % address)
        self.positions = positions

    def stop(self):
        return here() in self.positions


def clear(chosen):
    for point in chosen.points:
        if point.is_valid():
            point.delete()
    chosen.points = []


class SBreak(gdb.Command):
    """Break at entries of a slice: at these instances, not whenever their lines are executed.

sbreak ID N[,N...]    entries, as `slice show' numbers them
sbreak all ID         all of them

Others that were set of this slice are gone. `sdelete ID' deletes them."""

    def __init__(self):
        super().__init__("sbreak", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        words = argument.replace(",", " ").split()
        if len(words) < 2:
            raise gdb.GdbError("sbreak takes a slice's number and entries, or `all' and a slice's number")
        is_all = words[0] == "all"
        chosen = slices.find(words[1] if is_all else words[0])
        numbers = range(1, len(chosen.entries) + 1) if is_all else words[1:]
        at = {}
        for number in numbers:
            if not is_all and not (number.isdigit() and 0 < int(number) <= len(chosen.entries)):
                raise gdb.GdbError("slice %d has entries 1 to %d, not %s"
                                   % (slices.current, len(chosen.entries), number))
            entry = chosen.entries[int(number) - 1]
            at.setdefault(entry.rip, set()).add(entry.position)
        clear(chosen)
        chosen.points = [Point(address, positions) for address, positions in at.items()]
        print("it stops at %d entries, at %d places" % (sum(len(p) for p in at.values()), len(at)))

    def complete(self, text, word):
        return slices.complete(word) + ([] if text != word or not "all".startswith(word) else ["all"])


class SDelete(gdb.Command):
    """Delete the breakpoints that `sbreak' set at slice ID, and the slice."""

    def __init__(self):
        super().__init__("sdelete", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        if not argument.strip():
            raise gdb.GdbError("sdelete takes a slice's number")
        clear(slices.find(argument.strip()))
        del slices.made[slices.current]
        slices.current = max(slices.made, default=None)

    def complete(self, text, word):
        return slices.complete(word)


class InfoSlices(gdb.Command):
    """List the slices: number, what of, how large, what was pruned."""

    def __init__(self):
        super().__init__("info slices", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for number, made in sorted(slices.made.items()):
            print("%3d  %s" % (number, made.summary()))
        if not slices.made:
            print("No slices.")


SliceCommand()
Show("show")
Along("step", False, False)
Along("reverse-step", True, False)
Along("next", False, True)
Along("reverse-next", True, True)
Save()
Load()
CaptureSlice()
Prune()
SBreak()
SDelete()
InfoSlices()
