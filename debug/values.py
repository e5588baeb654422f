# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Where values come from: last-write, history, origin. Paper 002's `record' and 005's regions say what
# part of the run is looked at.

FOREVER = (1 << 63) - 1
PIECES_MOST = 16


def place(address):
    """An address for people: its function and line."""
    line = gdb.find_pc_line(address)
    try:
        function = gdb.block_for_pc(address)
        while function and not function.function:
            function = function.superblock
    except RuntimeError:
        function = None
    if function:
        name = function.function.name
    else:
        name = gdb.execute("info symbol %d" % address, to_string=True).split(" in section")[0].strip()
        if name.startswith("No symbol"):
            name = "%#x" % address
    return "%s at %s:%d" % (name, line.symtab.filename, line.line) if line.symtab else name


# ---- the part of the run that is looked at ---------------------------------------------------------


def outside():
    """Who writes what no instruction does."""
    return "what was left out, or the kernel" if is_sliced() else "the kernel"


class Bounds:
    """Set by `region' and `record'."""

    def __init__(self):
        self.region = [None, None]
        self.marks = {"on": None, "off": None}

    def spans(self):
        """Positions that are looked at: [(from, to)], ascending."""
        begin, end = self.region[0] or 0, FOREVER if self.region[1] is None else self.region[1]
        on, off = self.marks["on"], self.marks["off"]
        if not on and not off:
            return [(begin, end)] if begin < end else []
        spans, at = [], begin
        while at < end and len(spans) < 64:
            start = at if not on else next_execution(at, on)
            if start is None or start >= end:
                break
            stop = next_execution(start + 1, off) if off else None
            spans.append((start, min(end, stop or end)))
            if not on or stop is None:
                break
            at = stop
        return spans

    def before(self, here):
        """Those that end at or before here, the last one first."""
        return [(since, min(until, here)) for since, until in reversed(self.spans()) if since < here]

    def is_set(self):
        return self.region != [None, None] or any(self.marks.values())


bounds = Bounds()


def next_execution(position, statement):
    answer = stub("next %d %s" % (position, " ".join("%x" % a for a in statement.instances())))
    return int(answer.splitlines()[-1]) if answer.splitlines()[-1].isdigit() else None


def here():
    """The position."""
    return int(monitor("when").split()[1].rstrip(","))


class Region(gdb.Command):
    """Bound what last-write, history, origin and slices look at, by places in the run.

region begin     from here on
region end       up to here
region delete    all of the run again
region           tell"""

    def __init__(self):
        super().__init__("region", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        argument = argument.strip()
        if argument in ("begin", "end"):
            bounds.region[argument == "end"] = here()
        elif argument == "delete":
            bounds.region = [None, None]
        elif argument:
            raise gdb.GdbError("region begin, region end, region delete, or region")
        begin, end = bounds.region
        print("the region: from %s to %s" % ("the beginning" if begin is None else "position %d" % begin,
                                             "the end" if end is None else "position %d" % end))

    def complete(self, text, word):
        return [w for w in ("begin", "end", "delete") if w.startswith(word)]


class Record(gdb.Command):
    """Bound what last-write, history, origin and slices look at, by lines of the program.

record FILE:LINE on     each time that the line is reached, from there on
record FILE:LINE off    up to where the line is reached
record off              all of the run again
record                  tell

gdb's own recorder, of this name elsewhere, has nothing to do here: all is recorded."""

    def __init__(self):
        super().__init__("record", gdb.COMMAND_DATA, gdb.COMPLETE_LOCATION)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if len(words) == 2 and words[1] in ("on", "off"):
            bounds.marks[words[1]] = Statement(words[0])
        elif words == ["off"]:
            bounds.marks = {"on": None, "off": None}
        elif words:
            raise gdb.GdbError("record takes FILE:LINE on, FILE:LINE off, off, or nothing")
        on, off = bounds.marks["on"], bounds.marks["off"]
        print("looked at: %s%s" % ("from %s on" % on.name if on else "from the beginning",
                                   ", up to %s" % off.name if off else ""))
        for since, until in bounds.spans() if on or off else []:
            print("  position %d to %s" % (since, until if until < FOREVER else "the end"))


# ---- where a value is --------------------------------------------------------------------------------

GENERAL = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp") + tuple("r%d" % i for i in range(8, 16))


def whole_register(name):
    """The machine's name of the register that a register of gdb's is a part of."""
    name = {"sp": "rsp", "fp": "rbp"}.get(name, name)
    for whole in GENERAL:
        short = whole[1:]
        parts = {whole, "e" + short, short, whole + "d", whole + "w", whole + "b", whole + "l",
                 short[0] + "l", short[0] + "h", short + "l"}
        if name == whole or (not short.isdigit() and name in parts - {whole + "d"} and
                             (len(short) == 2 and (short[1] == "x" or name not in (short[0] + "l", short[0] + "h")))) \
                or (short.isdigit() and name in (whole + "d", whole + "w", whole + "b", whole + "l")):
            return whole
    if m := re.fullmatch(r"[xyz]mm(\d+)", name):
        return "zmm" + m.group(1)
    return name if re.fullmatch(r"k[0-7]", name) else None


def saved_at(name):
    """Where an inner frame has put the register that the selected frame had; None: it is still there."""
    if gdb.selected_frame() == gdb.newest_frame():
        return None
    text = gdb.execute("info frame", to_string=True)
    inner = gdb.selected_frame().newer()
    inner.select()
    try:
        text = gdb.execute("info frame", to_string=True)
    finally:
        inner.older().select()
    found = re.search(r"\b%s at (0x[0-9a-f]+)" % name, text.partition("Saved registers")[2])
    return int(found.group(1), 16) if found else None


class Location:
    """Memory, or a register of a thread's."""

    def __init__(self, expression):
        self.text = expression
        try:
            self.value = gdb.parse_and_eval(expression)
            self.type = self.value.type
            self.size = self.type.sizeof
            address = self.value.address
        except gdb.error as e:
            raise gdb.GdbError("%s: %s" % (expression, e))
        self.register = None if address is not None else self.find_register()
        if self.register:
            self.thread = gdb.selected_thread().ptid[1]
            self.saved = saved_at(self.register)
        elif address is not None:
            self.address = int(address)

    def find_register(self):
        """By its name, or what DWARF says of the variable here."""
        text = self.text.strip()
        if text.startswith("$"):
            name = text[1:]
        else:
            name = None
            if re.fullmatch(r"\w+", text):
                name = self.described(gdb.execute("info address " + text, to_string=True))
        register = whole_register(name) if name else None
        if not register:
            raise gdb.GdbError("'%s' is not in memory, nor in a register: it is worked out when asked for" % text)
        return register

    def described(self, text):
        pc = gdb.selected_frame().pc() - (gdb.selected_frame() != gdb.newest_frame())
        for m in re.finditer(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*)", text):
            if int(m.group(1), 16) <= pc < int(m.group(2), 16):
                text = m.group(3)
                break
        m = re.search(r"(?:variable in|DW_OP_reg\d+) \[?\$(\w+)", text)
        return m.group(1) if m and "piece" not in text and "stack_value" not in text else None

    def writers(self, most):
        """The last writes of it: position, thread, who, value as text; the last one first."""
        for since, until in bounds.before(here()):
            for line in self.ask(most, since, until).splitlines():
                words = line.split()
                if line == "far":
                    print("%s: what wrote it before is longer ago than is looked back" % self.text)
                if not words or not words[0].isdigit():
                    continue
                most -= 1
                yield (int(words[0]), int(words[1]),
                       outside() if words[-1] == "kernel" else place(int(words[2], 16)),
                       gdb.Value(bytes.fromhex(words[3])[:self.size], self.type).format_string(max_elements=16))
            if most < 1:
                return

    def ask(self, most, since, until):
        if not self.register:
            return stub("writes %d %d %d %d %d" % (self.address, self.size, most, since, until))
        if self.saved:
            pushed = stub("writes %d 8 1 %d %d" % (self.saved, since, until)).split()
            if pushed:
                until = int(pushed[0])
        return stub("defines %s %d %d %d %d" % (self.register, self.thread, most, since, until))


class LastWrite(gdb.Command):
    """Go back to before the last write of EXPRESSION, and tell who made it.

It may be in memory, a part of it (a field, `array[2]@5', a whole structure), or in a register."""

    def __init__(self):
        super().__init__("last-write", gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        for position, thread, where, value in Location(argument).writers(1):
            print("%s = %s was written by %s, thread %d, at position %d"
                  % (argument, value, where, thread, position))
            gdb.execute("monitor seek %d" % position)
            return
        print("nothing wrote %s before%s" % (argument, ", in what is looked at" if bounds.is_set() else ""))


class History(gdb.Command):
    """Tell the values that EXPRESSION had, and who wrote them: the last one first.

history EXPRESSION        the last 20
history EXPRESSION, N     the last N"""

    def __init__(self):
        super().__init__("history", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        expression, comma, most = argument.rpartition(",")
        if not comma or not most.strip().isdigit():
            expression, most = argument, "20"
        for position, thread, where, value in Location(expression).writers(int(most)):
            print("%12d  %s  by %s, thread %d" % (position, value, where, thread))


# ---- where a value was made --------------------------------------------------------------------------


class Trail:
    """One value's way back, as the stub tells it."""

    def __init__(self, asked):
        self.hops, self.end, self.call = [], None, None
        for line in stub("origin " + asked).splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] in ("unwritten", "far"):
                self.end = words
            elif words[0] == "call":
                self.call = words
            elif words[0] in ("copy", "offset", "index", "constant", "computed", "kernel", "piece"):
                self.hops.append({"kind": words[0], "position": int(words[1]), "thread": int(words[2]),
                                  "rip": int(words[3], 16), "value": words[4], "to": words[5:]})

    def field(self, words, name):
        return words[words.index(name) + 1] if name in words else None

    def copies(self):
        """The places that it was copied at, each once."""
        last = None
        for hop in self.hops[:-1] if self.end is None else self.hops:
            where = place(hop["rip"])
            if where != last:
                yield hop, where
            last = where

    def source(self):
        """Where it was made, for people."""
        if self.end and self.end[0] == "far":
            return "made longer ago than is looked back"
        if self.end and self.end[1] == "r":
            return "in %s since the program began" % self.end[2]
        if self.end and self.end[1] == "m" and "in section .bss" in \
                gdb.execute("info symbol %s" % self.end[2], to_string=True):
            return "zero since the program began: static, without a value of its own"
        if self.end and "path" in self.end:
            return "byte %s of %s, mapped and never written" % (
                self.field(self.end, "offset"), bytes.fromhex(self.field(self.end, "path")).decode("utf-8", "replace"))
        if self.end and "arguments" in self.end:
            return "in the program's arguments or environment, or put on its stack by the kernel"
        if self.end:
            return "at %s, that nothing wrote since it was mapped" % self.end[2]
        hop = self.hops[-1]
        where = "%s, thread %d, position %d" % (place(hop["rip"]), hop["thread"], hop["position"])
        if hop["kind"] == "kernel":
            return "%s, %s" % (self.called(), where)
        if hop["kind"] == "constant":
            return "the constant %s, %s" % (hop["value"], where)
        if hop["kind"] == "piece":
            return "put together of pieces, the last by %s" % where
        return "the result %s of `%s', %s" % (hop["value"], instruction(hop["rip"]), where)

    def called(self):
        if not self.call:
            return "written by " + outside()
        names = {0: "read", 17: "pread64", 19: "readv", 45: "recvfrom", 47: "recvmsg", 318: "getrandom"}
        name = names.get(int(self.call[1]), "system call " + self.call[1])
        if (byte := self.field(self.call, "byte")) is None:
            return "written by %s" % name
        offset, path = self.field(self.call, "offset"), self.field(self.call, "path")
        source = bytes.fromhex(path).decode("utf-8", "replace") if path else "descriptor %s" % self.call[2]
        if offset is not None:
            return "byte %s of %s, by %s(%s)" % (offset, source, name, self.call[2])
        return "byte %s of what %s(%s) took from %s" % (byte, name, self.call[2], source)


def instruction(address):
    try:
        return gdb.selected_inferior().architecture().disassemble(address)[0]["asm"]
    except gdb.error:
        return "?"


class Origin(gdb.Command):
    """Follow the value of EXPRESSION back through its copies to where it was made: a byte of input,
a constant, the result of arithmetic. It stays here; `seek POSITION' goes there."""

    def __init__(self):
        super().__init__("origin", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        location = Location(argument)
        for name, offset, size in self.pieces(location):
            self.tell(location, name, offset, size)

    def pieces(self, location):
        """What fits a register: a scalar; the fields or elements of others."""
        if location.register or location.size <= 8 and location.type.strip_typedefs().code not in (
                gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_UNION):
            return [(location.text, 0, min(location.size, 8))]
        found = list(self.scalars(location.text, location.type, 0))
        if len(found) > PIECES_MOST:
            raise gdb.GdbError("'%s' has %d parts: ask for one, or up to %d"
                               % (location.text, len(found), PIECES_MOST))
        return found

    def scalars(self, name, of, offset):
        of = of.strip_typedefs()
        if of.code == gdb.TYPE_CODE_ARRAY:
            low, high = of.range()
            for i in range(low, min(high, low + PIECES_MOST) + 1):
                yield from self.scalars("%s[%d]" % (name, i), of.target(), offset + (i - low) * of.target().sizeof)
        elif of.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            for field in of.fields():
                if hasattr(field, "bitpos") and not field.bitsize and field.type.sizeof:
                    yield from self.scalars("%s.%s" % (name, field.name), field.type, offset + field.bitpos // 8)
        else:
            yield name, offset, min(of.sizeof, 8)

    def tell(self, location, name, offset, size):
        until, since = here(), bounds.before(here())
        until = since[0][1] if since else until
        if not location.register:
            asked = "m %d %d %d" % (location.address + offset, size, until)
        elif location.saved:
            asked = "m %d 8 %d" % (location.saved, until)
        else:
            asked = "r %s %d %d %d" % (location.register, location.thread, size, until)
        trail = Trail(asked)
        value = trail.hops[0]["value"] if trail.hops else "-"
        print("%s%s:" % (name, " = " + value if value != "-" else ""))
        for hop, where in trail.copies():
            print("  copied by %s, thread %d, position %d" % (where, hop["thread"], hop["position"]))
        print("  " + trail.source())
        if trail.hops and trail.hops[-1]["kind"] == "piece" and trail.hops[-1]["to"][0] == "m":
            first = Trail("m %s 1 %d" % (trail.hops[-1]["to"][1], until))
            print("  its first byte: " + first.source())


Region()
Record()
LastWrite()
History()
Origin()
