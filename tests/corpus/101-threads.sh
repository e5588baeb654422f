#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The corpus, group threads.
# time limit: 300
. tests/corpus/corpus.sh

corpus_run threads
