#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
"""whowrote.py CAPTURE VARIABLE [N]: who wrote VARIABLE, the last N times before the end (10), the
latest first, and what it held behind that."""

import sys

import faultline


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with faultline.Capture(sys.argv[1]) as capture, capture.machine() as machine:
        machine.seek()
        addr, size = machine.variable(sys.argv[2])
        for _ in range(n):
            stop = machine.back(faultline.on_write(addr, size))
            if stop.trap is None:
                break  # nobody did, before
            # Back, it stands before the write; one instruction further on, that is done.
            machine.seek(stop.position + 1)
            held = machine.read(addr, min(size, 64)).hex(" ")
            machine.seek(stop.position)
            kernel = " (by the kernel)" if stop.is_by_kernel else ""
            print(f"{stop.position} {machine.place(stop.rip)}{kernel}: {held}")


if __name__ == "__main__":
    try:
        main()
    except faultline.Error as error:
        sys.exit(f"whowrote.py: {error}")
