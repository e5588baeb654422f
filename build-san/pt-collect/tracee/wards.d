build-san/pt-collect/tracee/wards.o: pt-collect/tracee/wards.c \
 pt-collect/tracee/proc.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/tracee/wards.h
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
pt-collect/tracee/wards.h:
