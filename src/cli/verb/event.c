#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "api/v1/log_page.h"
#include "cli/client.h"
#include "cli/limits.h"
#include "cli/out/show.h"
#include "cli/out/term.h"
#include "cli/verbs.h"
#include "contract/limits.h"
#include "event/append.h"
#include "event/cursor.h"
#include "event/envelope.h"
#include "event/mask.h"
#include "event/type/types.h"
#include "http/percent.h"
#include "http/server/limits.h"
#include "http/server/req.h"
#include "seal/tenant.h"
#include "store/store.h"

/* event publish */

#define INPUT_MAX (64 * MIB)
#define BATCH_MAX (2 * MIB) /* bytes of one request */
#define READ_STEP (256 * KIB)

struct publish {
	struct cli *cli;
	struct append *append; /* when no server runs, as is the next one */
	struct mailbox *done;  /* what the commit thread is through with */
	struct mask *mask;
	struct buf batch; /* of a server, which gets them together */
	size_t n;         /* events in it */
	struct types_live *types;
	size_t total, refused;
	bool json;
};

static void
tell_error(
    struct publish *p, struct str code, struct str message, struct str pointer)
{
	p->refused++;
	(void)fprintf(p->cli->err, "event %zu: %.*s: %.*s%s%.*s\n", p->total,
	    STR_ARG(code), STR_ARG(message), pointer.n > 0 ? " at " : "",
	    STR_ARG(pointer));
}

static void
tell_seq(struct publish *p, struct str id, int64_t seq, bool again)
{
	(void)fprintf(p->cli->out, "%.*s %lld%s\n", STR_ARG(id), (long long)seq,
	    again ? " duplicate" : "");
}

/* The answer to a batch, one line an event. */
static int
tell_results(struct publish *p, const struct json *doc, struct err *e)
{
	const struct json *v = json_get(doc, "results");

	if (!v)
		return err_set(e, ERR_IO, "the server's answer has no results");
	for (v = v->child; v; v = v->next) {
		const struct json *wrong = json_get(v, "error");
		struct str code = json_text(wrong, "code");

		p->total++;
		p->refused += wrong && p->json;
		if (p->json)
			(void)fprintf(p->cli->out, "%.*s\n", STR_ARG(v->raw));
		else if (wrong)
			tell_error(p, code.n ? code : STR("ERROR"),
			    json_text(wrong, "message"),
			    json_text(wrong, "pointer"));
		else
			tell_seq(p, json_text(v, "eventId"),
			    json_number(v, "seq"), json_true(v, "duplicate"));
	}
	return OK;
}

static int
send_batch(struct publish *p, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(HTTP_ARENA_MAX);
	struct json *doc = NULL;

	if (p->n == 0)
		return OK;
	buf_addc(&p->batch, ']');
	TRY(reach_json(
	    p->cli, a, "POST", STR("/v1/events"), buf_str(&p->batch), &doc, e));
	buf_clear(&p->batch);
	p->n = 0;
	TRY(tell_results(p, doc, e));
	term_progress(
	    p->cli, false, "%zu events, %zu refused", p->total, p->refused);
	return OK;
}

/* Without a server: the same checks and the same commit thread, here. */
struct offline {
	struct append_job job;
	struct mailbox *to;
	struct mail mail;
};

static void
offline_done(struct append_job *job)
{
	struct offline *o = MAIL_OF(job, struct offline, job);
	bool ok = mailbox_post(o->to, &o->mail);

	assert(ok);
}

static int
write_one(struct publish *p, struct str raw, struct arena *a, struct err *e)
{
	const struct conf *c = &p->cli->conf;
	const struct event_defaults defaults = {
	    .tenant = tenant_default(),
	    .tenant_name = STR(TENANT_DEFAULT),
	    .producer = envelope_producer(a, STR("local"), STR("-")),
	};
	struct envelope_opts eo = {
	    .now_us = clock_now_us(),
	    .exact = str_eq(str_of(c->event_envelope), STR("strict")),
	    .defaults = &defaults,
	    .types = types_now(p->types),
	    .strict = str_eq(str_of(c->event_schema_mode), STR("strict")),
	    .mask = p->mask,
	    .body_max = (size_t)c->webhook_max_payload_size,
	};
	struct event ev;
	struct entry en;
	struct offline o = {.job = {.entries = &en, .n = 1}};
	char id[UUID_LEN + 1];

	TRY(envelope_parse(a, raw, &eo, &ev, e));
	entry_fill(&en, &ev, raw);
	o.job.done = offline_done;
	o.to = p->done;
	TRY(append_post(p->append, &o.job, e));
	(void)mailbox_take(p->done, -1);
	if (o.job.err.code != OK) {
		*e = o.job.err;
		return e->code;
	}
	if (en.state == ENTRY_DIFFERS)
		return err_at(e, ERR_CONFLICT, "/eventId",
		    "this event id is in the log with other content");
	uuid_format(en.event_id, id);
	tell_seq(p, str_of(id), en.seq, en.state == ENTRY_SAME);
	return OK;
}

static int
write_event(struct publish *p, struct str raw, struct err *e)
{
	struct arena *a = arena_new(HTTP_ARENA_MAX);
	int rc = write_one(p, raw, a, e);

	p->total++;
	arena_free(a);
	if (rc != ERR_INVALID && rc != ERR_SYNTAX && rc != ERR_CONFLICT)
		return rc;
	tell_error(p, STR("refused"), str_of(e->text), str_of(e->at));
	return OK;
}

/* Takes one event as it was written; sends what has gathered when full. */
static int
event_take(struct publish *p, struct str raw, struct err *e)
{
	if (p->append)
		return write_event(p, raw, e);
	if (p->n == EVENT_BATCH_MAX ||
	    (p->n > 0 && p->batch.n + raw.n > BATCH_MAX))
		TRY(send_batch(p, e));
	buf_addc(&p->batch, p->n++ == 0 ? '[' : ',');
	buf_add(&p->batch, raw);
	return p->batch.failed ? err_set(e, ERR_LIMIT, "an event is too long")
			       : OK;
}

/* Whole lines of what was read so far; what is left moves to the front. */
static int
take_lines(struct publish *p, struct buf *b, bool last, struct err *e)
{
	const char *end = b->n > 0 ? memrchr(b->p, '\n', b->n) : NULL;
	size_t used = last ? b->n : end ? (size_t)(end - b->p) + 1 : 0;
	struct str whole = {b->p, used}, line;

	if (used == 0)
		return OK;
	while (json_line(&whole, &line))
		TRY(event_take(p, line, e));
	memmove(b->p, b->p + used, b->n - used);
	b->n -= used;
	return OK;
}

/* One document, an array of them, or lines of which the first is wrong. */
static int
take_document(struct publish *p, struct str input, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(8 * INPUT_MAX);
	struct json *doc = NULL;
	struct str line;

	if (json_parse(a, input, &doc, &(struct err){0}) < 0) {
		while (json_line(&input, &line))
			TRY(event_take(p, line, e));
		return OK;
	}
	if (!json_is(doc, JSON_ARRAY))
		return event_take(p, doc->raw, e);
	for (const struct json *v = doc->child; v; v = v->next)
		TRY(event_take(p, v->raw, e));
	return OK;
}

/* Whether the first line is a document by itself, with others to follow: then
 * each line is one, and the input may be of any length. */
static bool
has_lines(struct str input)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(HTTP_ARENA_MAX);
	struct json *doc = NULL;
	struct str line;

	return json_line(&input, &line) && line.p[0] != '[' &&
	       json_parse(a, line, &doc, &(struct err){0}) == OK;
}

static int
publish_all(struct publish *p, int fd, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(INPUT_MAX);
	bool lines = false;
	ssize_t got = 1;

	while (got > 0) {
		char *room = buf_room(&b, READ_STEP);

		if (!room)
			return err_set(e, ERR_LIMIT,
			    "a document is over %zu MiB; one event a line may go on for ever",
			    INPUT_MAX / MIB);
		got = read(fd, room, READ_STEP);
		if (got < 0)
			return err_set(
			    e, ERR_IO, "reading failed: %s", strerror(errno));
		b.n += (size_t)got;
		if (!lines && got > 0 && memchr(room, '\n', (size_t)got))
			lines = has_lines(buf_str(&b));
		if (lines)
			TRY(take_lines(p, &b, got == 0, e));
	}
	if (!lines && str_trim(buf_str(&b)).n > 0)
		TRY(take_document(p, buf_str(&b), e));
	return send_batch(p, e);
}

/* The commit thread, for when no server runs. */
static int
start_offline(struct publish *p, struct err *e)
{
	struct cli *c = p->cli;
	struct append_opts o = {.store = c->reach.store,
	    .dir = c->conf.data,
	    .disk_free_min = c->conf.disk_free_min};
	struct db *db = NULL;
	int rc;

	TRY(mask_parse(c->arena, str_of(c->conf.event_mask), &p->mask, e));
	if (c->conf.event_seal_payload) {
		TRY(reach_keyring(c, e));
		o.seal = c->reach.keyring;
	}
	p->types = types_live_new();
	TRY(db_open(c->reach.store, DB_READ, &db, e));
	rc = types_reload(p->types, db, e);
	db_close(db);
	TRY(rc);
	p->done = mailbox_new();
	return append_start(&o, &p->append, e);
}

static int
publish(struct publish *p, struct err *e)
{
	struct cli *c = p->cli;
	const char *path = c->args.operands[0];
	int fd = STDIN_FILENO, rc;

	TRY(reach_open(c, e));
	if (!c->reach.client)
		TRY(start_offline(p, e));
	if (path && strcmp(path, "-") != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	rc = publish_all(p, fd, e);
	if (fd != STDIN_FILENO)
		(void)close(fd);
	TRY(rc);
	term_progress(c, true, "%zu events, %zu refused", p->total, p->refused);
	if (p->total == 0)
		return err_set(
		    e, ERR_INVALID, "there is no event in the input");
	if (p->refused > 0)
		return err_set(e, ERR_INVALID, "%zu of %zu events were refused",
		    p->refused, p->total);
	return OK;
}

int
verb_event_publish(struct cli *c, struct err *e)
{
	struct publish p = {.cli = c,
	    .batch = BUF(INPUT_MAX + 2 * MIB),
	    .json = args_flag(&c->args, "json")};
	int rc = publish(&p, e);

	append_stop(p.append);
	mailbox_free(p.done);
	buf_done(&p.batch);
	types_live_free(p.types);
	return rc;
}

/* event tail */

#define AGAIN_S 1 /* before a broken stream is taken up again */

struct follow {
	struct cli *cli;
	int64_t left; /* events still to show; < 0: no end */
	struct buf line, data;
	char last_id[CURSOR_LEN + 1];
};

/* For people: when, what, whose, which, and as much of the payload as fits. */
static void
show_event_line(struct follow *f, struct str event)
{
	static const char *const PARTS[] = {
	    "/eventType", "/tenantId", "/sequence/partitionKey", "/eventId"};
	static const enum tint TINTS[] = {
	    TINT_HEAD, TINT_DIM, TINT_NONE, TINT_DIM};
	struct cli *c = f->cli;
	struct arena *a CLEANUP(arena_freep) = arena_new(CLI_ARENA_MAX);
	struct json *j = NULL;
	struct str when, payload;
	size_t width = term_columns(), used = 0;

	if (json_parse(a, event, &j, &(struct err){0}) < 0)
		return;
	when = json_text(j, "receivedAt");
	used = when.n;
	(void)fprintf(c->out, "%.*s", STR_ARG(when));
	for (size_t i = 0; i < COUNT_OF(PARTS); i++) {
		struct str v = show_value(a, json_at(j, str_of(PARTS[i])));

		used += term_width(v) + 2;
		term_tint(c, TINTS[i]);
		(void)fprintf(c->out, "  %.*s", STR_ARG(v));
		term_tint(c, TINT_NONE);
	}
	if (!isatty(fileno(c->out)))
		width = 200 + used;
	payload =
	    json_get(j, "payload") ? json_get(j, "payload")->raw : STR_EMPTY;
	(void)fprintf(c->out, "  %.*s\n",
	    STR_ARG(term_fit(a, term_clean(a, payload, false),
		width > used + 22 ? width - used - 2 : 20)));
}

/* One event is one line, whatever blanks it was published with. */
static bool
show_line(struct follow *f, struct str event)
{
	bool json = args_flag(&f->cli->args, "json");

	if (!json)
		show_event_line(f, event);
	for (size_t i = 0; json && i < event.n; i++) {
		char ch = event.p[i];

		(void)fputc(ch == '\n' || ch == '\r' ? ' ' : ch, f->cli->out);
	}
	if (json)
		(void)fputc('\n', f->cli->out);
	(void)fflush(f->cli->out);
	if (f->left > 0)
		f->left--;
	return f->left != 0 && !ferror(f->cli->out);
}

/* A whole line of text/event-stream. */
static bool
take_line(struct follow *f, struct str line)
{
	struct str name = str_cut(&line, ':');
	bool more = true;

	if (line.n > 0 && line.p[0] == ' ')
		line = str_from(line, 1);
	if (str_eq(name, STR("id")) && line.n <= CURSOR_LEN) {
		memcpy(f->last_id, line.p, line.n);
		f->last_id[line.n] = '\0';
	} else if (str_eq(name, STR("data"))) {
		if (f->data.n > 0)
			buf_addc(&f->data, '\n');
		buf_add(&f->data, line);
	} else if (name.n == 0 && line.n == 0 && f->data.n > 0) {
		more = show_line(f, buf_str(&f->data));
		buf_clear(&f->data);
	}
	return more;
}

static bool
take_piece(void *arg, struct str bytes)
{
	struct follow *f = arg;

	while (bytes.n > 0) {
		bool whole = str_has(bytes, '\n');

		buf_add(&f->line, str_cut(&bytes, '\n'));
		if (!whole)
			break;
		if (!take_line(f, buf_str(&f->line)))
			return false;
		buf_clear(&f->line);
	}
	return true;
}

/* Where to begin: a cursor, or NULL for the end of the log. */
static const char *
begin_at(struct cli *c, char start[CURSOR_LEN + 1])
{
	if (!args_flag(&c->args, "from-start"))
		return args_text(&c->args, "after");
	cursor_format(0, start);
	return start;
}

/* Until enough was shown, the server refuses, or somebody interrupts. */
static int
follow_server(struct follow *f, struct err *e)
{
	struct cli *c = f->cli;
	struct buf path CLEANUP(buf_done) = BUF(16 * KIB);
	struct buf answer CLEANUP(buf_done) = BUF(MIB);
	struct client_call k = {.method = "GET", .piece = take_piece, .arg = f};
	char start[CURSOR_LEN + 1];
	const char *from = begin_at(c, start);
	int rc, status = 0;

	buf_addz(&path, "/v1/events/stream");
	if (from) {
		buf_addz(&path, "?after=");
		percent_add(&path, str_of(from));
	}
	args_query(&c->args, true, &path);
	buf_addc(&path, '\0');
	if (path.failed)
		return err_set(e, ERR_LIMIT, "the filters are too long");
	k.path = path.p;
	/* What is wrong at the start stays wrong; later it is waited for. */
	TRY(reach_ask(
	    c, c->arena, "GET", STR("/v1/whoami"), STR_EMPTY, NULL, e));
	for (;;) {
		buf_clear(&f->line);
		buf_clear(&f->data);
		k.last_id = f->last_id[0] ? f->last_id : NULL;
		rc = client_send(c->reach.client, &k, &answer, &status, e);
		if (rc == OK && status != 200)
			return client_check(
			    status, buf_str(&answer), c->arena, e);
		if (rc < 0 &&
		    rc != ERR_IO) /* it broke; there is more to come */
			return rc;
		if (f->left == 0 || ferror(c->out))
			return OK;
		(void)sleep(AGAIN_S);
	}
}

static void
show_event(
    struct buf *b, struct str body, int64_t seq, int64_t received_us, size_t)
{
	envelope_show(b, body, seq, received_us);
	buf_addc(b, '\0');
}

/* Without a server nothing is added: shows what is there and ends. */
static int
show_store(struct follow *f, struct err *e)
{
	struct cli *c = f->cli;
	struct log_words words = {
	    .type = str_of(args_text(&c->args, "type")),
	    .key = str_of(args_text(&c->args, "partition-key")),
	    .tenant = str_of(args_text(&c->args, "tenant")),
	    .correlation = str_of(args_text(&c->args, "correlation")),
	};
	struct log_filter filter = {.limit = PAGE_DEFAULT};
	struct log_page page = {.at_end = false};
	struct principal all = {.kind = WHO_LOCAL};
	struct log_view view = {
	    .who = &all, .filter = &filter, .show = show_event};
	struct buf out CLEANUP(buf_done) = BUF(8 * PAGE_BYTES);
	char start[CURSOR_LEN + 1];
	const char *from = begin_at(c, start);

	if (!from)
		return err_set(e, ERR_ABSENT,
		    "no server runs on %s: start one with hikyaku serve, or "
		    "read what is there with --from-start",
		    c->conf.data);
	TRY(reach_keyring(c, e));
	TRY(cursor_parse(str_of(from), &filter.after, e));
	TRY(log_filter_set(&filter, &words, e));
	view.keyring = c->reach.keyring;
	while (!page.at_end && f->left != 0) {
		struct str rest;

		buf_clear(&out);
		TRY(log_page_read(c->reach.db, &view, &out, &page, e));
		filter.after = page.next;
		rest = buf_str(&out);
		while (rest.n > 0 && show_line(f, str_cut(&rest, '\0')))
			;
	}
	return OK;
}

int
verb_event_tail(struct cli *c, struct err *e)
{
	struct follow f = {
	    .cli = c,
	    .left = args_int(&c->args, "limit", -1),
	    .line = BUF(4 * PAGE_BYTES),
	    .data = BUF(4 * PAGE_BYTES),
	};
	int rc = reach_open(c, e);

	if (rc == OK)
		rc = c->reach.client ? follow_server(&f, e) : show_store(&f, e);
	buf_done(&f.line);
	buf_done(&f.data);
	return rc;
}
