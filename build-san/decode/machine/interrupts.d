build-san/decode/machine/interrupts.o: decode/machine/interrupts.c \
 decode/machine/interrupts.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h
decode/machine/interrupts.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
