# Hikyaku. `make help` lists the targets; CONTRIBUTING.md says how they are used.
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
# What a pattern rule made on the way is kept.
.SECONDARY:

# release, asan (with UBSan), tsan, or fuzz (clang)
V       ?= release
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
PYTHON  ?= python3
PREFIX  ?= /usr/local
B       := build/$(V)
GEN     := build/gen

# Columns at the end of a table's row may be left out: they are zero. A parameter
# that a function has for its callers' sake has no name.
WARN := -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion \
  -Wcast-qual -Wpointer-arith -Wwrite-strings -Wstrict-prototypes \
  -Wmissing-prototypes -Wundef -Wformat=2 -Wvla -Wimplicit-fallthrough \
  -Wswitch-enum -Wnull-dereference -Wdouble-promotion \
  -Wno-missing-field-initializers -Wno-c2x-extensions

PKGS   := libmicrohttpd gnutls sqlite3 libpq libargon2 libcrypto libcurl libcares zlib
PKG_CF := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LD := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# What only tests are linked with.
TEST_LD := $(shell pkg-config --libs cmocka yajl 2>/dev/null)
BENCH_CF = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags libxml-2.0 2>/dev/null))
BENCH_LD = $(shell pkg-config --libs libxml-2.0 2>/dev/null)
ifeq ($(PKG_LD),)
$(warning libraries are missing; `./dev setup` installs them)
endif

CPPFLAGS := -D_GNU_SOURCE -Isrc -I$(GEN) $(patsubst -I%,-isystem %,$(PKG_CF))
CFLAGS   := -std=gnu17 -g -pthread $(WARN)
LDFLAGS  := -pthread
LDLIBS   := $(PKG_LD) -ljq

ifeq ($(V),release)
CFLAGS  += -O2 -fno-plt -fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
  -ftrivial-auto-var-init=zero -fstack-clash-protection
LDFLAGS += -pie -Wl,-z,relro,-z,now
else ifeq ($(V),asan)
CFLAGS  += -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
  -fno-sanitize-recover=all
LDFLAGS += -fsanitize=address,undefined
else ifeq ($(V),tsan)
CFLAGS  += -O1 -fno-omit-frame-pointer -fsanitize=thread
LDFLAGS += -fsanitize=thread
else ifeq ($(V),fuzz)
CC      := $(CLANG)
CFLAGS  += -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
  -fno-sanitize-recover=all
LDFLAGS += -fsanitize=fuzzer,address,undefined
else
$(error V must be release, asan, tsan or fuzz)
endif

SRC   := $(sort $(shell find src -name '*.c'))
TESTS := $(filter %_test.c,$(SRC))
LIB   := $(filter-out src/main.c %_test.c,$(SRC)) $(GEN)/sql.c $(GEN)/outbox.c $(GEN)/schemas.c $(GEN)/files.c
OBJ   := $(patsubst src/%.c,$(B)/%.o,$(filter src/%,$(LIB))) $(B)/gen/sql.o $(B)/gen/outbox.o $(B)/gen/schemas.o $(B)/gen/files.o
SQL   := $(sort $(wildcard sql/*.sql sql/migrations/*.sql))
# Tables of the rooms, and what they are gathered in; where it runs comes first.
SETTINGS := src/cli/settings.tbl $(filter-out src/cli/%,$(sort $(shell find src -name settings.tbl)))
METRICS := $(sort $(shell find src -name metrics.tbl))
TABLES := $(GEN)/config.tbl $(GEN)/conf_limits.h $(GEN)/metrics.tbl
MADE  := $(GEN)/sql.h $(GEN)/entities.tbl $(TABLES)
UNIT  := $(patsubst src/%.c,$(B)/unit/%,$(TESTS))
FUZZ  := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/*.c)))
TIDY  := $(patsubst src/%.c,build/tidy/%.ok,$(filter-out %_test.c,$(SRC)))
FORM  := $(SRC) $(sort $(shell find src -name '*.h')) $(sort $(wildcard tests/*/*.c tools/*.c lib/*.[ch] lib/example/*.c examples/*/*.[ch]))

.PHONY: all build/hikyaku
all: build/hikyaku $(if $(filter release,$(V)),lib) ## builds build/hikyaku and libhikyaku (V=release, asan, tsan)

# The link is set anew each time: V may be another than last time.
build/hikyaku: $(B)/hikyaku
	@ln -sfn $(V)/hikyaku $@

$(B)/hikyaku: $(B)/main.o $(B)/libserver.a | $(GEN)/metrics.ok
	@echo 'LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A metric that nobody counts is no metric.
$(GEN)/metrics.ok: tools/layers $(METRICS) $(filter-out %_test.c,$(SRC))
	@mkdir -p $(GEN)
	@$(PYTHON) tools/layers --metrics
	@touch $@

$(B)/libserver.a: $(OBJ)
	@rm -f $@
	@ar rcs $@ $^

# What is made before anything is compiled. A table of tables is written when
# there is another one; what stands in them is known to the compiler.
.PHONY: tables
$(GEN)/config.tbl: TEXT = $(SETTINGS)
$(GEN)/conf_limits.h: TEXT = $(wildcard $(SETTINGS:settings.tbl=limits.h))
$(GEN)/metrics.tbl: TEXT = $(METRICS)
$(TABLES): tables
	@mkdir -p $(GEN)
	@new=$@.$$$$; printf '%s\n' '/* made by the Makefile */' $(TEXT:src/%='#include "%"') >$$new; \
	  if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

$(GEN)/sql.h $(GEN)/sql.c &: tools/sqlgen.py $(SQL)
	@mkdir -p $(GEN)
	@$(PYTHON) tools/sqlgen.py $(GEN) $(SQL)

$(GEN)/entities.tbl: tools/entities.py
	@mkdir -p $(GEN)
	@$(PYTHON) $< $@

$(GEN)/schemas.c: tools/schemagen.py src/api/schemas.txt
	@mkdir -p $(GEN)
	@$(PYTHON) tools/schemagen.py $@ src/api/schemas.txt

$(GEN)/files.c: tools/embed.py $(sort $(shell find ui -type f))
	@mkdir -p $(GEN)
	@$(PYTHON) tools/embed.py $@ ui

$(GEN)/outbox.c: tools/textgen.py outbox/postgres.sql outbox/sqlite.sql
	@mkdir -p $(GEN)
	@$(PYTHON) tools/textgen.py $@ OUTBOX_SCHEMA_POSTGRES=outbox/postgres.sql OUTBOX_SCHEMA_SQLITE=outbox/sqlite.sql

$(B)/%.o: src/%.c Makefile | $(MADE)
	@mkdir -p $(@D)
	@echo 'CC  $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.o: $(GEN)/%.c Makefile
	@mkdir -p $(@D)
	@echo 'CC  $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/unit/%_test: $(B)/%_test.o $(B)/libserver.a
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(TEST_LD) -lssl

$(B)/tools/%: tools/%.c $(B)/libserver.a
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bench/%: tests/bench/%.c $(B)/libserver.a
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(BENCH_CF) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(BENCH_LD)

$(B)/target/%: tests/fuzz/%.c $(B)/libserver.a
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(TEST_LD)

include lib/lib.mk
include examples/crm/crm.mk

-include $(wildcard $(OBJ:.o=.d) $(B)/main.d $(TESTS:src/%.c=$(B)/%.d) $(TIDY:.ok=.d))

# Using it.
.PHONY: run install help clean
PORT ?= 8080
DATA ?= data
run: all ## starts the server (PORT=8080 DATA=data), ready for hikyaku demo
	@echo "to see it work, in another terminal: build/hikyaku demo --data $(DATA)"
	@HIKYAKU_WEBHOOK_URL_ALLOW_PRIVATE=$${HIKYAKU_WEBHOOK_URL_ALLOW_PRIVATE-127.0.0.0/8} HIKYAKU_FETCH_URL_ALLOW_PRIVATE=$${HIKYAKU_FETCH_URL_ALLOW_PRIVATE-127.0.0.0/8} exec build/hikyaku serve --listen 127.0.0.1:$(PORT) --data $(DATA) --log text

install: all install-lib ## installs to DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(B)/hikyaku $(DESTDIR)$(PREFIX)/bin/hikyaku
	install -D -m 644 outbox/postgres.sql $(DESTDIR)$(PREFIX)/share/hikyaku/outbox/postgres.sql
	install -D -m 644 outbox/sqlite.sql $(DESTDIR)$(PREFIX)/share/hikyaku/outbox/sqlite.sql
	install -D -m 644 docs/hikyaku.1 $(DESTDIR)$(PREFIX)/share/man/man1/hikyaku.1
	for to in bash:bash-completion/completions/hikyaku zsh:zsh/site-functions/_hikyaku fish:fish/vendor_completions.d/hikyaku.fish; do \
	  install -D -m 644 /dev/null "$(DESTDIR)$(PREFIX)/share/$${to#*:}" && \
	  $(B)/hikyaku completion "$${to%%:*}" >"$(DESTDIR)$(PREFIX)/share/$${to#*:}" || exit 1; done

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile lib/lib.mk examples/crm/crm.mk | expand -t 14

clean: ## removes what was built
	rm -rf build

# Tests. A stage that has a closing line "N passed, M failed" is counted by it.
JOBS ?= $(shell nproc)
.PHONY: test unit unit-pg check tsan soak sim planted bench fresh
test: all ## everything; closes with "N passed, M failed"
	@tools/stages unit='$(MAKE) -j$(JOBS) V=asan unit-pg' lint='$(MAKE) lint' \
	  planted='$(MAKE) planted' \
	  system='$(PYTHON) tests/run' \
	  crash='$(PYTHON) tests/crash/run.py --rounds 10' \
	  deliver='$(PYTHON) tests/crash/deliver.py --rounds 8' \
	  order='$(PYTHON) tests/crash/order.py --scale 100' \
	  consumer='$(PYTHON) tests/crash/consumer.py --rounds 8' \
	  outbox='$(PYTHON) tests/crash/outbox.py --rounds 5' \
	  fuzz='$(MAKE) -j$(JOBS) fuzz-replay'

unit: $(UNIT) $(LIB_UNIT) $(CRM_UNIT) ## builds and runs the unit tests of V
	@tools/run-unit $(UNIT) $(LIB_UNIT) $(CRM_UNIT)

unit-pg: $(UNIT) $(LIB_UNIT) $(CRM_UNIT) ## the same, with a PostgreSQL of their own
	@tools/with-pg tools/run-unit $(UNIT) $(LIB_UNIT) $(CRM_UNIT)

check: ## unit tests under ASan and UBSan, no servers
	@$(MAKE) V=asan unit

tsan: ## unit tests under TSan
	@$(MAKE) V=tsan unit

soak: all ## the long forms of what `make test` does in short
	@$(MAKE) V=asan build/asan/hikyaku
	@tools/stages sim='$(MAKE) V=release sim' tsan='$(MAKE) V=tsan unit-pg' \
	  crash='$(PYTHON) tests/crash/run.py --rounds 200' \
	  deliver='$(PYTHON) tests/crash/deliver.py --rounds 100' \
	  order='$(PYTHON) tests/crash/order.py' \
	  consumer='$(PYTHON) tests/crash/consumer.py --rounds 100' \
	  outbox='$(PYTHON) tests/crash/outbox.py --rounds 50 --store both' \
	  mutated='HK_MUTATED=20000 $(PYTHON) tests/run --asan --only mutated.mutated' \
	  clients='PYTHON=$(PYTHON) tests/soak/install && HK_SCHEMATHESIS=20000 build/soak/venv/bin/python tests/run --seconds 7200 --dir tests/soak' \
	  asan='$(PYTHON) tests/run --asan' fuzz='$(MAKE) fuzz-all'

# Each takes SIM_STEPS and SIM_SEED; the second meets every bound.
sim: $(B)/unit/deliver/core/core_sim_test $(B)/unit/deliver/core/core_sim_small_test ## a million steps of the delivery core
	@SIM_STEPS=1000000 tools/run-unit $^

planted: $(B)/libserver.a ## bugs are planted in the delivery core: its simulator must find each
	@CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' LIB='$<' LDLIBS='$(TEST_LD)' $(PYTHON) tools/planted -j $(JOBS)

bench: all ## the benchmarks
	@$(MAKE) $(B)/bench/feed
	@tools/stages feed='$(B)/bench/feed' publish='$(PYTHON) tests/bench/run.py' \
	  deliver='$(PYTHON) tests/bench/deliver.py' refresh='$(PYTHON) tests/bench/refresh.py' \
	  outbox='$(PYTHON) tests/bench/outbox.py' reader='$(PYTHON) tests/bench/reader.py' \
	  siege='$(PYTHON) tests/bench/siege.py'

fresh: ## tests ./dev on a bare Debian in a folder (as root)
	@tests/fresh --test

# Fuzzing: T is a file of tests/fuzz; what it finds stays in its corpus.
.PHONY: fuzz fuzz-all fuzz-replay
SECS ?= 60
fuzz: ## fuzzes T=name for SECS=60 seconds
	@test -n '$(T)' || { echo 'T is one of: $(FUZZ)'; exit 2; }
	@$(MAKE) V=fuzz build/fuzz/target/$(T)
	@mkdir -p build/corpus/$(T)
	build/fuzz/target/$(T) -max_total_time=$(SECS) -timeout=10 -rss_limit_mb=2048 \
	  -print_final_stats=1 -artifact_prefix=tests/fuzz/corpus/$(T)/ \
	  $(if $(wildcard tests/fuzz/$(T).dict),-dict=tests/fuzz/$(T).dict) \
	  build/corpus/$(T) tests/fuzz/corpus/$(T)

fuzz-all: ## fuzzes each target for SECS=60 seconds
	@tools/stages $(foreach t,$(FUZZ),$(t)='$(MAKE) fuzz T=$(t) SECS=$(SECS)')

fuzz-replay: ## each target over what was ever found for it
	@$(MAKE) V=fuzz $(FUZZ:%=build/fuzz/target/%)
	@tools/fuzz-replay $(FUZZ:%=build/fuzz/target/%)

# Reading and rules.
.PHONY: lint lint-format lint-tidy lint-sql lint-docs format docs tour
lint: ## format, clang-tidy, include order, SQL, docs in step
	@tools/stages tools=tools/stages-test format='$(MAKE) lint-format' \
	  rules='tools/layers --self-test' layers=tools/layers \
	  docs='$(MAKE) lint-docs' traced=tests/tools/traced sql='$(MAKE) lint-sql' tidy='$(MAKE) -j$(JOBS) lint-tidy'

lint-format:
	@clang-format --dry-run -Werror $(FORM)

# Prepares every statement on both engines and compares its columns with what
# its `rows:` line says.
lint-sql:
	@$(MAKE) V=asan build/asan/unit/store/store_test
	@tools/with-pg tools/run-unit build/asan/unit/store/store_test

lint-docs: $(B)/tools/confdoc
	@$(B)/tools/confdoc | diff -u docs/settings.md - || \
	  { echo 'docs/settings.md is not in step: run make docs'; exit 1; }
	@tools/man-check

# One file per run, so that what did not change is not checked again.
lint-tidy: $(TIDY)
build/tidy/%.ok: src/%.c .clang-tidy | $(MADE)
	@mkdir -p $(@D)
	@echo 'TIDY $<'
	@$(CLANG) $(CPPFLAGS) -std=gnu17 -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	@CLANG=$(CLANG) tools/tidy $< $(CPPFLAGS) -std=gnu17 -Wno-c2x-extensions
	@touch $@

format: ## lays the code out by .clang-format
	@clang-format -i $(FORM)

docs: $(B)/tools/confdoc ## makes docs/settings.md from the settings.tbl of the rooms
	@$(B)/tools/confdoc >docs/settings.md

tour: ## prints the essays of a room's headers (R=room)
	@tools/tour $(R)
