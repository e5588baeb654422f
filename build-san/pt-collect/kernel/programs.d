build-san/pt-collect/kernel/programs.o: pt-collect/kernel/programs.c \
 pt-collect/kernel/programs.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/kernel/types.h build-san/bpf/record.skel.h
pt-collect/kernel/programs.h:
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
build-san/bpf/record.skel.h:
