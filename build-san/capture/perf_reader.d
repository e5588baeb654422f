build-san/capture/perf_reader.o: capture/perf_reader.c \
 capture/cap_format.h capture/capture.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/cap_cpu.h capture/perf_raw.h \
 capture/perf_format.h capture/perf_data.h
capture/cap_format.h:
capture/capture.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/cap_cpu.h:
capture/perf_raw.h:
capture/perf_format.h:
capture/perf_data.h:
