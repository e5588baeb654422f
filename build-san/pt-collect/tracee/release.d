build-san/pt-collect/tracee/release.o: pt-collect/tracee/release.c \
 pt-collect/tracee/proc.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/tracee/tracee.h capture/capture.h capture/cap_cpu.h \
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
pt-collect/tracee/tracee.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/tracee/wards.h:
