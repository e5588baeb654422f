# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""Read captures of `faultline record`, and be where a recorded program was.

    import faultline

    with faultline.Capture("crash.flt") as capture, capture.machine() as machine:
        stop = machine.seek()                      # to the end
        address, size = machine.variable("head")
        stop = machine.back(faultline.on_write(address, size))
        print(machine.place(stop.rip))             # who wrote `head' last

This is libfaultline (faultline.h has what everything means) by ctypes; all errors are `Error`.
"""

import ctypes
import ctypes.util
import os
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int32, c_int64, c_size_t
from ctypes import c_uint32, c_uint64, c_uint8, c_void_p, sizeof
from enum import IntEnum, IntFlag
from typing import Iterator, List, NamedTuple, Optional, Tuple

__all__ = ["Capture", "Machine", "Event", "EventKind", "Ending", "Error", "File", "Mapping",
           "On", "Place", "Regs", "Status", "Stop", "Thread", "Trap", "Write", "FOREVER",
           "on_call", "on_execute", "on_read", "on_write", "set_program", "version"]

FOREVER = 2**64 - 1
GPRS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")


class Status(IntEnum):
    """What became of a call (enum flt_status)."""
    OK, END, NOMEM, OS, USAGE, NOT_FOUND, PERMISSION, FORMAT, TRUNCATED, VERSION, RANGE, \
        DIVERGED, UNSUPPORTED = range(13)


class Ending(IntEnum):
    """How a program ended (enum flt_ending)."""
    UNKNOWN, EXIT, SIGNAL, DETACHED = range(4)


class EventKind(IntEnum):
    """Kinds of events (enum flt_event_kind)."""
    SYSCALL, SIGNAL, TSC, CPUID, HEAP, EXIT, GAP, SWITCH, RANDOM, HEAP_DONE, PROBE = range(1, 12)


class On(IntFlag):
    """On what to stop (enum flt_on)."""
    EXECUTE, READ, WRITE, SYSCALL, SIGNAL, SWITCH, LOAD = (1 << bit for bit in range(7))


class Error(Exception):
    """A call failed: `status` tells how, the text why."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = Status(status)


# ---- the C structures ---------------------------------------------------------------------------


class _Info(Structure):
    _fields_ = [("exe", c_char_p), ("cwd", c_char_p), ("argv", POINTER(c_char_p)),
                ("missing", POINTER(c_char_p)), ("n_events", c_uint64), ("n_files", c_uint64),
                ("n_processes", c_uint64), ("pid", c_uint32), ("ending", c_uint32),
                ("ending_value", c_int32), ("is_complete", c_uint32)]


class _File(Structure):
    _fields_ = [("path", c_char_p), ("build_id", c_char_p), ("copy", c_char_p)]


class _Regs(Structure):
    _fields_ = [("gpr", c_uint64 * 16), ("rip", c_uint64), ("rflags", c_uint64),
                ("fs_base", c_uint64), ("gs_base", c_uint64)]


class _Write(Structure):
    _fields_ = [("addr", c_uint64), ("size", c_uint64), ("bytes", POINTER(c_uint8))]


class _Event(Structure):
    _fields_ = [("kind", c_uint32), ("tid", c_uint32), ("seq", c_uint64), ("at_ns", c_uint64),
                ("regs", _Regs), ("value", c_int64), ("signal", c_int32), ("is_fatal", c_uint32),
                ("writes", POINTER(_Write)), ("n_writes", c_uint64), ("text", c_char_p),
                ("args", c_uint64 * 3)]


class _Trap(Structure):
    _fields_ = [("on", c_uint32), ("tid", c_uint32), ("addr", c_uint64), ("size", c_uint64),
                ("number", c_int64)]


class _Stop(Structure):
    _fields_ = [("position", c_uint64), ("instructions", c_uint64), ("rip", c_uint64),
                ("event", c_uint64), ("at_ns", c_uint64), ("tid", c_uint32),
                ("is_end", c_uint32), ("trap", c_uint32), ("on", c_uint32), ("addr", c_uint64),
                ("size", c_uint64), ("number", c_int64), ("is_by_kernel", c_uint32)]


class _Thread(Structure):
    _fields_ = [("tid", c_uint32), ("is_running", c_uint32), ("name", c_char * 16)]


class _Mapping(Structure):
    _fields_ = [("start", c_uint64), ("end", c_uint64), ("prot", c_int32),
                ("is_shared", c_uint32)]


class _Place(Structure):
    _fields_ = [("function", c_char_p), ("symbol", c_char_p), ("offset", c_uint64),
                ("file", c_char_p), ("line", c_int32), ("module", c_char_p)]


def _load() -> ctypes.CDLL:
    here = os.path.dirname(os.path.abspath(__file__))
    names = [os.path.join(here, "libfaultline.so.0"), "libfaultline.so.0"]
    for name in names[0 if os.path.exists(names[0]) else 1:]:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = error
    raise ImportError(f"cannot load libfaultline: {why}")


_lib = _load()
for _name in ("flt_error", "flt_version", "flt_machine_notes"):
    getattr(_lib, _name).restype = c_char_p
for _name in ("flt_capture_close", "flt_events_close", "flt_machine_stop"):
    getattr(_lib, _name).restype = None


def _check(status: int) -> None:
    if status != Status.OK:
        raise Error(status, _lib.flt_error().decode(errors="replace"))


def _text(raw: Optional[bytes]) -> Optional[str]:
    return None if raw is None else os.fsdecode(raw)


def _texts(raw) -> List[str]:
    n = 0
    while raw and raw[n] is not None:
        n += 1
    return [os.fsdecode(raw[i]) for i in range(n)]


# ---- what is told -------------------------------------------------------------------------------


class Regs:
    """General registers by name: regs.rax, regs["rip"]."""
    __slots__ = GPRS + ("rip", "rflags", "fs_base", "gs_base")

    def __init__(self, raw: _Regs):
        for i, name in enumerate(GPRS):
            setattr(self, name, raw.gpr[i])
        for name in ("rip", "rflags", "fs_base", "gs_base"):
            setattr(self, name, getattr(raw, name))

    def __getitem__(self, name: str) -> int:
        return getattr(self, name)


class Write(NamedTuple):
    """Memory as the kernel left it."""
    addr: int
    bytes: bytes


class Event(NamedTuple):
    """One of a capture's events; faultline.h has what its parts are of which kind."""
    kind: EventKind
    tid: int
    seq: int
    at_ns: int
    regs: Regs
    value: int
    signal: int
    is_fatal: bool
    writes: List[Write]
    text: Optional[str]
    args: Tuple[int, int, int]


class File(NamedTuple):
    """A file that the program mapped."""
    path: str
    build_id: Optional[str]
    copy: Optional[str]


class Stop(NamedTuple):
    """Where a machine stands, and why."""
    position: int
    instructions: int
    rip: int
    event: Optional[int]
    at_ns: int
    tid: int
    is_end: bool
    trap: Optional[int]
    on: On
    addr: int
    size: int
    number: int
    is_by_kernel: bool


class Thread(NamedTuple):
    """A thread that there is."""
    tid: int
    is_running: bool
    name: str


class Mapping(NamedTuple):
    """Mapped memory."""
    start: int
    end: int
    prot: int
    is_shared: bool


class Place(NamedTuple):
    """Where an instruction comes from."""
    function: Optional[str]
    symbol: Optional[str]
    offset: int
    file: Optional[str]
    line: int
    module: Optional[str]

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}:{self.line} in {self.function}"
        if self.symbol:
            return f"{self.module}: {self.symbol}+{self.offset:#x}"
        return f"{self.module}+{self.offset:#x}" if self.module else "unknown code"


class Trap(NamedTuple):
    """On what to stop."""
    on: On
    addr: int = 0
    size: int = 0
    number: int = -1
    tid: int = 0


def on_execute(addr: int, tid: int = 0) -> Trap:
    """Before the instruction at `addr`."""
    return Trap(On.EXECUTE, addr, tid=tid)


def on_write(addr: int, size: int, tid: int = 0) -> Trap:
    """A write to some of `size` bytes of memory."""
    return Trap(On.WRITE, addr, size, tid=tid)


def on_read(addr: int, size: int, tid: int = 0) -> Trap:
    """A read of some of `size` bytes of memory."""
    return Trap(On.READ, addr, size, tid=tid)


def on_call(number: int = -1, tid: int = 0) -> Trap:
    """System call `number`, or any."""
    return Trap(On.SYSCALL, number=number, tid=tid)


def version() -> str:
    """The library's."""
    return _lib.flt_version().decode()


def set_program(path: str) -> None:
    """Machines are processes of this `faultline`, not of the one that lies beside the library."""
    _check(_lib.flt_set_program(os.fsencode(path)))


# ---- captures and machines ----------------------------------------------------------------------


class _Handle:
    """Something to be closed; a context manager."""
    _close: str

    def __init__(self) -> None:
        self._handle = c_void_p()

    def close(self) -> None:
        """Close it. Twice is fine."""
        if self._handle:
            getattr(_lib, self._close)(self._handle)
            self._handle = c_void_p()

    def _open(self) -> c_void_p:
        if not self._handle:
            raise Error(Status.USAGE, "it is closed")
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Capture(_Handle):
    """A capture, or one of its processes (an index or a process id)."""
    _close = "flt_capture_close"

    def __init__(self, path, process=None):
        super().__init__()
        which = None if process is None else str(process).encode()
        _check(_lib.flt_capture_open(os.fsencode(path), which, byref(self._handle)))
        raw = _Info()
        _check(_lib.flt_capture_info(self._handle, byref(raw), c_size_t(sizeof(raw))))
        self.exe, self.cwd = _text(raw.exe), _text(raw.cwd)
        self.argv, self.missing = _texts(raw.argv), _texts(raw.missing)
        self.pid, self.n_events, self.n_processes = raw.pid, raw.n_events, raw.n_processes
        self.ending, self.ending_value = Ending(raw.ending), raw.ending_value
        self.is_complete = bool(raw.is_complete)
        self._users: "weakref.WeakSet[_Handle]" = weakref.WeakSet()

    def close(self) -> None:
        for user in list(getattr(self, "_users", [])):
            user.close()
        super().close()

    def files(self) -> List[File]:
        """The files that the program mapped."""
        return [File(*(_text(part) for part in (raw.path, raw.build_id, raw.copy)))
                for raw in _listed(_lib.flt_capture_file, self._open(), _File, c_uint64)]

    def events(self) -> Iterator[Event]:
        """All events, in their order."""
        with _Events(self) as events:
            yield from events

    def machine(self) -> "Machine":
        """A machine, at position 0."""
        return Machine(self)


def _listed(function, handle: c_void_p, kind, index):
    i = 0
    while True:
        raw = kind()
        status = function(handle, index(i), byref(raw), c_size_t(sizeof(raw)))
        if status == Status.END:
            return
        _check(status)
        yield raw
        i += 1


class _Events(_Handle):
    _close = "flt_events_close"

    def __init__(self, capture: Capture):
        super().__init__()
        self._capture = capture
        _check(_lib.flt_events_open(capture._open(), byref(self._handle)))
        capture._users.add(self)

    def __iter__(self) -> Iterator[Event]:
        raw = _Event()
        while True:
            status = _lib.flt_events_next(self._open(), byref(raw), c_size_t(sizeof(raw)))
            if status == Status.END:
                return
            _check(status)
            writes = [Write(w.addr, ctypes.string_at(w.bytes, w.size))
                      for w in raw.writes[:raw.n_writes]]
            yield Event(EventKind(raw.kind), raw.tid, raw.seq, raw.at_ns, Regs(raw.regs),
                        raw.value, raw.signal, bool(raw.is_fatal), writes, _text(raw.text),
                        tuple(raw.args))


class Machine(_Handle):
    """A replay that one can walk in, forward and backward."""
    _close = "flt_machine_stop"

    def __init__(self, capture: Capture):
        super().__init__()
        self._capture = capture
        _check(_lib.flt_machine_start(capture._open(), byref(self._handle)))
        capture._users.add(self)

    def _move(self, function, position: int, traps) -> Stop:
        raw, array = _Stop(), (_Trap * len(traps))(
            *(_Trap(t.on, t.tid, t.addr, t.size, t.number) for t in traps))
        _check(function(self._open(), c_uint64(position), array, c_size_t(len(traps)),
                        byref(raw), c_size_t(sizeof(raw))))
        return self._stop(raw)

    @staticmethod
    def _stop(raw: _Stop) -> Stop:
        return Stop(raw.position, raw.instructions, raw.rip,
                    None if raw.event == FOREVER else raw.event, raw.at_ns, raw.tid,
                    bool(raw.is_end), None if raw.trap == 2**32 - 1 else raw.trap, On(raw.on),
                    raw.addr, raw.size, raw.number, bool(raw.is_by_kernel))

    def seek(self, position: int = FOREVER) -> Stop:
        """Stand at a position, forward or backward; without one at the end."""
        raw = _Stop()
        _check(_lib.flt_machine_seek(self._open(), c_uint64(position), byref(raw),
                                     c_size_t(sizeof(raw))))
        return self._stop(raw)

    def run(self, *traps: Trap, until: int = FOREVER) -> Stop:
        """Run forward to the next of the traps."""
        return self._move(_lib.flt_machine_run, until, traps)

    def back(self, *traps: Trap, since: int = 0) -> Stop:
        """Run back to the last of the traps."""
        return self._move(_lib.flt_machine_back, since, traps)

    def regs(self, tid: int = 0) -> Regs:
        """Registers of a thread, or of the one that runs."""
        raw = _Regs()
        _check(_lib.flt_machine_regs(self._open(), c_uint32(tid), byref(raw),
                                     c_size_t(sizeof(raw))))
        return Regs(raw)

    def read(self, addr: int, size: int) -> bytes:
        """Memory."""
        buf = ctypes.create_string_buffer(size)
        _check(_lib.flt_machine_read(self._open(), c_uint64(addr), buf, c_size_t(size)))
        return buf.raw

    def read_int(self, addr: int, size: int = 8, signed: bool = False) -> int:
        """Memory as a number."""
        return int.from_bytes(self.read(addr, size), "little", signed=signed)

    def threads(self) -> List[Thread]:
        """All threads that there are."""
        return [Thread(raw.tid, bool(raw.is_running), raw.name.decode(errors="replace"))
                for raw in _listed(_lib.flt_machine_thread, self._open(), _Thread, c_size_t)]

    def mappings(self) -> List[Mapping]:
        """Mapped memory, by address."""
        return [Mapping(raw.start, raw.end, raw.prot, bool(raw.is_shared))
                for raw in _listed(_lib.flt_machine_mapping, self._open(), _Mapping, c_size_t)]

    def place(self, rip: int) -> Place:
        """Where an instruction comes from."""
        raw = _Place()
        _check(_lib.flt_machine_place(self._open(), c_uint64(rip), byref(raw),
                                      c_size_t(sizeof(raw))))
        return Place(_text(raw.function), _text(raw.symbol), raw.offset, _text(raw.file),
                     raw.line, _text(raw.module))

    def function(self, name: str) -> int:
        """Where a function is entered."""
        addr = c_uint64()
        _check(_lib.flt_machine_function(self._open(), name.encode(), byref(addr)))
        return addr.value

    def variable(self, name: str) -> Tuple[int, int]:
        """Address and size of a variable that has one place."""
        addr, size = c_uint64(), c_uint64()
        _check(_lib.flt_machine_variable(self._open(), name.encode(), byref(addr), byref(size)))
        return addr.value, size.value

    def notes(self) -> List[str]:
        """What is inferred or missing in the replay so far."""
        return _lib.flt_machine_notes(self._open()).decode(errors="replace").splitlines()
