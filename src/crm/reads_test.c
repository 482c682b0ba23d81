#include "crm/reads.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/test.h"
#include "crm/testing.h"

#define U1    "cccccccc-0000-4000-8000-000000000001"
#define OTHER "bbbbbbbb-0000-4000-8000-000000000001"

struct asked {
	struct world *w;
	struct reads *reads;
	struct asker *asker;
	core_id id;
};

static void
begin(struct asked *x)
{
	char path[128];
	struct err e;

	make(&x->w);
	(void)snprintf(path, sizeof(path), "%s/core.db", x->w->dir);
	MUST(core_create(&x->w->story.core, "Contact", STR(U1),
	    STR("{\"Name\":\"N\",\"Email\":\"n@example.com\",\"Age\":7}"),
	    x->id, &e));
	MUST(reads_start(path, &x->reads, &e));
	MUST(asker_new(
	    reads_port(x->reads), reads_key(x->reads), &x->asker, &e));
}

static void
end(struct asked *x)
{
	asker_free(x->asker);
	reads_stop(x->reads);
	drop(x->w);
}

static int
get(struct asked *x, struct asker *q, const char *object, const char *id,
    struct crm_record *ret, struct err *e)
{
	struct crm_fetch f = asker_fetch(q);

	return f.get(f.arg, str_of(object), str_of(id), x->w->words, ret, e);
}

/* Over HTTP a record is what Core's database says. */
static void
test_whole(void **state)
{
	struct crm_record r, own;
	struct asked x;
	struct err e;

	(void)state;
	begin(&x);
	MUST(get(&x, x.asker, "Contact", x.id, &r, &e));
	MUST(core_read(x.w->story.core.db, STR("Contact"), str_of(x.id),
	    x.w->words, &own, &e));
	assert_true(r.there);
	assert_int_equal(r.version_us, own.version_us);
	assert_true(str_eq(r.owner, STR(U1)));
	assert_str(crm_field(&r, "Email"), "n@example.com");
	assert_int_equal(crm_field_int(&r, "Age"), 7);
	assert_str(crm_field(&r, "Age"), "");
	end(&x);
}

/* Never there, of another object, or deleted: not there, which is no error. */
static void
test_absent(void **state)
{
	struct crm_record r;
	struct asked x;
	struct err e;

	(void)state;
	begin(&x);
	MUST(get(&x, x.asker, "Contact", OTHER, &r, &e));
	assert_false(r.there);
	MUST(get(&x, x.asker, "Lead", x.id, &r, &e));
	assert_false(r.there);
	MUST(core_delete(&x.w->story.core, "Contact", str_of(x.id), &e));
	MUST(get(&x, x.asker, "Contact", x.id, &r, &e));
	assert_false(r.there);
	end(&x);
}

/* Keys that are not Core's; the last letter of the right one is changed. */
static void
test_key(void **state)
{
	char near[65];
	const char *const keys[] = {"", "x", near};
	struct asker *stranger = NULL;
	struct crm_record r;
	struct asked x;
	struct err e;

	(void)state;
	begin(&x);
	(void)snprintf(near, sizeof(near), "%s", reads_key(x.reads));
	near[63] = near[63] == '0' ? '1' : '0';
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		MUST(asker_new(reads_port(x.reads), keys[i], &stranger, &e));
		assert_int_equal(
		    get(&x, stranger, "Contact", x.id, &r, &e), ERR_AWAY);
		assert_non_null(strstr(e.text, "401"));
		asker_free(stranger);
	}
	end(&x);
}

/* Core stops: whoever asks is told to come again. */
static void
test_away(void **state)
{
	struct crm_record r;
	struct asked x;
	struct err e;

	(void)state;
	begin(&x);
	reads_stop(x.reads);
	x.reads = NULL;
	assert_int_equal(get(&x, x.asker, "Contact", x.id, &r, &e), ERR_AWAY);
	end(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole),
	    cmocka_unit_test(test_absent),
	    cmocka_unit_test(test_key),
	    cmocka_unit_test(test_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
