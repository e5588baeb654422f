build-san/pt-collect/tracee/privilege.o: pt-collect/tracee/privilege.c \
 pt-collect/tracee/privilege.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h
pt-collect/tracee/privilege.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
