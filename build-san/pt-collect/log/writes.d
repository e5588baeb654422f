build-san/pt-collect/log/writes.o: pt-collect/log/writes.c \
 pt-collect/log/writes.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/capture.h capture/cap_cpu.h
pt-collect/log/writes.h:
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
