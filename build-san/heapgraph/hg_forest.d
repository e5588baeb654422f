build-san/heapgraph/hg_forest.o: heapgraph/hg_forest.c \
 heapgraph/hg_forest.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h
heapgraph/hg_forest.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
