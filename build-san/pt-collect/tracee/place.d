build-san/pt-collect/tracee/place.o: pt-collect/tracee/place.c \
 pt-collect/tracee/place.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h
pt-collect/tracee/place.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
