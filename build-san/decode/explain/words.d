build-san/decode/explain/words.o: decode/explain/words.c \
 decode/explain/explain_int.h decode/explain/explain.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h decode/symbols/symbols.h \
 capture/capture.h capture/cap_cpu.h decode/machine/machine.h \
 decode/x86/insn.h decode/translator/slots.h decode/explain/slice.h \
 decode/explain/history.h decode/machine/trace.h
decode/explain/explain_int.h:
decode/explain/explain.h:
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
decode/machine/machine.h:
decode/x86/insn.h:
decode/translator/slots.h:
decode/explain/slice.h:
decode/explain/history.h:
decode/machine/trace.h:
