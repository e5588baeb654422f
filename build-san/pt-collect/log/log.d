build-san/pt-collect/log/log.o: pt-collect/log/log.c pt-collect/log/log.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h pt-collect/tracee/tracee.h
pt-collect/log/log.h:
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
pt-collect/tracee/tracee.h:
