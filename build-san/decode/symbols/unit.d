build-san/decode/symbols/unit.o: decode/symbols/unit.c \
 decode/symbols/symbols_int.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 decode/symbols/symbols.h capture/capture.h capture/cap_cpu.h
decode/symbols/symbols_int.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/symbols/symbols.h:
capture/capture.h:
capture/cap_cpu.h:
