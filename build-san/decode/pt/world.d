build-san/decode/pt/world.o: decode/pt/world.c decode/pt/world.h \
 decode/pt/files.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/capture.h capture/cap_cpu.h capture/perf_data.h decode/pt/flow.h \
 decode/pt/stream.h decode/pt/image.h decode/x86/insn.h
decode/pt/world.h:
decode/pt/files.h:
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
capture/perf_data.h:
decode/pt/flow.h:
decode/pt/stream.h:
decode/pt/image.h:
decode/x86/insn.h:
