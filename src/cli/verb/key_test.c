/* key and user, as they work on a store that no server has. */
#include "account/limits.h"
#include "base/test.h"
#include "cli/verbs.h"
#include "seal/token.h"
#include "store/fixture_test.h"

/* The real table names verbs of other rooms too: these are enough here. */
static const struct opt OPTS[] = {
    {"name", OPT_TEXT, "", .help = ""},
    {"scopes", OPT_TEXT, "", .help = ""},
    {"tenants", OPT_TEXT, "", .help = ""},
    {"rate", OPT_INT, "", .help = "", .least = 1, .most = KEY_RATE_MAX},
    {"expires", OPT_TEXT, "", .help = ""},
    {"webhook-secret", OPT_TEXT, "", .help = ""},
    {"role", OPT_TEXT, "", .help = ""},
    {"generate", OPT_FLAG, "", .help = ""},
    {"json", OPT_FLAG, "", .help = ""},
    {.name = NULL},
};

#define VERB(words, n, fn)                                                     \
	{                                                                      \
		.name = (words), .operands = "", .most = (n), .summary = "",   \
		.text = "", .own = OPTS, .run = (fn)                           \
	}

static const struct verb TABLE[] = {
    VERB("key create", 1, verb_key_create),
    VERB("key list", 0, verb_key_list),
    VERB("key revoke", 1, verb_key_revoke),
    VERB("user add", 1, verb_user_add),
    VERB("user passwd", 1, verb_user_passwd),
    VERB("user list", 0, verb_user_list),
    VERB("user remove", 1, verb_user_remove),
};

static struct {
	struct fixture f;
	char out[8192], err[1024];
} w;

static int
begin(void **)
{
	fixture_open(&w.f, STORE_SQLITE, NULL);
	store_close(w.f.store);
	w.f.store = NULL;
	return 0;
}

static int
end(void **)
{
	fixture_close(&w.f);
	return 0;
}

/* Words with a | between; the exit status. */
static int
run(const char *line)
{
	const struct verbs verbs = {.v = TABLE, .n = COUNT_OF(TABLE)};
	char words[512], *argv[32] = {NULL}, *at = words;
	char *environment[] = {NULL};
	FILE *out = fmemopen(w.out, sizeof(w.out), "w");
	FILE *err = fmemopen(w.err, sizeof(w.err), "w");
	int argc = 0, status;

	assert_true(out && err);
	(void)snprintf(
	    words, sizeof(words), "hikyaku|%s|--data|%s", line, w.f.dir);
	while (at)
		argv[argc++] = strsep(&at, "|");
	memset(w.out, 0, sizeof(w.out));
	memset(w.err, 0, sizeof(w.err));
	status = cli_run(&verbs, argc, argv, environment, out, err);
	(void)fclose(out);
	(void)fclose(err);
	return status;
}

static void
test_keys(void **)
{
	char id[UUID_LEN + 1], line[128];

	assert_int_equal(
	    run("key|create|ci|--scopes|publish,read|--rate|5|--expires|90d"),
	    EXIT_OK);
	assert_int_equal(strlen(w.out), TOKEN_LEN + 1);
	assert_true(token_formed((struct str){w.out, TOKEN_LEN}));
	assert_non_null(strstr(w.err, "signed with whsec_"));
	assert_int_equal(
	    run("key|create|given|--webhook-secret|shared-4711"), EXIT_OK);
	assert_int_equal(strlen(w.out), TOKEN_LEN + 1);
	assert_non_null(strstr(w.err, "signed with shared-4711,"));
	assert_int_equal(
	    run("key|create|bad|--webhook-secret|whsec_AA"), EXIT_FAILED);
	assert_int_equal(run("key|create|--name|two|--tenants|"
			     "11111111-1111-4111-8111-111111111111|--json"),
	    EXIT_OK);
	assert_non_null(strstr(w.out, "\"scopes\":[\"publish\"]"));
	assert_non_null(strstr(w.out, "\"createdBy\":\"local\""));
	memcpy(id, strstr(w.out, "\"id\":\"") + 6, UUID_LEN);
	id[UUID_LEN] = '\0';

	assert_int_equal(run("key|list"), EXIT_OK);
	assert_memory_equal(w.out, "ID ", 3);
	assert_non_null(strstr(w.out, "publish,read"));
	assert_null(strstr(w.out, "revoked"));
	(void)snprintf(line, sizeof(line), "key|revoke|%s", id);
	assert_int_equal(run(line), EXIT_OK);
	assert_int_equal(run("key|list"), EXIT_OK);
	assert_non_null(strstr(w.out, "revoked"));
	assert_int_equal(run("key|list|--json"), EXIT_OK);
	assert_int_equal(w.out[0], '{');
}

static void
test_users(void **)
{
	assert_int_equal(run("user|add|ann|--generate"), EXIT_FAILED);
	assert_non_null(strstr(w.err, "must be an admin"));
	assert_int_equal(run("user|add|ann|--role|admin|--generate"), EXIT_OK);
	assert_int_equal(strlen(w.out), 25);
	assert_int_equal(run("user|add|bob|--generate"), EXIT_OK);
	assert_int_equal(run("user|add|bob|--generate"), EXIT_FAILED);
	assert_int_equal(run("user|passwd|bob|--generate"), EXIT_OK);
	assert_int_equal(strlen(w.out), 25);
	assert_int_equal(run("user|list"), EXIT_OK);
	assert_memory_equal(w.out, "NAME  ROLE    ", 14);
	assert_non_null(strstr(w.out, "\nann   admin   "));
	assert_int_equal(run("user|remove|ann"), EXIT_FAILED);
	assert_non_null(strstr(w.err, "last admin"));
	assert_int_equal(run("user|remove|bob"), EXIT_OK);
	assert_int_equal(run("user|list|--json"), EXIT_OK);
	assert_null(strstr(w.out, "bob"));
}

/* Without a terminal the password is the first line of the input. */
static void
test_stdin(void **)
{
	static const struct {
		const char *input;
		int want;
	} rows[] = {
	    {"", EXIT_FAILED},
	    {"\n", EXIT_FAILED},
	    {"short\n", EXIT_FAILED},
	    {"long enough\nrest", EXIT_OK},
	    {"without an end", EXIT_OK},
	    {"from windows\r\n", EXIT_OK},
	};
	int was = dup(0);

	assert_true(was >= 0);
	assert_int_equal(run("user|add|ann|--role|admin|--generate"), EXIT_OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		assert_true(
		    write(fds[1], rows[i].input, strlen(rows[i].input)) >= 0);
		(void)close(fds[1]);
		assert_true(dup2(fds[0], 0) == 0);
		(void)close(fds[0]);
		if (run("user|passwd|ann") != rows[i].want)
			fail_msg("row %zu: %s", i, w.err);
		assert_string_equal(w.out, "");
	}
	assert_true(dup2(was, 0) == 0);
	(void)close(was);
}

static void
test_mistakes(void **)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
	    {"key|create|", "name must be"},
	    {"key|create|x|--scopes|raed", "raed is not publish, read"},
	    {"key|create|x|--scopes|", "scopes must name"},
	    {"key|create|x|--tenants|a b", "a b is not a UUID"},
	    {"key|create|x|--expires|soon", "--expires"},
	    {"key|create|x|--expires|2001-01-01T00:00:00Z", "future"},
	    {"key|revoke|x", "no key's id"},
	    {"key|revoke|11111111-1111-4111-8111-111111111111", "no such key"},
	    {"user|add|Ann|--generate", "a name is"},
	    {"user|add|ann|--role|root|--generate", "--role must be"},
	    {"user|passwd|ann|--generate", "no user ann"},
	    {"user|remove|ann", "no user ann"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int status = run(rows[i].line);

		if (status != EXIT_FAILED || !strstr(w.err, rows[i].says))
			fail_msg("row %zu: %d %s", i, status, w.err);
	}
	assert_int_equal(run("key|create"), EXIT_USAGE);
	assert_non_null(strstr(w.err, "needs a name"));
}

#define WITH_DIR(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_DIR(test_keys),
	    WITH_DIR(test_users),
	    WITH_DIR(test_stdin),
	    WITH_DIR(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
