#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Memory that changes through the file that is mapped there, through /proc/self/mem, and by calls
# that fail half done, changes in the replay too.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/through"
