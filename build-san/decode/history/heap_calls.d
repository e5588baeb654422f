build-san/decode/history/heap_calls.o: decode/history/heap_calls.c \
 decode/history/heap_calls.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/capture.h capture/cap_cpu.h decode/history/frames.h \
 decode/x86/insn.h decode/symbols/symbols.h decode/history/heap.h
decode/history/heap_calls.h:
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
decode/history/frames.h:
decode/x86/insn.h:
decode/symbols/symbols.h:
decode/history/heap.h:
