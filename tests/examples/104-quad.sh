#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Figure 4.1 of paper 001, with the specification of Figure 4.2.
. tests/examples/example.bash

check_example quad 1 0 c3
