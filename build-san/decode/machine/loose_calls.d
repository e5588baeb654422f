build-san/decode/machine/loose_calls.o: decode/machine/loose_calls.c \
 decode/machine/loose_int.h decode/machine/inputs.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h decode/machine/loose.h decode/machine/branch.h \
 decode/machine/machine.h decode/x86/insn.h decode/translator/slots.h \
 decode/machine/replay.h decode/translator/engine.h \
 decode/translator/ctx.h decode/machine/guest.h decode/machine/output.h \
 decode/machine/interrupts.h decode/machine/signal.h \
 decode/machine/threads.h
decode/machine/loose_int.h:
decode/machine/inputs.h:
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
decode/machine/loose.h:
decode/machine/branch.h:
decode/machine/machine.h:
decode/x86/insn.h:
decode/translator/slots.h:
decode/machine/replay.h:
decode/translator/engine.h:
decode/translator/ctx.h:
decode/machine/guest.h:
decode/machine/output.h:
decode/machine/interrupts.h:
decode/machine/signal.h:
decode/machine/threads.h:
