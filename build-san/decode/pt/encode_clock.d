build-san/decode/pt/encode_clock.o: decode/pt/encode_clock.c \
 decode/pt/encode_int.h decode/x86/insn.h capture/capture.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/pt/encode.h
decode/pt/encode_int.h:
decode/x86/insn.h:
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
decode/pt/encode.h:
