build-san/decode/pt/witness.o: decode/pt/witness.c decode/pt/witness.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/machine/interrupts.h decode/pt/check.h \
 decode/pt/stream.h decode/pt/image.h decode/x86/insn.h \
 decode/pt/decode.h decode/pt/flow.h capture/perf_data.h
decode/pt/witness.h:
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
decode/machine/interrupts.h:
decode/pt/check.h:
decode/pt/stream.h:
decode/pt/image.h:
decode/x86/insn.h:
decode/pt/decode.h:
decode/pt/flow.h:
capture/perf_data.h:
