#include "doc/caged.h"

#include <limits.h>
#include <signal.h>

#include "base/log/metric.h"
#include "cage/proc.h"
#include "doc/child.h"
#include "doc/favicon.h"
#include "doc/limits.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/opml.h"
#include "markup/limits.h"

#define HEAD_MAX (2 * HREF_MAX + 64)
#define TRIES    2

/* What a test wants to go wrong, beside what the child does (shapes.h). */
enum { FAULT_KILL = DOC_FAULTS, FAULT_START };

struct caged {
	struct proc proc;
	const char *exe;
	struct buf head, articles;
	struct arena *small; /* for icons */
	int64_t used_ms;
	unsigned read; /* by this child */
	int fault;
	int64_t fault_at, count;
};

/* Faults ---------------------------------------------------------------------- */

static const struct {
	struct str name;
	int fault;
} FAULTS[] = {
    {STR("cage.crash"), DOC_FAULT_CRASH},
    {STR("cage.loop"), DOC_FAULT_LOOP},
    {STR("cage.memory"), DOC_FAULT_MEMORY},
    {STR("cage.call"), DOC_FAULT_CALL},
    {STR("cage.kill"), FAULT_KILL},
    {STR("cage.start"), FAULT_START},
};

bool
caged_fault(const char *fault)
{
	return fault && strncmp(fault, "cage.", 5) == 0;
}

static int
set_fault(struct caged *c, const char *spec, struct err *e)
{
	struct str nth = str_of(spec);
	struct str name = str_cut(&nth, ':');

	if (!caged_fault(spec))
		return OK;
	for (size_t i = 0; i < COUNT_OF(FAULTS); i++)
		if (str_eq(name, FAULTS[i].name))
			c->fault = FAULTS[i].fault;
	if (c->fault == DOC_FAULT_NONE || !str_int(nth, &c->fault_at) ||
	    c->fault_at < 0)
		return err_set(e, ERR_INVALID,
		    "a fault of the cage is cage.NAME:N, N from 0; names: crash loop memory call kill start");
	return OK;
}

/* Of the document that is next. */
static int
next_fault(struct caged *c)
{
	c->count++;
	return c->fault_at == 0 || c->fault_at == c->count ? c->fault
							   : DOC_FAULT_NONE;
}

/* Life ------------------------------------------------------------------------ */

int
caged_new(
    const char *self_exe, const char *fault, struct caged **ret, struct err *e)
{
	struct caged *c = mem_get(sizeof(*c));

	c->small = arena_new(KIB);
	c->proc.kind = &DOC_CHILD;
	c->proc.exe = c->exe = self_exe;
	c->head = BUF(HEAD_MAX);
	c->articles = BUF(DOC_REQUEST_MAX - HEAD_MAX);
	if (set_fault(c, fault, e) < 0) {
		caged_free(c);
		return e->code;
	}
	*ret = c;
	return OK;
}

void
caged_free(struct caged *c)
{
	if (!c)
		return;
	proc_stop(&c->proc);
	buf_done(&c->head);
	buf_done(&c->articles);
	arena_free(c->small);
	free(c);
}

int
caged_pid(const struct caged *c)
{
	return (int)c->proc.pid;
}

int
caged_rest(struct caged *c)
{
	int64_t left = c->used_ms + DOC_IDLE_MS - clock_mono_ms();

	if (c->proc.pid == 0)
		return INT_MAX;
	if (left > 0)
		return (int)left;
	proc_stop(&c->proc);
	return INT_MAX;
}

/* One request ------------------------------------------------------------------- */

static int
ended(struct caged *c, struct err *e)
{
	metric_add(M_DOC_ENDED, 1);
	(void)err_set(e, ERR_INVALID, "the document ended its reader: it %s",
	    c->proc.how);
	return err_word(e, CAGED_ENDED);
}

static int
away(struct err *e)
{
	metric_add(M_DOC_AWAY, 1);
	return err_word(e, CAGED_AWAY);
}

/* Whatever it is, the child is not to be asked again. */
static int
not_understood(struct caged *c, struct err *e)
{
	proc_stop(&c->proc);
	c->proc.how = "made it say what can't be understood";
	return ended(c, e);
}

static int
start_child(struct caged *c, int fault, struct err *e)
{
	unsigned life = c->proc.life;
	int rc;

	if (c->read >= DOC_LIFE || fault == FAULT_START)
		proc_stop(&c->proc);
	c->proc.exe = fault == FAULT_START ? "/nonexistent" : c->exe;
	rc = proc_start(&c->proc, e);
	if (c->proc.life != life)
		c->read = 0;
	if (rc == OK && fault == FAULT_KILL)
		(void)kill(c->proc.pid, SIGKILL);
	return rc;
}

/* OK, PROC_DIED or an error. */
static int
ask_once(struct caged *c, struct arena *a, const struct doc_ask *q,
    struct str body, struct str *ret, struct err *e)
{
	struct doc_ask sent = *q;
	struct str parts[] = {STR_EMPTY, body};
	uint32_t bytes = 0;
	char *to = NULL;
	int fault = next_fault(c), rc;

