# Hikyaku. `make help` lists the targets; CONTRIBUTING.md says how they are used.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

# release, asan (with UBSan), tsan, or fuzz (clang)
V       ?= release
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
PYTHON  ?= python3
B       := build/$(V)
GEN     := build/gen

WARN := -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion \
  -Wcast-qual -Wpointer-arith -Wwrite-strings -Wstrict-prototypes \
  -Wmissing-prototypes -Wundef -Wformat=2 -Wvla -Wimplicit-fallthrough \
  -Wswitch-enum -Wnull-dereference -Wdouble-promotion

PKGS   := libmicrohttpd sqlite3 libpq yajl libargon2 libcrypto libcurl zlib
PKG_CF := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LD := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

CPPFLAGS := -D_GNU_SOURCE -Isrc -I$(GEN) $(patsubst -I%,-isystem %,$(PKG_CF))
CFLAGS   := -std=gnu17 -g -pthread $(WARN)
LDFLAGS  := -pthread
LDLIBS   := $(PKG_LD)

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
LIB   := $(filter-out src/main.c %_test.c,$(SRC)) $(GEN)/sql.c
OBJ   := $(patsubst src/%.c,$(B)/%.o,$(filter src/%,$(LIB))) $(B)/gen/sql.o
SQL   := $(sort $(wildcard sql/*.sql sql/migrations/*.sql))
UNIT  := $(patsubst src/%.c,$(B)/unit/%,$(TESTS))

.PHONY: all
all: build/hikyaku

build/hikyaku: $(B)/hikyaku
	@ln -sf $(V)/hikyaku $@

$(B)/hikyaku: $(B)/main.o $(B)/libhikyaku.a
	@echo 'LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libhikyaku.a: $(OBJ)
	@rm -f $@
	@ar rcs $@ $^

# What is made before anything is compiled.
$(GEN)/sql.h $(GEN)/sql.c &: tools/sqlgen.py $(SQL)
	@mkdir -p $(GEN)
	@$(PYTHON) tools/sqlgen.py $(GEN) $(SQL)

$(B)/%.o: src/%.c | $(GEN)/sql.h
	@mkdir -p $(@D)
	@echo 'CC  $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	@echo 'CC  $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/unit/%_test: $(B)/%_test.o $(B)/libhikyaku.a
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

-include $(shell find build -name '*.d' 2>/dev/null)

.PHONY: unit clean
unit: $(UNIT) ## builds and runs the unit tests of V
	@tools/run-unit $(UNIT)

clean: ## removes what was built
	rm -rf build
