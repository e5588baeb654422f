# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Paper 002, sections 2.1.2 and 2.1.3: instances of statements, calls of library functions, places to
# come back to, and the part of the run that is of interest.


def function_start(address):
    """Where the function begins that address is in, by the symbols; None: there is none."""
    text = gdb.execute("info symbol %d" % address, to_string=True)
    if text.startswith("No symbol"):
        return None
    offset = text.split(" in section")[0].rpartition(" + ")
    return address - (int(offset[2]) if offset[1] else 0)


def is_inlined(address):
    """Whether what is called so there is a copy within another function."""
    try:
        block = gdb.block_for_pc(address)
    except RuntimeError:
        return False
    while block and not block.function:
        block = block.superblock
    return bool(block) and block.start != function_start(address)


def function_entries(name):
    """The first instructions of the function or functions called so."""
    try:
        points = gdb.Breakpoint(name, internal=True)
    except gdb.error as e:
        raise gdb.GdbError(str(e))
    try:
        entries = sorted({function_start(l.address) for l in points.locations if not is_inlined(l.address)}
                         - {None})
    finally:
        points.delete()
    if not entries:
        raise gdb.GdbError("there is no function '%s' yet: go to where its library is loaded" % name)
    return entries


class Instance(gdb.Command):
    """Tell which execution instance of a line this is: how often it has begun so far.

instance FILE:LINE      an instance that is about to begin here counts
instance FILE:LINE N    go to where its Nth instance begins

Of a line with a predicate, instances are its evaluations."""

    def __init__(self):
        super().__init__("instance", gdb.COMMAND_DATA, gdb.COMPLETE_LOCATION)

    def invoke(self, argument, from_tty):
        place, _, nth = argument.strip().partition(" ")
        if not place or (nth and not (nth.strip().isdigit() and int(nth))):
            raise gdb.GdbError("instance takes a line, and may take a number from 1")
        statement = Statement(place)
        addresses = statement.instances()
        if nth:
            gdb.execute("monitor seek execution %s %s"
                        % (nth.strip(), " ".join("%x" % a for a in addresses)))
            return
        begun = count(addresses)
        here = gdb.newest_frame().pc() in addresses
        if begun + here:
            print("instance %d of %s%s" % (begun + here, statement.name, " begins here" if here else ""))
        else:
            print("%s has not been executed yet" % statement.name)


class Breakpoint(gdb.Command):
    """Stop at calls of a library's function.

breakpoint FUNCTION                        at each
breakpoint FUNCTION if arg N == VALUE      whose Nth argument, an integer or pointer, is VALUE
breakpoint FUNCTION if ret == VALUE        that return VALUE: where they return
breakpoint FUNCTION if write ADDR [SIZE]   that write to, read, or access SIZE bytes (8) at ADDR
                       read|access         themselves or by what they call: behind the access

`up' shows the call. They are gdb's breakpoints and watchpoints: `info breakpoints', `delete'."""

    registers = ("$rdi", "$rsi", "$rdx", "$rcx", "$r8", "$r9")

    def __init__(self):
        super().__init__("breakpoint", gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_LOCATION)

    def invoke(self, argument, from_tty):
        name, has_condition, condition = (argument.strip() + " ").partition(" if ")
        name, condition = name.strip(), condition.strip()
        if not name or " " in name:
            raise gdb.GdbError("breakpoint takes a function, and `if' with a condition: see help breakpoint")
        entries = function_entries(name)
        if not has_condition:
            return self.at(entries, None)
        if m := re.fullmatch(r"arg\s*(\d+)\s*==\s*(.+)", condition):
            return self.at(entries, "%s == %d" % (self.argument(int(m.group(1))), value_of(m.group(2))))
        if m := re.fullmatch(r"ret\s*==\s*(.+)", condition):
            return self.returns(name, entries, value_of(m.group(1)))
        if m := re.fullmatch(r"(write|read|access)\s+(\S+)(?:\s+(\S+))?", condition):
            size = value_of(m.group(3)) if m.group(3) else 8
            if size < 1:
                raise gdb.GdbError("there is nothing to watch in %d bytes" % size)
            Within(name, entries, m.group(1), value_of(m.group(2)), size)
            return None
        raise gdb.GdbError("'%s' is no such condition: see help breakpoint" % condition)

    def at(self, addresses, condition):
        for address in addresses:
            gdb.execute("break *%#x%s" % (address, " if " + condition if condition else ""))

    def argument(self, n):
        if not n:
            raise gdb.GdbError("arguments are counted from 1")
        if n <= len(self.registers):
            return "(long)" + self.registers[n - 1]
        return "*(long *)($rsp + %d)" % (8 * (n - len(self.registers)))

    def returns(self, name, entries, value):
        """Where its returns are: its code is all looked through."""
        addresses = []
        for entry in entries:
            lines = gdb.execute("disassemble %#x" % entry, to_string=True).splitlines()
            addresses += [int(line.replace("=>", "").split()[0], 16) for line in lines
                          if re.search(r"\t(bnd |repz? )*ret", line)]
            if any(re.search(r"\tjmp\s+(\*|0x[0-9a-f]+ <(?!%s[+>]))" % re.escape(name), line)
                   for line in lines):
                print("%s ends in other functions, too: what these return is not seen" % name)
        if not addresses:
            raise gdb.GdbError("no return of '%s' is found" % name)
        self.at(addresses, "(long)$rax == %d" % value)


class Within(gdb.Breakpoint):
    """A watchpoint that stops only under calls of a function."""

    kinds = {"write": gdb.WP_WRITE, "read": gdb.WP_READ, "access": gdb.WP_ACCESS}

    def __init__(self, name, entries, kind, address, size):
        super().__init__("*(char (*)[%d])%d" % (size, address), gdb.BP_WATCHPOINT, self.kinds[kind])
        self.name, self.entries = name, set(entries)

    def stop(self):
        frame = gdb.newest_frame()
        while frame and frame.is_valid():
            if function_start(frame.pc()) in self.entries:
                return True
            frame = frame.older()
        return False


def value_of(expression):
    """A number, as one of 64 bits with a sign."""
    value = int(gdb.parse_and_eval(expression).cast(gdb.lookup_type("unsigned long")))
    return value - (1 << 64) if value >> 63 else value


class Checkpoints:
    """Places to come back to."""

    def __init__(self):
        self.made, self.next = {}, 1

    def find(self, argument):
        words = argument.split()
        if len(words) != 1 or not words[0].isdigit():
            raise gdb.GdbError("which checkpoint? `info checkpoints' lists them")
        if int(words[0]) not in self.made:
            raise gdb.GdbError("there is no checkpoint %s" % words[0])
        return int(words[0])


checkpoints = Checkpoints()


class Checkpoint(gdb.Command):
    """Remember this place; `rollback ID' comes back to it."""

    def __init__(self):
        super().__init__("checkpoint", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        position = stub("checkpoint").splitlines()[-1]
        number = checkpoints.next
        checkpoints.next += 1
        checkpoints.made[number] = int(position), place(gdb.newest_frame().pc())
        print("Checkpoint %d at %#x: %s" % (number, gdb.newest_frame().pc(), checkpoints.made[number][1]))


class Rollback(gdb.Command):
    """Go back to checkpoint ID. What was altered since is gone, and instances count anew from there."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        gdb.execute("monitor seek %d" % checkpoints.made[checkpoints.find(argument)][0])

    def complete(self, text, word):
        return [str(n) for n in checkpoints.made if str(n).startswith(word)]


class CDelete(gdb.Command):
    """Forget checkpoint ID."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        del checkpoints.made[checkpoints.find(argument)]

    def complete(self, text, word):
        return [str(n) for n in checkpoints.made if str(n).startswith(word)]


class InfoCheckpoints(gdb.Command):
    """List the checkpoints: number, position, place."""

    def __init__(self):
        super().__init__("info checkpoints", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for number, (position, where) in sorted(checkpoints.made.items()):
            print("%3d  position %d, %s" % (number, position, where))
        if not checkpoints.made:
            print("No checkpoints.")


Instance()
Breakpoint()
Checkpoint()
# As the papers call them, and as gdb does.
Rollback("rollback")
Rollback("restart")
CDelete("cdelete")
CDelete("delete checkpoint")
InfoCheckpoints()
