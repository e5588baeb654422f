build-san/pt-collect/tracee/vdso.o: pt-collect/tracee/vdso.c \
 pt-collect/tracee/tracee.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/capture.h capture/cap_cpu.h pt-collect/tracee/vdso.h
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
pt-collect/tracee/vdso.h:
