build-san/decode/pt/stream.o: decode/pt/stream.c decode/pt/stream.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h decode/pt/image.h \
 capture/capture.h capture/cap_cpu.h decode/x86/insn.h
decode/pt/stream.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/pt/image.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
