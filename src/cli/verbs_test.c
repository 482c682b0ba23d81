/* What the table of verbs promises, of every row. */
#include "cli/verbs.h"

#include "base/test.h"
#include "cli/out/listing.h"
#include "contract/sub.h"

static const struct verb *
verb_get(const char *name)
{
	for (size_t i = 0; i < VERBS.n; i++)
		if (strcmp(VERBS.v[i].name, name) == 0)
			return &VERBS.v[i];
	fail_msg("no verb %s", name);
	return NULL;
}

static void
every_verb_is_whole(void **)
{
	for (size_t i = 0; i < VERBS.n; i++) {
		const struct verb *v = &VERBS.v[i];
		size_t n = 0;

		assert_true(v->summary[0] && strlen(v->summary) < 70);
		assert_true(str_ends(str_of(v->text), STR(".\n")) ||
			    strchr(v->text, ':'));
		assert_non_null(v->run);
		assert_true(v->least <= v->most);
		assert_int_equal(v->most > 0, v->operands[0] != 0);
		while (v->columns && v->columns[n].head)
			n++;
		assert_true(n <= LISTING_COLUMNS_MAX);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(v->name, VERBS.v[k].name);
	}
}

/* An option of a verb never hides one that means something else. */
static void
options_have_one_meaning(void **)
{
	for (size_t i = 0; i < VERBS.n; i++) {
		const struct opt *tables[ARGS_TABLES], *seen[ARGS_MAX];
		size_t n = 0;

		cli_options(&VERBS.v[i], tables);
		for (size_t k = 0; k < ARGS_TABLES; k++)
			for (const struct opt *o = tables[k]; o && o->name;
			     o++) {
				assert_true(n < ARGS_MAX && o->help[0]);
				seen[n++] = o;
				for (size_t m = 0; m + 1 < n; m++)
					assert_string_not_equal(
					    seen[m]->name, o->name);
			}
	}
}

static bool
has_member(const char *verb, const char *member)
{
	for (const struct opt *o = verb_get(verb)->own; o->name; o++)
		if (str_eq(str_of(o->member), str_of(member)))
			return true;
	return false;
}

static void
every_member_has_an_option(void **)
{
	size_t n = 0;

	for (const struct member *m = SUB_BODY; m->name; m++, n++) {
		/* stored, or shown by somebody else */
		if (m->kind == MEMBER_OWN && !m->schema && !m->part)
			continue;
		if (!has_member("subscription create", m->name) ||
		    !has_member("subscription update", m->name))
			fail_msg("subscription create has no %s", m->name);
	}
	assert_true(n > 15);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(every_verb_is_whole),
	    cmocka_unit_test(options_have_one_meaning),
	    cmocka_unit_test(every_member_has_an_option),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
