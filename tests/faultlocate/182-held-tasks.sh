#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Twenty more, as those of 180-tasks.sh: of other structures, in other styles, the mistakes compiled in
# or not, specifications from the documentation alone. Seen for the first time 11 were at rank 1, 15 named.
# FAULTLINE_TASKS=full: at -O0, too.
# time limit: 900
. tests/lib.sh
. tests/faultlocate/tasks.bash
need gojq gcc
need_bpf

judge_tasks tests/faultlocate/tasks/held/*.c
at_least WRONG 10 10 10
at_least MISSING 10 10 10
tell_tasks