	TRY(start_child(c, fault, e));
	sent.fault = fault < DOC_FAULTS ? fault : DOC_FAULT_NONE;
	buf_clear(&c->head);
	pack_put(&c->head, &DOC_ASK, &sent);
	parts[0] = buf_str(&c->head);
	c->read++;
	rc = proc_send(&c->proc, parts, 2, &bytes, e);
	if (rc != OK)
		return rc;
	if (bytes > DOC_ANSWER_MAX)
		return not_understood(c, e);
	to = arena_try(a, bytes);
	if (!to) {
		proc_stop(&c->proc);
		return err_set(e, ERR_LIMIT, "what is in it is too large");
	}
	rc = proc_receive(&c->proc, to, bytes, e);
	if (rc == OK)
		*ret = (struct str){to, bytes};
	return rc;
}

static int
ask_twice(struct caged *c, struct arena *a, const struct doc_ask *q,
    struct str body, struct str *ret, struct err *e)
{
	int rc = PROC_DIED;

	for (int i = 0; i < TRIES && rc == PROC_DIED; i++) {
		rc = ask_once(c, a, q, body, ret, e);
		if (rc == PROC_DIED && c->proc.certain) {
			proc_blamed(&c->proc);
			break;
		}
	}
	c->used_ms = clock_mono_ms();
	if (rc == PROC_DIED)
		return ended(c, e);
	return rc == ERR_AWAY ? away(e) : rc;
}

/* What is no text of a header's or URL's is not told to the child. */
static struct str
text_or_none(struct str s)
{
	return s.p && s.n <= HREF_MAX && !memchr(s.p, '\0', s.n) &&
		       str_utf8_bad(s) == s.n
		   ? s
		   : STR_EMPTY;
}

/* Asks, and reads the answer's struct; `what` is zeroed memory for it. */
static int
ask_child(struct caged *c, struct arena *a, const struct doc_ask *q,
    struct str body, void *what, struct err *e)
{
	struct doc_result said = {.code = OK};
	struct str rest = STR_EMPTY;
	int rc;

	if (body.n > DOC_REQUEST_MAX - HEAD_MAX)
		return err_set(e, ERR_LIMIT, "a document has at most %zu bytes",
		    (size_t)(DOC_REQUEST_MAX - HEAD_MAX));
	TRY(ask_twice(c, a, q, body, &rest, e));
	if (pack_get(a, &rest, &DOC_RESULT, &said, e) < 0)
		return not_understood(c, e);
	if (said.code != OK)
		return rest.n > 0 ? not_understood(c, e)
				  : err_set(e, (enum err_code)said.code, "%.*s",
					STR_ARG(said.text));
	rc = pack_get(a, &rest, DOC_SHAPES[q->kind], what, e);
	if (rc == ERR_LIMIT)
		return rc;
	return rc == OK && rest.n == 0 ? OK : not_understood(c, e);
}

/* Kinds ------------------------------------------------------------------------- */

/* The struct that a document becomes; NULL: it failed. */
static void *
read_document(struct caged *c, struct arena *a, enum doc_kind kind,
    struct str bytes, const struct feed_from *from, struct err *e)
{
	struct doc_ask q = {.kind = (int)kind,
	    .url = text_or_none(from->url),
	    .content_type = text_or_none(from->content_type),
	    .links = text_or_none(from->links)};
	void *what = arena_alloc(a, DOC_SHAPES[kind]->size);

	return ask_child(c, a, &q, bytes, what, e) == OK ? what : NULL;
}

int
caged_feed(struct caged *c, struct arena *a, struct str bytes,
    const struct feed_from *from, struct feed **ret, struct err *e)
{
	struct feed *f = read_document(c, a, DOC_FEED, bytes, from, e);

	if (f)
		*ret = f;
	return f ? OK : e->code;
}

int
caged_page(struct caged *c, struct arena *a, struct str bytes,
    const struct feed_from *from, struct discover **ret, struct err *e)
{
	struct discover *d = read_document(c, a, DOC_PAGE, bytes, from, e);

	if (d)
		*ret = d;
	return d ? OK : e->code;
}

int
caged_opml(struct caged *c, struct arena *a, struct str bytes,
    struct str content_type, struct opml **ret, struct err *e)
{
	struct feed_from from = {.content_type = content_type};
	struct opml *o = read_document(c, a, DOC_OPML, bytes, &from, e);

	if (o)
		*ret = o;
	return o ? OK : e->code;
}

int
caged_icon(struct caged *c, struct str bytes, const char **ret, struct err *e)
{
	struct feed_from from = {.url = STR_EMPTY};
	struct doc_icon *icon;

	arena_reset(c->small);
	icon = read_document(c, c->small, DOC_ICON, bytes, &from, e);
	if (icon)
		*ret = favicon_find(icon->mime);
	return icon ? OK : e->code;
}

int
caged_clean(struct caged *c, struct arena *a, const struct caged_how *how,
    const struct doc_articles *articles, struct doc_cleaned *ret, struct err *e)
{
	struct doc_ask q = {.kind = DOC_CLEAN,
	    .tags = (int)how->tags,
	    .engine = (int)how->engine};
	struct doc_cleaned out = {.first = NULL};
	size_t n = 0;
	int rc;

	for (const struct doc_article *it = articles->first; it; it = it->next)
		n++;
	buf_clear(&c->articles);
	pack_put(&c->articles, &DOC_ARTICLES, articles);
	if (c->articles.failed)
		return err_set(e, ERR_LIMIT, "an article is too large");
	rc = ask_child(c, a, &q, buf_str(&c->articles), &out, e);
	if (c->articles.cap > MIB)
		buf_done(&c->articles);
	if (rc == OK && out.n != n)
		rc = not_understood(c, e);
	if (rc == OK)
		*ret = out;
	return rc;
}
