build-san/base/map.o: base/map.c base/map.h
base/map.h:
