#include "reads.h"

#include "testing.h"

#define ID    "aaaaaaaa-0000-4000-8000-000000000001"
#define OTHER "bbbbbbbb-0000-4000-8000-000000000001"

struct asked {
	struct world *w;
	struct reads *reads;
	struct asker *asker;
};

static void
begin(struct asked *x)
{
	struct hk_error e = {0};

	x->w = make();
	(void)number(x->w, CORE,
	    "INSERT INTO creation VALUES ('Contact', '" ID
	    "', 'u1', '{\"Name\":\"N\",\"Email\":\"n@example.com\",\"Age\":7}')");
	if (reads_start(x->w->dir, &x->reads, &e) < 0 ||
	    asker_new(
		reads_port(x->reads), reads_key(x->reads), &x->asker, &e) < 0)
		fail_msg("%s", e.text);
}

static void
end(struct asked *x)
{
	asker_free(x->asker);
	reads_stop(x->reads);
	drop(x->w);
}

/* Over HTTP a record is what Core's database says. */
static void
test_whole(void **state)
{
	struct hk_error e = {0};
	struct asked x;
	char *text = NULL, *own = NULL;

	(void)state;
	begin(&x);
	assert_int_equal(asker_ask(x.asker, "Contact", ID, &text, &e), HK_OK);
	assert_int_equal(ask(x.w, "Contact", ID, &own, &e), HK_OK);
	assert_non_null(text);
	assert_string_equal(text, own);
	assert_non_null(strstr(text, "\"ownerId\":\"u1\""));
	assert_non_null(strstr(text, "\"Email\":\"n@example.com\",\"Age\":7"));
	free(text);
	free(own);
	end(&x);
}

/* Never there, of another object, or deleted: not there, which is no error. */
static void
test_absent(void **state)
{
	static const struct {
		const char *object, *id;
	} ROWS[] = {{"Contact", OTHER}, {"Lead", ID}, {"Campaign", ID "/" ID},
	    {"Contact", "a b?c"}};
	struct hk_error e = {0};
	struct asked x;
	char *text = NULL;

	(void)state;
	begin(&x);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		assert_int_equal(
		    asker_ask(x.asker, ROWS[i].object, ROWS[i].id, &text, &e),
		    HK_OK);
		assert_null(text);
	}
	(void)number(
	    x.w, CORE, "INSERT INTO deletion VALUES ('Contact', '" ID "')");
	assert_int_equal(asker_ask(x.asker, "Contact", ID, &text, &e), HK_OK);
	assert_null(text);
	end(&x);
}

/* Keys that are not Core's; the last letter of the right one is changed. */
static void
test_key(void **state)
{
	char near[65];
	const char *const keys[] = {"", "x", near};
	struct asker *stranger = NULL;
	struct hk_error e = {0};
	struct asked x;
	char *text = NULL;

	(void)state;
	begin(&x);
	(void)snprintf(near, sizeof(near), "%s", reads_key(x.reads));
	near[63] = near[63] == '0' ? '1' : '0';
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		assert_int_equal(
		    asker_new(reads_port(x.reads), keys[i], &stranger, &e),
		    HK_OK);
		assert_int_equal(
		    asker_ask(stranger, "Contact", ID, &text, &e), HK_RETRY);
		assert_non_null(strstr(e.text, "401"));
		asker_free(stranger);
	}
	end(&x);
}

/* Core stops: whoever asks is told to come again. */
static void
test_away(void **state)
{
	struct hk_error e = {0};
	struct asked x;
	char *text = NULL;

	(void)state;
	begin(&x);
	reads_stop(x.reads);
	x.reads = NULL;
	assert_int_equal(
	    asker_ask(x.asker, "Contact", ID, &text, &e), HK_RETRY);
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
