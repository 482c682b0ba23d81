#include "seal/tenant.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

static void
names_have_their_uuid(void **)
{
	/* By Python's uuid.uuid5(UUID(TENANT_NAMESPACE), name). */
	static const struct {
		const char *name, *id;
	} T[] = {
	    {"default", "e4128032-afa1-57aa-bed9-93352a783d52"},
	    {"acme", "909bf239-fb33-55af-b85c-29a1d87a67bc"},
	    {"Acme.eu:shop-1_x", "b5e87d21-b167-5f32-9af4-bb1a4024a251"},
	    {"0198C2F0-7D1E-7A3B-8C4D-5E6F70819203",
		"0198c2f0-7d1e-7a3b-8c4d-5e6f70819203"},
	};
	static const char *const BAD[] = {"", "a b", "a/b", "\xc3\xa9", "a,b",
	    "01234567890123456789012345678901234567890123456789012345678901234"};
	char text[UUID_LEN + 1];
	struct uuid u;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		assert_true(tenant_parse(str_of(T[i].name), &u));
		uuid_format(u, text);
		assert_string_equal(text, T[i].id);
	}
	for (size_t i = 0; i < COUNT_OF(BAD); i++)
		assert_false(tenant_parse(str_of(BAD[i]), &u));
	assert_true(tenant_parse(STR(TENANT_DEFAULT), &u));
	assert_true(uuid_eq(u, tenant_default()));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(names_have_their_uuid),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
