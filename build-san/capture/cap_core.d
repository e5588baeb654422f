build-san/capture/cap_core.o: capture/cap_core.c capture/cap_elf.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h capture/cap_format.h
capture/cap_elf.h:
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
capture/cap_format.h:
