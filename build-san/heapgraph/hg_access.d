build-san/heapgraph/hg_access.o: heapgraph/hg_access.c \
 heapgraph/hg_access_int.h decode/history/frames.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h decode/x86/insn.h \
 capture/capture.h capture/cap_cpu.h decode/symbols/symbols.h \
 heapgraph/hg_access.h heapgraph/heapgraph.h heapgraph/hg_derive.h \
 decode/machine/trace.h decode/machine/machine.h \
 decode/translator/slots.h heapgraph/hg_int.h heapgraph/hg_index.h \
 heapgraph/hg_memory.h heapgraph/hg_pack.h heapgraph/hg_strings.h
heapgraph/hg_access_int.h:
decode/history/frames.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/x86/insn.h:
capture/capture.h:
capture/cap_cpu.h:
decode/symbols/symbols.h:
heapgraph/hg_access.h:
heapgraph/heapgraph.h:
heapgraph/hg_derive.h:
decode/machine/trace.h:
decode/machine/machine.h:
decode/translator/slots.h:
heapgraph/hg_int.h:
heapgraph/hg_index.h:
heapgraph/hg_memory.h:
heapgraph/hg_pack.h:
heapgraph/hg_strings.h:
