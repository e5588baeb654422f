build-san/decode/pt/packets.o: decode/pt/packets.c decode/pt/packets.h \
 decode/pt/show.h decode/pt/decode.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h decode/pt/image.h capture/capture.h \
 capture/cap_cpu.h decode/x86/insn.h decode/pt/stream.h decode/pt/flow.h \
 capture/perf_data.h
decode/pt/packets.h:
decode/pt/show.h:
decode/pt/decode.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/pt/image.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/pt/stream.h:
decode/pt/flow.h:
capture/perf_data.h:
