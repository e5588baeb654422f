build-san/decode/machine/child_calls.o: decode/machine/child_calls.c \
 confine/confine.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 decode/machine/child.h decode/machine/branch.h decode/machine/machine.h \
 capture/capture.h capture/cap_cpu.h decode/x86/insn.h \
 decode/translator/slots.h
confine/confine.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/machine/child.h:
decode/machine/branch.h:
decode/machine/machine.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/translator/slots.h:
