build-san/decode/translator/enter.o: decode/translator/enter.S \
 decode/translator/ctx.h
decode/translator/ctx.h:
