#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# luajit: traces compiled while the program runs, patched when a side exit gets hot, and
# thrown away by jit.flush(); and its interpreter alone.
. tests/lib.sh

need luajit
cat >"$TMPDIR/a.lua" <<'EOF'
local function sieve(n)
	local is_prime, count = {}, 0
	for i = 2, n do is_prime[i] = true end
	for i = 2, math.floor(math.sqrt(n)) do
		if is_prime[i] then
			for j = i * i, n, i do is_prime[j] = false end
		end
	end
	for i = 2, n do if is_prime[i] then count = count + 1 end end
	return count
end

for round = 1, 3 do
	print(sieve(20000 * round))
	jit.flush()
end
local sum, words = 0, {}
for i = 1, 300000 do sum = (sum * 31 + i) % 1000003 end
for i = 1, 5000 do words[#words + 1] = ("k%d"):format(i % 97) end
for word in table.concat(words):gmatch("k(%d+)") do sum = sum + tonumber(word) end
print(sum, pcall(error, "an error"))
-- A loop whose branches change their ways: side traces.
local odd = 0
for i = 1, 20000 do
	if i % 7 == 0 then odd = odd + 1 elseif i > 10000 then odd = odd - 1 end
end
print(odd, jit.status())
local ffi = require("ffi")
ffi.cdef "int printf(const char *, ...);"
ffi.C.printf("%s %d\n", "called", ffi.new("int", 7))
EOF
record_and_replay luajit "$TMPDIR/a.lua"
rm -r "$TMPDIR"/c*
record_and_replay luajit -joff "$TMPDIR/a.lua"
