build-san/decode/explain/history_call.o: decode/explain/history_call.c \
 decode/explain/history.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 decode/machine/machine.h capture/capture.h capture/cap_cpu.h \
 decode/x86/insn.h decode/translator/slots.h
decode/explain/history.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/machine/machine.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/translator/slots.h:
