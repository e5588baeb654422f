build-san/heapgraph/hg_chunks.o: heapgraph/hg_chunks.c \
 heapgraph/hg_chunks.h heapgraph/hg_int.h heapgraph/heapgraph.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h heapgraph/hg_index.h \
 heapgraph/hg_memory.h heapgraph/hg_pack.h heapgraph/hg_record.h \
 decode/history/heap.h capture/capture.h capture/cap_cpu.h \
 decode/symbols/symbols.h heapgraph/hg_plan.h
heapgraph/hg_chunks.h:
heapgraph/hg_int.h:
heapgraph/heapgraph.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
heapgraph/hg_index.h:
heapgraph/hg_memory.h:
heapgraph/hg_pack.h:
heapgraph/hg_record.h:
decode/history/heap.h:
capture/capture.h:
capture/cap_cpu.h:
decode/symbols/symbols.h:
heapgraph/hg_plan.h:
