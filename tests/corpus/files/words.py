# Words of a text, most frequent first; strings, dictionaries, sorting, regular expressions.
import collections
import re
import sys

with open(sys.argv[1]) as f:
    count = collections.Counter(re.findall(r"[a-z]+", f.read()))
for word, n in sorted(count.items(), key=lambda item: (-item[1], item[0])):
    print(f"{n:8d} {word}")
