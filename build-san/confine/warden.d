build-san/confine/warden.o: confine/warden.c confine/confine.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h
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
