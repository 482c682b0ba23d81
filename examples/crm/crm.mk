# The company of examples/crm: a program on libhikyaku, as anybody's would be.
CRM_SRC  := $(filter-out %_test.c,$(sort $(wildcard examples/crm/*.c)))
CRM_HDR  := $(sort $(wildcard examples/crm/*.h))
CRM_SQL  := $(sort $(wildcard examples/crm/sql/*.sql))
CRM_LIBS := $(B)/libhikyaku-sqlite.so.0 $(B)/libhikyaku.so.0
CRM_CC    = $(CC) $(CFLAGS) $(LIB_INC) -Iexamples/crm $(LDFLAGS)
CRM_LD   := -L$(B) -lhikyaku-sqlite -lhikyaku $(SQLITE_LD) \
  $(shell pkg-config --libs libmicrohttpd libcurl 2>/dev/null)
CRM_UNIT := $(patsubst examples/crm/%.c,$(B)/unit/crm/%,$(sort $(wildcard examples/crm/*_test.c)))
lib: $(B)/example/crm

# The SQL as C strings: core.sql is CRM_CORE.
$(GEN)/crm_sql.c: $(CRM_SQL) examples/crm/crm.mk
	@mkdir -p $(GEN)
	@{ echo '#include "db.h"'; for f in $(CRM_SQL); do \
	  echo "const char CRM_$$(basename $$f .sql | tr a-z A-Z)[] ="; \
	  sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$$/\\n"/' $$f; echo '    ;'; done; } >$@

$(B)/example/crm: $(CRM_SRC) $(GEN)/crm_sql.c $(CRM_HDR) $(CRM_LIBS)
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CRM_CC) -o $@ $(CRM_SRC) $(GEN)/crm_sql.c $(CRM_LD) -Wl,-rpath,'$$ORIGIN/..'

$(B)/unit/crm/%_test: examples/crm/%_test.c $(CRM_SRC) $(GEN)/crm_sql.c $(CRM_HDR) $(CRM_LIBS)
	@mkdir -p $(@D)
	@echo 'LD  $@'
	@$(CRM_CC) -o $@ $< $(filter-out %/main.c,$(CRM_SRC)) $(GEN)/crm_sql.c $(CRM_LD) $(TEST_LD) \
	  -Wl,-rpath,'$$ORIGIN/../..'

.PHONY: demo-crm
demo-crm: build/hikyaku $(B)/example/crm ## plays a company over a server of its own (ARGS='--records 50')
	@examples/crm/demo $(B)/hikyaku $(B)/example/crm $(ARGS)
