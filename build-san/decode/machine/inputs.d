build-san/decode/machine/inputs.o: decode/machine/inputs.c \
 decode/machine/inputs.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/capture.h capture/cap_cpu.h
decode/machine/inputs.h:
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
