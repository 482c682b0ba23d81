#include "doc/child.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doc/favicon.h"
#include "doc/limits.h"
#include "doc/shapes.h"
#include "doc/terms.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "feed/opml.h"
#include "markup/charset.h"
#include "markup/sanitize.h"
#include "markup/text.h"

/* Built with a sanitizer it is that much slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_MS (6 * DOC_CPU_MS)
#else
#define CPU_MS DOC_CPU_MS
#endif
/* Beyond it a buffer is given back: most documents are small. */
#define KEEP_BYTES (1 * MIB)

struct child {
	struct arena *arena;
	struct buf request, answer;
};

/* Each gives the struct of its kind, which is the arena's. */
typedef int read_fn(struct arena *a, const struct doc_ask *q, struct str bytes,
    void **ret, struct err *e);

static int
read_feed(struct arena *a, const struct doc_ask *q, struct str bytes,
    void **ret, struct err *e)
{
	struct feed_from from = {q->url, q->content_type, STR_EMPTY};
	struct feed *f = NULL;
	int rc = feed_parse(a, bytes, &from, &f, e);

	*ret = f;
	return rc;
}

static int
read_page(struct arena *a, const struct doc_ask *q, struct str bytes,
    void **ret, struct err *e)
{
	struct feed_from from = {q->url, q->content_type, q->links};

	*ret = arena_alloc(a, sizeof(struct discover));
	return discover(a, bytes, &from, *ret, e);
}

static int
read_opml(struct arena *a, const struct doc_ask *q, struct str bytes,
    void **ret, struct err *e)
{
	struct opml *o = NULL;
	int rc = opml_parse(a, bytes, q->content_type, &o, e);

	*ret = o;
	return rc;
}

static int
read_icon(struct arena *a, const struct doc_ask *, struct str bytes, void **ret,
    struct err *)
{
	struct doc_icon *icon = arena_alloc(a, sizeof(*icon));

	icon->mime = str_of(favicon_mime(bytes));
	*ret = icon;
	return OK;
}

/* Articles -------------------------------------------------------------------- */

/* As *ret was: nothing is left, or it would be too much. */
static int
clean_html(struct arena *a, const struct doc_ask *q, struct str html,
    struct str base, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(ITEM_CONTENT_MAX);
	int rc = OK;

	if (html.n > 0)
		rc = sanitize(
		    html, base, (enum sanitize_tags)q->tags, &b, NULL, e);
	if (rc == OK && b.n > 0)
		*ret = arena_dup(a, buf_str(&b));
	return rc == ERR_LIMIT ? OK : rc;
}

static void
make_terms(struct arena *a, const struct doc_ask *q,
    const struct doc_article *from, struct doc_clean *to)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * TERMS_BYTES_MAX);
	struct terms t = {.engine = (enum store_engine)q->engine, .out = &b};

	terms_begin(&t);
	terms_add(&t, from->title);
	terms_add(&t, from->author);
	terms_add_html(&t, to->content);
	terms_add_html(&t, to->summary);
	to->terms = arena_dup(a, buf_str(&b));
}

/* The beginning of what there is to read, without markup. */
static struct str
excerpt(struct arena *a, const struct doc_clean *to)
{
	struct str html = to->summary.p ? to->summary : to->content;

	/* Far more than is shown, and no more work than that. */
	html = str_chars(html, (size_t)20 * ITEM_EVENT_TEXT);
	return str_chars(
	    text_squeeze(a, text_of_html(a, html)), ITEM_EVENT_TEXT);
}

/* The end of the first line or paragraph that says something. */
static struct str
first_line(struct arena *a, struct str html)
{
	static const struct str ENDS[] = {
	    STR("</p>"), STR("<br>"), STR("</li>"), STR("<p>"), STR("</pre>")};
	struct str text = STR_EMPTY,
		   rest = str_chars(html, 4 * ITEM_EVENT_TEXT);

	while (rest.n > 0 && text.n == 0) {
		struct str best = STR_EMPTY, line = rest;

		for (size_t i = 0; i < COUNT_OF(ENDS); i++) {
			struct str behind = rest;

			if (str_pass(&behind, ENDS[i]) && behind.n >= best.n)
				best = behind;
		}
		line.n -= best.n;
		text = text_of_html(a, line);
		rest = best;
	}
	return text;
}

/* For one that has none: its first words. */
static struct str
make_title(struct arena *a, const struct doc_clean *to)
{
	struct str text =
	    first_line(a, to->content.p ? to->content : to->summary);
	struct str cut = str_chars(text, ITEM_TITLE_TEXT);

	if (cut.n == text.n)
		return text;
	/* At a blank, unless that is far off or there is none. */
	for (size_t n = cut.n; n > cut.n / 2; n--)
		if (str_is_blank(cut.p[n - 1])) {
			cut.n = n - 1;
			break;
		}
	return arena_fmt(a, "%.*s\xe2\x80\xa6", STR_ARG(cut));
}

static int
clean_one(struct arena *a, const struct doc_ask *q,
    const struct doc_article *from, struct doc_clean *to, struct err *e)
{
	TRY(clean_html(a, q, from->summary, from->base, &to->summary, e));
	TRY(clean_html(a, q, from->content, from->base, &to->content, e));
	make_terms(a, q, from, to);
	to->excerpt = excerpt(a, to);
	if (from->title.n == 0)
		to->title = make_title(a, to);
	return arena_over(a)
		   ? err_set(e, ERR_LIMIT, "the articles are too large")
		   : OK;
}

