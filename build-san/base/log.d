build-san/base/log.o: base/log.c base/log.h
base/log.h:
