build-san/decode/pt/from_capture.o: decode/pt/from_capture.c \
 decode/pt/from_capture.h decode/machine/machine.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/x86/insn.h decode/translator/slots.h capture/perf_data.h \
 decode/machine/log.h decode/pt/encode.h decode/pt/sideband.h
decode/pt/from_capture.h:
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
capture/perf_data.h:
decode/machine/log.h:
decode/pt/encode.h:
decode/pt/sideband.h:
