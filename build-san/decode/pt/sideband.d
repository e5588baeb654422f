build-san/decode/pt/sideband.o: decode/pt/sideband.c decode/pt/sideband.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h capture/perf_data.h
decode/pt/sideband.h:
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
capture/perf_data.h:
