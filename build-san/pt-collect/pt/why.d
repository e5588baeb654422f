build-san/pt-collect/pt/why.o: pt-collect/pt/why.c pt-collect/pt/pt.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h pt-collect/log/private.h pt-collect/log/log.h \
 pt-collect/tracee/pages.h pt-collect/tracee/tracee.h pt-collect/pt/pmu.h \
 capture/perf_data.h pt-collect/pt/ring.h
pt-collect/pt/pt.h:
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
pt-collect/log/private.h:
pt-collect/log/log.h:
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
pt-collect/pt/pmu.h:
capture/perf_data.h:
pt-collect/pt/ring.h:
