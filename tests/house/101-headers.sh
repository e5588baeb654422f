#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# time limit: 300
# Each header compiles alone.
. tests/lib.sh

cc=${CC:-cc} n=0 llvm=$(llvm-config --includedir)
for header in $(find base csource capture storeplan pt-collect decode heapgraph specdsl faultlocate \
	suppress-hw report bench debug cmd -name '*.h'); do
	[ -f "$header" ] || continue
	"$cc" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function \
		-fsyntax-only -I. -I"$BUILD" -isystem "$llvm" -x c -include "$header" - </dev/null ||
		fail "$header"
	n=$((n + 1))
done
[ $n -gt 50 ] || fail "only $n headers"
