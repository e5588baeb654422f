build-san/pt-collect/pt/pmu.o: pt-collect/pt/pmu.c pt-collect/pt/pmu.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/perf_data.h
pt-collect/pt/pmu.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/perf_data.h:
