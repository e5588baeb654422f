build-san/decode/symbols/entries.o: decode/symbols/entries.c \
 decode/symbols/symbols_int.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 decode/symbols/symbols.h capture/capture.h capture/cap_cpu.h \
 decode/x86/zydis.h decode/x86/insn.h
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
decode/x86/zydis.h:
decode/x86/insn.h:
