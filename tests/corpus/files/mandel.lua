-- The Mandelbrot set: floating point in tight loops.
local size = tonumber(arg[1])
local inside = 0
for py = 0, size - 1 do
	for px = 0, size - 1 do
		local cx, cy = px * 3 / size - 2, py * 2 / size - 1
		local x, y, i = 0, 0, 0
		while x * x + y * y <= 4 and i < 100 do
			x, y, i = x * x - y * y + cx, 2 * x * y + cy, i + 1
		end
		if i == 100 then inside = inside + 1 end
	end
end
print(size, inside)
