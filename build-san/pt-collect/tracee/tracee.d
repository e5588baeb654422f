build-san/pt-collect/tracee/tracee.o: pt-collect/tracee/tracee.c \
 pt-collect/tracee/place.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/tracee/proc.h pt-collect/tracee/tracee.h capture/capture.h \
 capture/cap_cpu.h pt-collect/tracee/cpuid.h pt-collect/tracee/undo.h \
 pt-collect/tracee/vdso.h
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
pt-collect/tracee/proc.h:
pt-collect/tracee/tracee.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/tracee/cpuid.h:
pt-collect/tracee/undo.h:
pt-collect/tracee/vdso.h:
