# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""client.py PORT CASE: a client of the stub that is no gdb, and does what gdb would not."""
import random
import socket
import sys
import time


class Client:
    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.s.settimeout(60)
        self.buffer = b""

    def byte(self):
        while not self.buffer:
            got = self.s.recv(65536)
            if not got:
                raise EOFError
            self.buffer += got
        first, self.buffer = self.buffer[:1], self.buffer[1:]
        return first

    def send(self, text):
        data = text.encode("latin-1")
        self.s.sendall(b"$" + data + b"#%02x" % (sum(data) & 255))

    def answer(self):
        while self.byte() != b"$":
            pass
        text = b""
        while (c := self.byte()) != b"#":
            text += text[-1:] * (self.byte()[0] - 29) if c == b"*" else c
        self.byte(), self.byte()
        self.s.sendall(b"+")
        return text.decode("latin-1")

    def ask(self, text):
        self.send(text)
        return self.answer()


def vanish(port):
    """In the middle of a packet, then in the middle of a run."""
    c = Client(port)
    c.ask("qSupported:multiprocess+")
    c.s.sendall(b"$m7fff")
    c.s.close()
    c = Client(port)
    c.send("c")
    c.s.close()


def garbage(port):
    """Bytes and requests at random; then a gdb that behaves is still served."""
    r = random.Random(18)
    c = Client(port)
    c.s.sendall(bytes(r.randrange(256) for _ in range(20000)).replace(b"\x03", b""))
    time.sleep(0.2)
    c.s.close()
    c = Client(port)
    c.ask("QStartNoAckMode")
    names = ["m", "p", "P", "M", "X", "x", "Z0,", "Z2,", "z4,", "H", "T", "qXfer:auxv:read::",
             "qXfer:threads:read::", "qXfer:", "vFile:open:", "vFile:pread:", "vFile:fstat:", "vCont;z",
             "qRcmd,", "QPassSignals:", "QCatchSyscalls:", "qGetTLSAddr:", "qSymbol:", "G", "qSearch"]
    for _ in range(3000):
        tail = "".join(r.choice("0123456789abcdef,;:=p-.") for _ in range(r.randrange(40)))
        c.ask(r.choice(names) + tail)
    c.s.close()
    c = Client(port)
    c.s.sendall(b"$g#00")  # a wrong checksum is asked for again
    assert c.byte() == b"-"
    c.send("g")
    assert c.byte() == b"+"
    first = c.answer()
    assert len(first) > 16 * 16, first
    c.s.sendall(b"-")  # and so is an answer
    assert c.answer() == first
    c.s.sendall(b"$" + b"m" * 100000 + b"#00")
    assert c.byte() == b"-"
    c.send("m" * 100000)
    assert c.answer() == "E.the packet is too long"
    assert c.ask("vMustReplyEmpty") == ""


def second(port):
    """While one is served another one is turned away."""
    one = Client(port)
    one.ask("?")
    try:
        Client(port).ask("?")
        raise AssertionError("two are served")
    except (EOFError, ConnectionError):
        pass
    assert one.ask("?").startswith("T")


def interrupt(port):
    """A run that takes long, either way, is stopped where it has got to."""
    c = Client(port)

    def command(text):
        c.send("qRcmd," + text.encode().hex())
        while (got := c.answer()).startswith("O"):
            pass
        return int(bytes.fromhex(got).decode().split()[1].rstrip(","))

    for move in ("c", "bc"):
        start = command("seek 1000000000")
        assert start == 1000000000, start
        c.ask("?")
        assert c.ask("s").startswith("T00")  # of which place gdb learns like this
        # With nothing to look for, the way back takes no time.
        assert c.ask("Z3,1000,8") == "OK"
        c.send(move)
        c.s.sendall(b"\x03")
        while (got := c.answer()).startswith("O"):
            pass
        assert got.startswith("T02"), got
        assert c.ask("z3,1000,8") == "OK"
        here = command("when")
        assert here > start if move == "c" else 0 < here < start, here


globals()[sys.argv[2]](int(sys.argv[1]))
