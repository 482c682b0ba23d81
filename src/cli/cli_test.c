#include "cli/cli.h"

#include "base/test.h"
#include "base/version.h"

static char *const NO_ENV[] = {NULL};

/* Says what it was given, so that a test sees it. */
static int
echo(struct cli *c, struct err *)
{
	const char *name = args_text(&c->args, "name");

	assert_non_null(arena_alloc(c->arena, 100));
	(void)fprintf(c->out, "%s name=%s loud=%d count=%lld data=%s",
	    c->verb->name, name ? name : "-", args_flag(&c->args, "loud"),
	    (long long)args_int(&c->args, "count", -1), c->conf.data);
	for (size_t i = 0; i < c->args.n_operands; i++)
		(void)fprintf(c->out, " %s", c->args.operands[i]);
	return OK;
}

static int
never(struct cli *, struct err *e)
{
	return err_set(e, ERR_AWAY, "no server; start one");
}

static const struct opt OWN[] = {
    {"name", OPT_TEXT, "NAME", .help = "a name"},
    {"loud", OPT_FLAG, "", .help = "shout"},
    {"count", OPT_INT, "N", .help = "how many", .least = 1, .most = 9},
    {.name = NULL},
};

static const struct verb TABLE[] = {
    {.name = "echo",
	.operands = "[WORD]...",
	.most = 2,
	.summary = "say it",
	.text = "Says it.\n",
	.own = OWN,
	.run = echo},
    {.name = "event tail",
	.operands = "",
	.summary = "follow",
	.text = "Follows.\n",
	.run = echo},
    {.name = "event publish",
	.operands = "FILE",
	.least = 1,
	.most = 1,
	.summary = "send",
	.text = "Sends.\n",
	.run = echo},
    {.name = "fail",
	.operands = "",
	.summary = "never works",
	.text = "Fails.\n",
	.run = never},
};
static const struct verbs VERBS = {TABLE, COUNT_OF(TABLE)};

struct ran {
	int status;
	char *out, *err;
	size_t n_out, n_err;
};

/* Runs a command line of words parted by single blanks. */
static struct ran
run(const char *line, char *const *env)
{
	char words[256], *argv[32], *at = words;
	struct ran r = {.status = -1};
	FILE *out = open_memstream(&r.out, &r.n_out);
	FILE *err = open_memstream(&r.err, &r.n_err);
	int argc = 0;

	assert_true(out && err);
	(void)snprintf(words, sizeof(words), "%s", line);
	while (at)
		argv[argc++] = strsep(&at, " ");
	argv[argc] = NULL;
	r.status = cli_run(&VERBS, argc, argv, env, out, err);
	(void)fclose(out);
	(void)fclose(err);
	return r;
}

static void
done(struct ran *r)
{
	free(r->out);
	free(r->err);
}

static void
hands_over(void **)
{
	static const struct {
		const char *line, *want;
	} ROWS[] = {
	    {"h echo", "echo name=- loud=0 count=-1 data=data"},
	    {"h echo a b", "echo name=- loud=0 count=-1 data=data a b"},
	    {"h echo --name x", "echo name=x loud=0 count=-1 data=data"},
	    {"h echo --name=x a --loud --count 9",
		"echo name=x loud=1 count=9 data=data a"},
	    {"h echo --name= a", "echo name= loud=0 count=-1 data=data a"},
	    {"h echo --name a=b", "echo name=a=b loud=0 count=-1 data=data"},
	    {"h echo --name -", "echo name=- loud=0 count=-1 data=data"},
	    {"h echo --name=--x", "echo name=--x loud=0 count=-1 data=data"},
	    {"h echo --name a --name b",
		"echo name=b loud=0 count=-1 data=data"},
	    {"h echo -- --loud -", "echo name=- loud=0 count=-1 data=data "
				   "--loud -"},
	    {"h echo --data /d", "echo name=- loud=0 count=-1 data=/d"},
	    {"h event tail", "event tail name=- loud=0 count=-1 data=data"},
	    {"h event publish f",
		"event publish name=- loud=0 count=-1 data=data f"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct ran r = run(ROWS[i].line, NO_ENV);

		assert_string_equal(r.err, "");
		assert_string_equal(r.out, ROWS[i].want);
		assert_int_equal(r.status, EXIT_OK);
		done(&r);
	}
}

static void
refuses(void **)
{
	static const struct {
		const char *line;
		int status;
		const char *want;
	} ROWS[] = {
	    {"h ecko", 2,
		"unknown verb ecko; did you mean echo? (hikyaku --help)"},
	    {"h event tial", 2,
		"unknown verb event tial; did you mean event tail? "
		"(hikyaku --help)"},
	    {"h evnt tail", 2,
		"unknown verb evnt; did you mean event tail? "
		"(hikyaku --help)"},
	    {"h quite-else", 2, "unknown verb quite-else (hikyaku --help)"},
	    {"h", 2, "a verb must come first (hikyaku --help)"},
	    {"h event", 2, "event needs a second word (hikyaku event --help)"},
	    {"h --loud", 2,
		"a verb must come first, not --loud (hikyaku --help)"},
	    {"h echo --lod", 2,
		"unknown option --lod; did you mean --loud? "
		"(hikyaku echo --help)"},
	    {"h echo --confg=x", 2,
		"unknown option --confg; did you mean --config? "
		"(hikyaku echo --help)"},
	    {"h echo --zzzzzz", 2,
		"unknown option --zzzzzz (hikyaku echo --help)"},
	    {"h echo -l", 2,
		"unknown option -l; options begin with -- "
		"(hikyaku echo --help)"},
	    {"h echo --name", 2,
		"--name needs a value: --name NAME (hikyaku echo --help)"},
	    {"h echo --name --loud", 2,
		"--name needs a value: --name NAME (hikyaku echo --help)"},
	    {"h echo --loud=1", 2,
		"--loud takes no value (hikyaku echo --help)"},
	    {"h echo --count 10", 2,
		"--count must be a whole number from 1 to 9, not 10 "
		"(hikyaku echo --help)"},
	    {"h echo a b c", 2,
		"echo: expected [WORD]... (hikyaku echo --help)"},
	    {"h event tail x", 2,
		"event tail takes no operands (hikyaku event tail --help)"},
	    {"h event publish", 2,
		"event publish: expected FILE (hikyaku event publish --help)"},
	    {"h echo --log xml", 1,
		"log.form must be json or text, not \"xml\""},
	    {"h fail", 1, "no server; start one"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct ran r = run(ROWS[i].line, NO_ENV);
		char want[200];

		(void)snprintf(
		    want, sizeof(want), "hikyaku: %s\n", ROWS[i].want);
		assert_string_equal(r.err, want);
		assert_string_equal(r.out, "");
		assert_int_equal(r.status, ROWS[i].status);
		done(&r);
	}
}

static void
helps(void **)
{
	static const struct {
		const char *line, *has, *lacks;
	} ROWS[] = {
	    {"h --help", "  echo [WORD]...", "zzz"},
	    {"h --help", "  event publish FILE", "zzz"},
	    {"h event --help", "  event tail", "echo"},
	    {"h echo --help", "  --count N", "zzz"},
	    {"h echo --help", "  --data DIR                the data folder",
		"zzz"},
	    {"h echo --count 1 --help", "Says it.\n", "zzz"},
	    {"h event publish --help",
		"Usage: hikyaku event publish "
		"[OPTION]... FILE\n",
		"--count"},
	    {"h --version", "hikyaku " HIKYAKU_VERSION "\n", "zzz"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct ran r = run(ROWS[i].line, NO_ENV);

		assert_int_equal(r.status, EXIT_OK);
		assert_string_equal(r.err, "");
		assert_non_null(strstr(r.out, ROWS[i].has));
		assert_null(strstr(r.out, ROWS[i].lacks));
		done(&r);
	}
}

static void
settings_reach_the_verb(void **)
{
	char data[] = "HIKYAKU_DATA=/env", bad[] = "SERVER_PORT=x";
	char *const env[] = {data, NULL}, *const wrong[] = {bad, NULL};
	struct ran r = run("h echo", env);

	assert_non_null(strstr(r.out, "data=/env"));
	done(&r);
	r = run("h echo --data /flag --print-config", env);
	assert_int_equal(r.status, EXIT_OK);
	assert_non_null(strstr(r.out, "data = /flag  # flag\n"));
	assert_non_null(strstr(r.out, "server.port = 8080  # default\n"));
	assert_null(strstr(r.out, "echo"));
	done(&r);
	r = run("h echo", wrong);
	assert_int_equal(r.status, EXIT_FAILED);
	assert_non_null(strstr(r.err, "environment variable SERVER_PORT"));
	done(&r);
	r = run("h echo --config /nowhere", env);
	assert_int_equal(r.status, EXIT_FAILED);
	assert_non_null(strstr(r.err, "/nowhere"));
	done(&r);
}

static void
a_full_disk_is_a_failure(void **)
{
	char *argv[] = {(char[]){"h"}, (char[]){"--version"}, NULL};
	FILE *full = fopen("/dev/full", "w");
	char *said = NULL;
	size_t n = 0;
	FILE *err = open_memstream(&said, &n);

	assert_int_equal(
	    cli_run(&VERBS, 2, argv, NO_ENV, full, err), EXIT_FAILED);
	(void)fclose(full);
	(void)fclose(err);
	assert_non_null(strstr(said, "can't write"));
	free(said);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(hands_over),
	    cmocka_unit_test(refuses),
	    cmocka_unit_test(helps),
	    cmocka_unit_test(settings_reach_the_verb),
	    cmocka_unit_test(a_full_disk_is_a_failure),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
