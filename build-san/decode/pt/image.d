build-san/decode/pt/image.o: decode/pt/image.c decode/pt/image.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h decode/x86/insn.h
decode/pt/image.h:
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
decode/x86/insn.h:
