# Count the ways to place N queens.
import sys


def ways(n, row, left, down, right):
    if row == n:
        return 1
    free = ((1 << n) - 1) & ~(left | down | right)
    count = 0
    while free:
        bit = free & -free
        free ^= bit
        count += ways(n, row + 1, (left | bit) << 1, down | bit, (right | bit) >> 1)
    return count


n = int(sys.argv[1])
print(n, ways(n, 0, 0, 0, 0))
