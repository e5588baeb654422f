build-san/faultline.o: faultline.c build-san/commands.inc
build-san/commands.inc:
