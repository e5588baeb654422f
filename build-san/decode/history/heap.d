build-san/decode/history/heap.o: decode/history/heap.c \
 decode/history/heap.h capture/capture.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/cap_cpu.h decode/symbols/symbols.h \
 decode/history/frames.h decode/x86/insn.h decode/history/heap_calls.h \
 decode/history/heap_stores.h decode/machine/log.h \
 decode/translator/slots.h decode/machine/machine.h
decode/history/heap.h:
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
decode/symbols/symbols.h:
decode/history/frames.h:
decode/x86/insn.h:
decode/history/heap_calls.h:
decode/history/heap_stores.h:
decode/machine/log.h:
decode/translator/slots.h:
decode/machine/machine.h:
