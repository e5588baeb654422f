build-san/base/new_file.o: base/new_file.c base/new_file.h base/err.h \
 base/cleanup.h
base/new_file.h:
base/err.h:
base/cleanup.h:
