# What the standard library has in C: hashing, compression, structs, decimals, json, csv.
import base64
import csv
import decimal
import hashlib
import io
import json
import random
import sqlite3
import struct
import zlib

random.seed(20)
data = bytes(random.getrandbits(8) % 32 for _ in range(100000))
print(hashlib.sha256(data).hexdigest(), hashlib.blake2b(data).hexdigest()[:16])
print(len(zlib.compress(data, 9)), zlib.crc32(data), base64.b64encode(data[:24]))
print(struct.unpack("<3dq", struct.pack("<3dq", 1.5, 2 ** 0.5, -1e300, -7)))
decimal.getcontext().prec = 60
print(decimal.Decimal(2).sqrt(), decimal.Decimal(1).exp())
rows = [{"id": i, "x": random.gauss(0, 1), "s": "é" * (i % 5)} for i in range(500)]
text = json.dumps(rows)
out = io.StringIO()
writer = csv.DictWriter(out, ["id", "x", "s"])
writer.writerows(json.loads(text))
print(len(text), hashlib.md5(out.getvalue().encode()).hexdigest())
db = sqlite3.connect(":memory:")
db.execute("create table t (id integer, x real, s text)")
db.executemany("insert into t values (:id, :x, :s)", rows)
print(db.execute("select s, count(*), round(sum(x), 9) from t group by s order by s").fetchall())
