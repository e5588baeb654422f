build-san/pt-collect/tracee/pages.o: pt-collect/tracee/pages.c \
 pt-collect/tracee/pages.h pt-collect/tracee/tracee.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/capture.h:
capture/cap_cpu.h:
