build-san/pt-collect/kernel/types.o: pt-collect/kernel/types.c \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/kernel/types.h
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
pt-collect/kernel/types.h:
