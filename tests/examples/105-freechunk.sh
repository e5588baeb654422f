#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Figure 3.8 of paper 001: glibc aborts long after the fault.
. tests/examples/example.bash

check_example freechunk 2 134 c1