static int
clean_all(struct arena *a, const struct doc_ask *q, struct str bytes,
    void **ret, struct err *e)
{
	struct doc_articles in = {.first = NULL};
	struct doc_cleaned *out = arena_alloc(a, sizeof(*out));
	struct doc_clean **tail = &out->first;

	TRY(pack_get(a, &bytes, &DOC_ARTICLES, &in, e));
	for (const struct doc_article *it = in.first; it; it = it->next) {
		*tail = arena_alloc(a, sizeof(**tail));
		TRY(clean_one(a, q, it, *tail, e));
		tail = &(*tail)->next;
	}
	*ret = out;
	return OK;
}

/* Requests -------------------------------------------------------------------- */

static read_fn *const READERS[DOC_KINDS] = {
    [DOC_FEED] = read_feed,
    [DOC_PAGE] = read_page,
    [DOC_OPML] = read_opml,
    [DOC_ICON] = read_icon,
    [DOC_CLEAN] = clean_all,
};

static void
fail_as_told(enum doc_fault fault)
{
	volatile bool for_ever = true;
	size_t n = 0;

	switch (fault) {
	case DOC_FAULT_CRASH:
		__builtin_trap();
	case DOC_FAULT_LOOP:
		while (for_ever)
			continue;
		return;
	case DOC_FAULT_MEMORY:
		/* Built with ASan there is no bound to meet. */
		while (n < 2 * DOC_MEMORY_MAX && malloc(MIB))
			n += MIB;
		cage_leave(CAGE_EXIT_MEMORY);
	case DOC_FAULT_CALL:
		(void)syscall(SYS_getuid);
		return;
	case DOC_FAULT_NONE:
	case DOC_FAULTS:
		return;
	}
}

/* The error, in place of whatever was written already. */
static void
answer_failure(struct child *c, struct err *e)
{
	size_t n = strlen(e->text);
	struct doc_result said = {.code = e->code, .text = {e->text, n}};

	/* It may quote the document, cut in mid-character. */
	str_clean_utf8(e->text, n);
	if (e->code < ERR_LIMIT)
		said.code = ERR_INVALID;
	buf_clear(&c->answer);
	pack_put(&c->answer, &DOC_RESULT, &said);
}

static bool
serve_one(struct child *c)
{
	struct doc_ask q = {.kind = DOC_FEED};
	struct err e = {.code = OK};
	struct doc_result fine = {.text = STR_EMPTY};
	void *what = NULL;
	struct str rest;
	int rc;

	if (!cage_take(&c->request))
		return false;
	buf_clear(&c->answer);
	cage_cpu(CPU_MS);
	rest = buf_str(&c->request);
	if (pack_get(c->arena, &rest, &DOC_ASK, &q, &e) < 0)
		return false; /* our server says no such thing */
	fail_as_told((enum doc_fault)q.fault);
	rc = READERS[q.kind](c->arena, &q, rest, &what, &e);
	if (rc == OK) {
		pack_put(&c->answer, &DOC_RESULT, &fine);
		pack_put(&c->answer, DOC_SHAPES[q.kind], what);
	}
	if (rc == OK && c->answer.failed)
		rc = err_set(&e, ERR_LIMIT, "what is in it is too large");
	if (rc != OK)
		answer_failure(c, &e);
	cage_cpu(0);
	if (c->answer.failed || !cage_answer(buf_str(&c->answer)))
		return false;
	arena_reset(c->arena);
	if (c->request.cap > KEEP_BYTES)
		buf_done(&c->request);
	if (c->answer.cap > KEEP_BYTES)
		buf_done(&c->answer);
	return true;
}

static void *
child_prepare(void)
{
	static struct child c = {
	    .request = BUF(DOC_REQUEST_MAX), .answer = BUF(DOC_ANSWER_MAX)};

	/* Texts in one that this machine has not are read as if none was named. */
	(void)charset_load();
	c.arena = arena_new(FEED_ARENA_MAX);
	return &c;
}

static void
child_serve(void *ctx)
{
	while (serve_one(ctx))
		continue;
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x) /* of a limit */

static const struct cage_end ENDS[] = {
    {SIGPROF, 0, "took more than " TEXT(DOC_CPU_MS) " ms of CPU time", true},
    {0, CAGE_EXIT_MEMORY, "took more memory than a document may", true},
    {SIGSYS, 0, "made it try what it may not do", true},
    {SIGSEGV, 0, "crashed it (signal 11)", true},
    {SIGBUS, 0, "crashed it (signal 7)", true},
    {SIGILL, 0, "crashed it (signal 4)", true},
    {SIGFPE, 0, "crashed it (signal 8)", true},
    {SIGABRT, 0, "crashed it (signal 6)", true},
    {SIGKILL, 0, "was in work when it was killed (signal 9)", false},
};

const struct cage_kind DOC_CHILD = {
    .verb = "read-child",
    .can_not = "documents can't be read now",
    .ends = ENDS,
    .n_ends = COUNT_OF(ENDS),
    .memory_max = DOC_MEMORY_MAX,
    .wall_ms = DOC_WALL_MS,
    .prepare = child_prepare,
    .serve = child_serve,
};
