build-san/pt-collect/pt/stream.o: pt-collect/pt/stream.c \
 capture/perf_data.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/tracee/privilege.h pt-collect/pt/pt.h capture/capture.h \
 capture/cap_cpu.h pt-collect/log/private.h pt-collect/log/log.h \
 pt-collect/tracee/pages.h pt-collect/tracee/tracee.h pt-collect/pt/pmu.h \
 pt-collect/pt/ring.h
capture/perf_data.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
pt-collect/tracee/privilege.h:
pt-collect/pt/pt.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/log/private.h:
pt-collect/log/log.h:
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
pt-collect/pt/pmu.h:
pt-collect/pt/ring.h:
