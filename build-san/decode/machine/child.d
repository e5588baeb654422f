build-san/decode/machine/child.o: decode/machine/child.c \
 decode/machine/child.h decode/machine/branch.h decode/machine/machine.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/x86/insn.h decode/translator/slots.h \
 confine/confine.h decode/machine/alias.h decode/machine/guest.h \
 decode/translator/engine.h decode/translator/ctx.h \
 decode/machine/loose.h decode/machine/replay.h decode/machine/output.h \
 decode/machine/interrupts.h decode/machine/threads.h
decode/machine/child.h:
decode/machine/branch.h:
decode/machine/machine.h:
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
decode/x86/insn.h:
decode/translator/slots.h:
confine/confine.h:
decode/machine/alias.h:
decode/machine/guest.h:
decode/translator/engine.h:
decode/translator/ctx.h:
decode/machine/loose.h:
decode/machine/replay.h:
decode/machine/output.h:
decode/machine/interrupts.h:
decode/machine/threads.h:
