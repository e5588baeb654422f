build-san/capture/cap_walk.o: capture/cap_walk.c capture/cap_walk.h
capture/cap_walk.h:
