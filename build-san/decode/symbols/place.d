build-san/decode/symbols/place.o: decode/symbols/place.c \
 decode/symbols/symbols.h capture/capture.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/cap_cpu.h
decode/symbols/symbols.h:
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
