build-san/base/option.o: base/option.c base/option.h
base/option.h:
