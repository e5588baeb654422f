#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Twenty-two more, as those of 180-tasks.sh, written when all was mended for those that was. Seen for
# the first time 8 were at rank 1 at -O2, no other was named; of ten of them, which came later, 8, and 9 named.
# Of samples -O2 leaves no store, and of maxima it stores by another line's instruction.
# FAULTLINE_TASKS=full: at -O0, too.
# time limit: 300
. tests/lib.sh
. tests/faultlocate/tasks.bash
need gojq gcc
need_bpf

judge_tasks tests/faultlocate/tasks/fresh/*.c
at_least WRONG 11 9 9
at_least MISSING 11 11 11
tell_tasks
