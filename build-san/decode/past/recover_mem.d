build-san/decode/past/recover_mem.o: decode/past/recover_mem.c \
 decode/past/recover_guess.h decode/past/recover_mem.h \
 decode/past/recover_int.h decode/past/recover.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h decode/machine/trace.h \
 decode/machine/machine.h capture/capture.h capture/cap_cpu.h \
 decode/x86/insn.h decode/translator/slots.h decode/past/recover_set.h
decode/past/recover_guess.h:
decode/past/recover_mem.h:
decode/past/recover_int.h:
decode/past/recover.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/machine/trace.h:
decode/machine/machine.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/translator/slots.h:
decode/past/recover_set.h:
