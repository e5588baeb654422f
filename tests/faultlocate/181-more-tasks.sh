#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Thirty-three more structures as those of 180-tasks.sh. They were written to judge an analysis that
# had not seen them: it had 23 at rank 1, 28 named. Then it learned from them.
# FAULTLINE_TASKS=full: at -O0, too.
# time limit: 900
. tests/lib.sh
. tests/faultlocate/tasks.bash
need gojq gcc
need_bpf

judge_tasks tests/faultlocate/tasks/more/*.c
at_least WRONG 17 16 17
at_least MISSING 16 16 16
tell_tasks
