#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Forty structures in the manner of small verification tasks, each with one mistake: twenty
# statements that store what is wrong, twenty stores left out. The specifications, above each,
# were written from doc/spec-language.md. The truth is marked where the mistake is. Without it
# nothing may be reported; what is found of it may only grow. Of one, `ring`, two numbers would do.
# FAULTLINE_TASKS=full: at -O0, too.
# time limit: 900
. tests/lib.sh
. tests/faultlocate/tasks.bash
need gojq gcc
need_bpf

judge_tasks tests/faultlocate/tasks/*.c
at_least WRONG 20 20 20
at_least MISSING 20 19 20
tell_tasks
