# Classes, generators, exceptions, a heap and a garbage collection with cycles.
import gc
import heapq
import sys


class Node:
    def __init__(self, value, neighbours=()):
        self.value = value
        self.neighbours = list(neighbours)


def grid(n):
    nodes = [[Node((x * 7919 + y * 104729) % 97 + 1) for x in range(n)] for y in range(n)]
    for y in range(n):
        for x in range(n):
            for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                try:
                    if x + dx < 0 or y + dy < 0:
                        raise IndexError
                    nodes[y][x].neighbours.append(nodes[y + dy][x + dx])
                except IndexError:
                    pass
    return nodes[0][0], nodes[n - 1][n - 1]


def cheapest(start, end):
    best, serial, queue = {start: 0}, 0, [(0, 0, start)]
    while queue:
        cost, _, node = heapq.heappop(queue)
        if node is end:
            return cost
        for other in node.neighbours:
            total = cost + other.value
            if total < best.get(other, total + 1):
                best[other] = total
                serial += 1
                heapq.heappush(queue, (total, serial, other))


n = int(sys.argv[1])
start, end = grid(n)
print(cheapest(start, end))
del start, end
print(gc.collect() > 0)
