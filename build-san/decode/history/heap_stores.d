build-san/decode/history/heap_stores.o: decode/history/heap_stores.c \
 decode/history/heap_stores.h decode/history/frames.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h decode/x86/insn.h \
 capture/capture.h capture/cap_cpu.h decode/symbols/symbols.h \
 decode/history/heap.h decode/history/heap_calls.h decode/machine/log.h \
 decode/translator/slots.h
decode/history/heap_stores.h:
decode/history/frames.h:
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
decode/symbols/symbols.h:
decode/history/heap.h:
decode/history/heap_calls.h:
decode/machine/log.h:
decode/translator/slots.h:
