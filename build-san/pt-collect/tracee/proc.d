build-san/pt-collect/tracee/proc.o: pt-collect/tracee/proc.c \
 pt-collect/tracee/proc.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h
pt-collect/tracee/proc.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
