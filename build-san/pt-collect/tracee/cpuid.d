build-san/pt-collect/tracee/cpuid.o: pt-collect/tracee/cpuid.c \
 pt-collect/tracee/cpuid.h capture/cap_cpu.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h
pt-collect/tracee/cpuid.h:
capture/cap_cpu.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
