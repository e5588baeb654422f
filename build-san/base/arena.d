build-san/base/arena.o: base/arena.c base/arena.h
base/arena.h:
