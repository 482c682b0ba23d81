# libhikyaku, for other programs. The core needs neither database: its adapters
# are two small libraries of their own, so that a program which uses one is not
# linked with the other.
LIB_SRC  := $(filter-out %_test.c lib/fake.c lib/sqlite.c lib/pq.c,$(sort $(wildcard lib/*.c)))
# What it shares with the server.
LIB_USES := base/arena base/buf base/clock base/clock_time base/base_err base/json base/json_get \
  base/mem base/near base/put base/sip base/str base/uuid base/uuid_rand \
  seal/base64 seal/digest seal/otp seal/sign seal/tenant \
  contract/member contract/member_ids contract/preset contract/preset_read contract/receive \
  contract/retry contract/vars contract/verdict
LIB_VER  := 0.1.0
LIB_LD   := $(shell pkg-config --libs libcurl libcrypto 2>/dev/null)
SQLITE_LD := $(shell pkg-config --libs sqlite3 2>/dev/null)
PQ_LD    := $(shell pkg-config --libs libpq 2>/dev/null)

# For tests and fuzzing: the same sources, linked with the server's archive.
LIB_OBJ  := $(patsubst lib/%.c,$(B)/lib/%.o,$(LIB_SRC) lib/sqlite.c lib/pq.c lib/fake.c)
LIB_TESTS := $(sort $(wildcard lib/*_test.c))
LIB_UNIT := $(patsubst lib/%.c,$(B)/unit/lib/%,$(LIB_TESTS))
# For others: position independent, and nothing is seen but hk_*.
LIB_PIC  := $(patsubst lib/%.c,$(B)/pic/lib/%.o,$(LIB_SRC)) $(LIB_USES:%=$(B)/pic/%.o)
LIB_MADE := $(foreach l,libhikyaku libhikyaku-sqlite libhikyaku-pq,$(B)/$(l).so.0 $(B)/$(l).a)
LIB_DEMO := $(B)/example/publish $(B)/example/receive $(B)/example/consume-sqlite $(B)/example/consume-pq
PIC      := $(filter-out -fPIE,$(CFLAGS)) -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
PIC_LD   := $(filter-out -pie,$(LDFLAGS)) -shared -Wl,--no-undefined -Wl,--gc-sections \
  -Wl,--version-script=lib/hikyaku.map
LIB_CPP  := $(CPPFLAGS) -Ilib
LIB_INC  := -D_GNU_SOURCE -Ilib $(patsubst -I%,-isystem %,$(PKG_CF))
LIB_TIDY := $(patsubst lib/%.c,build/tidy/lib/%.ok,$(LIB_SRC) lib/sqlite.c lib/pq.c)
TIDY     += $(LIB_TIDY)

.PHONY: lib install-lib
lib: $(LIB_MADE) $(LIB_DEMO) ## builds libhikyaku and its examples

$(GEN)/lib_sql.h: lib/sql/sqlite.sql lib/sql/postgres.sql tools/libsql
	@mkdir -p $(GEN)
	@tools/libsql lib/sql/sqlite.sql lib/sql/postgres.sql >$@

$(B)/lib/%.o: lib/%.c Makefile lib/lib.mk | $(MADE) $(GEN)/lib_sql.h
	@mkdir -p $(@D)
	@echo 'CC  $@'
	@$(CC) $(LIB_CPP) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/pic/lib/%.o: lib/%.c Makefile lib/lib.mk | $(MADE) $(GEN)/lib_sql.h
	@mkdir -p $(@D)
	@echo 'PIC $@'
	@$(CC) $(LIB_CPP) $(PIC) -MMD -MP -c -o $@ $<

$(B)/pic/%.o: src/%.c Makefile lib/lib.mk | $(MADE)
	@mkdir -p $(@D)
	@echo 'PIC $@'
	@$(CC) $(CPPFLAGS) $(PIC) -MMD -MP -c -o $@ $<

$(B)/libhikyaku.so.0: $(LIB_PIC) lib/hikyaku.map
	@echo 'LD  $@'
	@$(CC) $(PIC_LD) -Wl,-soname,$(@F) -o $@ $(LIB_PIC) $(LIB_LD)
	@ln -sfn $(@F) $(B)/libhikyaku.so

$(B)/libhikyaku-%.so.0: $(B)/pic/lib/%.o $(B)/libhikyaku.so.0
	@echo 'LD  $@'
	@$(CC) $(PIC_LD) -Wl,-soname,$(@F) -o $@ $< -L$(B) -lhikyaku $(if $(filter pq,$*),$(PQ_LD),$(SQLITE_LD))
	@ln -sfn $(@F) $(B)/libhikyaku-$*.so

# One object, in which what is hidden is local: a program's own arena_new()
# is not disturbed by ours.
$(B)/libhikyaku.a: $(LIB_PIC)
	@echo 'AR  $@'
	@ld -r --gc-sections --gc-keep-exported -o $(B)/pic/hikyaku.o $(LIB_PIC)
	@objcopy --localize-hidden $(B)/pic/hikyaku.o
	@rm -f $@
	@ar rcs $@ $(B)/pic/hikyaku.o

$(B)/libhikyaku-%.a: $(B)/pic/lib/%.o
	@rm -f $@
	@ar rcs $@ $<

$(B)/unit/lib/%_test: $(B)/lib/%_test.o $(LIB_OBJ) $(B)/libserver.a
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(TEST_LD)

LIB_FUZZ := $(patsubst tests/fuzz/%.c,$(B)/target/%,$(wildcard tests/fuzz/lib_*.c))
$(LIB_FUZZ): $(B)/target/%: tests/fuzz/%.c $(LIB_OBJ) $(B)/libserver.a
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CC) $(LIB_CPP) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# As a user would: by the installed header and library alone.
$(B)/example/publish $(B)/example/receive: $(B)/example/%: lib/example/%.c $(B)/libhikyaku.so.0
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(LIB_INC) $(LDFLAGS) -o $@ $< -L$(B) -lhikyaku -Wl,-rpath,'$$ORIGIN/..'

$(B)/example/consume-%: lib/example/consume.c lib/example/counter_%.c lib/example/counter.h $(B)/libhikyaku-%.so.0
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(LIB_INC) $(LDFLAGS) -o $@ lib/example/consume.c lib/example/counter_$*.c \
	  -L$(B) -lhikyaku-$* -lhikyaku $(if $(filter pq,$*),$(PQ_LD),$(SQLITE_LD)) -Wl,-rpath,'$$ORIGIN/..'

build/tidy/lib/%.ok: lib/%.c .clang-tidy | $(MADE) $(GEN)/lib_sql.h
	@mkdir -p $(@D)
	@echo 'TIDY $<'
	@$(CLANG) $(LIB_CPP) -std=gnu17 -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	@CLANG=$(CLANG) tools/tidy $< $(LIB_CPP) -std=gnu17
	@touch $@

LIBDIR ?= $(PREFIX)/lib
install-lib: $(LIB_MADE) ## installs libhikyaku, its headers, SQL and man page
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(PREFIX)/share/hikyaku $(DESTDIR)$(PREFIX)/share/man/man3
	for l in libhikyaku libhikyaku-sqlite libhikyaku-pq; do \
	  install -m 755 $(B)/$$l.so.0 $(DESTDIR)$(LIBDIR)/$$l.so.$(LIB_VER) && \
	  ln -sfn $$l.so.$(LIB_VER) $(DESTDIR)$(LIBDIR)/$$l.so.0 && \
	  ln -sfn $$l.so.0 $(DESTDIR)$(LIBDIR)/$$l.so && \
	  install -m 644 $(B)/$$l.a $(DESTDIR)$(LIBDIR)/ && \
	  sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(LIB_VER)|' \
	    lib/$${l#lib}.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$${l#lib}.pc || exit 1; \
	done
	install -m 644 lib/hikyaku.h lib/hikyaku_sqlite.h lib/hikyaku_pq.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 lib/sql/sqlite.sql lib/sql/postgres.sql $(DESTDIR)$(PREFIX)/share/hikyaku/
	install -m 644 docs/libhikyaku.3 $(DESTDIR)$(PREFIX)/share/man/man3/

-include $(wildcard $(B)/lib/*.d $(B)/pic/*/*.d)
