#include "doc/caged.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "base/test.h"
#include "cage/limits.h"
#include "doc/child.h"
#include "doc/limits.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "feed/opml.h"

#define SELF "/proc/self/exe"
#define RSS                                                                    \
	"<rss version='2.0'><channel><title>T</title><item><guid>1</guid>"     \
	"<title>A</title><description>&lt;p&gt;x</description></item>"         \
	"</channel></rss>"

static struct arena *arena;
static struct err e;

static int
set_up(void **)
{
	arena = arena_new(FEED_ARENA_MAX);
	e = (struct err){.code = OK};
	return arena ? 0 : -1;
}

static int
take_down(void **)
{
	arena_free(arena);
	return 0;
}

static struct caged *
open_caged(const char *fault)
{
	struct caged *c = NULL;

	if (caged_new(SELF, fault, &c, &e) < 0)
		fail_msg("%s", e.text);
	return c;
}

static int
read_feed(struct caged *c, struct str bytes, struct feed **ret)
{
	struct feed_from from = {STR("https://e.x/f"), STR_EMPTY, STR_EMPTY};

	e = (struct err){.code = OK};
	return caged_feed(c, arena, bytes, &from, ret, &e);
}

static void
must_read(struct caged *c)
{
	struct feed *f = NULL;

	if (read_feed(c, STR(RSS), &f) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(f->n_items, 1);
	assert_true(str_eq(f->items->title, STR("A")));
}

static void
reads_each_kind(void **)
{
	struct feed_from from = {
	    STR("https://e.x/"), STR("text/html"), STR_EMPTY};
	struct doc_article article = {.title = STR("Two words"),
	    .author = {.p = NULL},
	    .summary = STR("<p onclick=x>Some <script>evil</script>text"),
	    .content = STR_EMPTY,
	    .base = STR_EMPTY};
	struct doc_articles articles = {&article};
	struct caged_how how = {SANITIZE_BASIC, STORE_SQLITE};
	struct caged *c = open_caged(NULL);
	struct doc_cleaned clean = {.first = NULL};
	struct discover *d = NULL;
	struct opml *o = NULL;
	const char *mime = NULL;

	must_read(c);
	assert_int_equal(
	    caged_page(c, arena,
		STR("<link rel=alternate type=application/rss+xml href=/f>"),
		&from, &d, &e),
	    OK);
	assert_int_equal(d->n_feeds, 1);
	assert_true(str_eq(d->feeds[0].url, STR("https://e.x/f")));
	assert_int_equal(
	    caged_opml(c, arena,
		STR("<opml><body><outline xmlUrl='https://e.x/f'/></body></opml>"),
		STR_EMPTY, &o, &e),
	    OK);
	assert_int_equal(o->n_feeds, 1);
	assert_int_equal(caged_icon(c, STR("GIF89a.."), &mime, &e), OK);
	assert_string_equal(mime, "image/gif");
	assert_int_equal(caged_icon(c, STR("none"), &mime, &e), OK);
	assert_null(mime);
	assert_int_equal(
	    caged_clean(c, arena, &how, &articles, &clean, &e), OK);
	assert_int_equal(clean.n, 1);
	assert_true(str_eq(clean.first->summary, STR("<p>Some text</p>")));
	assert_null(clean.first->content.p);
	assert_true(str_eq(clean.first->excerpt, STR("Some text")));
	assert_true(
	    str_starts(clean.first->terms, STR("\xe2\x90\x80 two words")));
	caged_free(c);
}

/* What a parser says is what the caller hears; the child lives on. */
static void
refuses_as_parsers_do(void **)
{
	struct caged *c = open_caged(NULL);
	struct feed *f = NULL;
	int pid;

	must_read(c);
	pid = caged_pid(c);
	assert_int_equal(read_feed(c, STR("<html><p>\xff"), &f), ERR_INVALID);
	assert_null(e.word);
	assert_non_null(strstr(e.text, "HTML"));
	assert_int_equal(read_feed(c, STR_EMPTY, &f), ERR_INVALID);
	must_read(c);
	assert_int_equal(caged_pid(c), pid);
	caged_free(c);
}

/* Charsets whose modules glibc would have to load: there are no files. */
static void
knows_charsets(void **)
{
	static const struct {
		const char *charset, *bytes, *want;
	} ROWS[] = {
	    {"shift_jis", "\x93\x8c\x8b\x9e", "東京"},
	    {"euc-jp", "\xc5\xec\xb5\xfe", "東京"},
	    {"euc-kr", "\xc7\xd1", "한"},
	    {"gb18030", "\xb1\xb1", "北"},
	    {"big5", "\xa5\x5f", "北"},
	    {"koi8-r", "\xd1", "я"},
	    {"windows-1251", "\xff", "я"},
	    {"iso-8859-2", "\xb1", "ą"},
	    {"iso-2022-jp", "\x1b$B\x45\x6c\x1b(B", "東"},
	    {"nosuch", "x", "x"},
	};
	struct caged *c = open_caged(NULL);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str doc = arena_fmt(arena,
		    "<?xml version='1.0' encoding='%s'?><rss><channel>"
		    "<title>%s</title></channel></rss>",
		    ROWS[i].charset, ROWS[i].bytes);
		struct feed *f = NULL;

		if (read_feed(c, doc, &f) < 0)
			fail_msg("%s: %s", ROWS[i].charset, e.text);
		if (!str_eq(f->title, str_of(ROWS[i].want)))
			fail_msg(
			    "%s: %.*s", ROWS[i].charset, STR_ARG(f->title));
	}
	caged_free(c);
}

/* Each way to end takes one document along, and says how. */
static void
survives_each_end(void **)
{
	static const struct {
		const char *fault, *how;
	} ROWS[] = {
	    {"cage.crash:2", "crashed it"},
	    {"cage.loop:2", "ms of CPU time"},
	    {"cage.memory:2", "more memory"},
#ifndef __SANITIZE_THREAD__
	    {"cage.call:2", "may not do"},
#endif
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct caged *c = open_caged(ROWS[i].fault);
		struct feed *f = NULL;
		int pid;

		must_read(c);
		pid = caged_pid(c);
		assert_int_equal(read_feed(c, STR(RSS), &f), ERR_INVALID);
		assert_string_equal(e.word, CAGED_ENDED);
		if (!strstr(e.text, "the document ended its reader: it ") ||
		    !strstr(e.text, ROWS[i].how))
			fail_msg("%s: %s", ROWS[i].fault, e.text);
		assert_null(f);
		must_read(c);
		assert_int_not_equal(caged_pid(c), pid);
		caged_free(c);
	}
}

/* Bad documents one after the other hold up nobody. */
static void
never_waits_for_the_bad(void **)
{
	struct caged *c = open_caged("cage.crash:0");
	struct feed *f = NULL;

	for (int i = 0; i < 3 * CAGE_DEATHS_FREE; i++) {
		assert_int_equal(read_feed(c, STR(RSS), &f), ERR_INVALID);
		assert_string_equal(e.word, CAGED_ENDED);
	}
	caged_free(c);
}

/* Killed from outside: the document is read by the next child. */
static void
survives_kills(void **)
{
	struct caged *c = open_caged(NULL);

	for (int i = 0; i < 2 * CAGE_DEATHS_FREE; i++) {
		must_read(c);
		assert_int_equal(kill(caged_pid(c), SIGKILL), 0);
	}
	must_read(c);
	caged_free(c);
	c = open_caged("cage.kill:1");
	must_read(c);
	caged_free(c);
}

/* Killed whenever it is there: told so, then asked to wait. */
static void
backs_off(void **)
{
	struct caged *c = open_caged("cage.kill:0");
	struct feed *f = NULL;
	int away = 0;

	for (int i = 0; i < 2 * CAGE_DEATHS_FREE && !away; i++) {
		int rc = read_feed(c, STR(RSS), &f);

		away = rc == ERR_AWAY;
		assert_string_equal(e.word, away ? CAGED_AWAY : CAGED_ENDED);
		if (!away)
			assert_non_null(strstr(e.text, "killed (signal 9)"));
	}
	assert_true(away);
	assert_true(e.retry_after_s > 0);
	caged_free(c);
}

static void
can_fail_to_start(void **)
{
	struct caged *c = open_caged("cage.start:1");
	struct feed *f = NULL;

	assert_int_equal(read_feed(c, STR(RSS), &f), ERR_AWAY);
	assert_string_equal(e.word, CAGED_AWAY);
	assert_non_null(strstr(e.text, "documents can't be read now"));
	must_read(c);
	caged_free(c);
	assert_int_equal(caged_new(SELF, "cage.nosuch:1", &c, &e), ERR_INVALID);
	assert_int_equal(caged_new(SELF, "cage.loop", &c, &e), ERR_INVALID);
}

/* It has three times /dev/null and a socket, and no environment. */
static void
has_nothing(void **)
{
	struct caged *c = open_caged(NULL);
	char path[64], env[8];
	struct dirent *d;
	int fds = 0;
	FILE *f;
	DIR *dir;

	must_read(c);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", caged_pid(c));
	dir = opendir(path);
	assert_non_null(dir);
	while ((d = readdir(dir)))
		fds += d->d_name[0] != '.';
	(void)closedir(dir);
	assert_int_equal(fds, 4);
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", caged_pid(c));
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fread(env, 1, sizeof(env), f), 0);
	(void)fclose(f);
	caged_free(c);
}

/* One child reads so many, and no more. */
static void
has_a_short_life(void **)
{
	struct caged *c = open_caged(NULL);
	const char *mime;
	int pid, changed = 0;

	must_read(c);
	pid = caged_pid(c);
	for (int i = 0; i < DOC_LIFE; i++) {
		assert_int_equal(caged_icon(c, STR("GIF89a"), &mime, &e), OK);
		changed += caged_pid(c) != pid;
		pid = caged_pid(c);
	}
	assert_int_equal(changed, 1);
	assert_true(caged_rest(c) > DOC_IDLE_MS / 2);
	caged_free(c);
}

int
main(int argc, char **argv)
{
	const struct cage_kind *const kinds[] = {&DOC_CHILD, NULL};
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(reads_each_kind, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		refuses_as_parsers_do, set_up, take_down),
	    cmocka_unit_test_setup_teardown(knows_charsets, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		survives_each_end, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		never_waits_for_the_bad, set_up, take_down),
	    cmocka_unit_test_setup_teardown(survives_kills, set_up, take_down),
	    cmocka_unit_test_setup_teardown(backs_off, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		can_fail_to_start, set_up, take_down),
	    cmocka_unit_test_setup_teardown(has_nothing, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		has_a_short_life, set_up, take_down),
	};
	int status = cage_main(kinds, argc, argv);

	return status >= 0 ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
