build-san/decode/pt/book.o: decode/pt/book.c decode/pt/book.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h decode/x86/insn.h \
 capture/capture.h capture/cap_cpu.h decode/pt/image.h \
 decode/symbols/symbols.h
decode/pt/book.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/x86/insn.h:
capture/capture.h:
capture/cap_cpu.h:
decode/pt/image.h:
decode/symbols/symbols.h:
