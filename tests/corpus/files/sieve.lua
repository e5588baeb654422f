-- Primes below N, then strings and tables.
local n = tonumber(arg[1])
local composite, count, last = {}, 0, 0
for i = 2, n do
	if not composite[i] then
		count, last = count + 1, i
		for j = i * i, n, i do composite[j] = true end
	end
end
print(n, count, last)
local words = {}
for i = 1, 2000 do words[i] = ("node%d"):format(i * 7919 % 1009) end
table.sort(words)
print(#table.concat(words, ","), words[1], words[1000], (words[7]:gsub("%d", "x")))
