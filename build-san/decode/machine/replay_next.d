build-san/decode/machine/replay_next.o: decode/machine/replay_next.c \
 decode/machine/certain.h decode/machine/replay.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/translator/engine.h decode/translator/ctx.h \
 decode/translator/slots.h decode/x86/insn.h decode/machine/guest.h \
 decode/machine/output.h decode/machine/interrupts.h \
 decode/machine/machine.h decode/machine/replay_int.h \
 decode/machine/signal.h decode/machine/threads.h
decode/machine/certain.h:
decode/machine/replay.h:
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
decode/translator/engine.h:
decode/translator/ctx.h:
decode/translator/slots.h:
decode/x86/insn.h:
decode/machine/guest.h:
decode/machine/output.h:
decode/machine/interrupts.h:
decode/machine/machine.h:
decode/machine/replay_int.h:
decode/machine/signal.h:
decode/machine/threads.h:
