build-san/capture/cap_suite.o: capture/cap_suite.c capture/cap_suite.h \
 base/err.h base/cleanup.h base/new_file.h capture/cap_format.h \
 capture/capture.h base/base.h base/arena.h base/clock.h base/log.h \
 base/map.h base/vec.h capture/cap_cpu.h capture/cap_walk.h
capture/cap_suite.h:
base/err.h:
base/cleanup.h:
base/new_file.h:
capture/cap_format.h:
capture/capture.h:
base/base.h:
base/arena.h:
base/clock.h:
base/log.h:
base/map.h:
base/vec.h:
capture/cap_cpu.h:
capture/cap_walk.h:
