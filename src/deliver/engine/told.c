#include "deliver/engine/told.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "contract/request.h"
#include "contract/subscription.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/flush.h"
#include "deliver/limits.h"
#include "http/client/client.h"
#include "http/client/limits.h"
#include "http/url.h"

static struct str
without(struct arena *a, struct str s, struct str secret)
{
	struct buf b = BUF(ANSWER_MAX);
	struct str out = STR_EMPTY;
	const char *at;

	if (secret.n < HIDE_LEAST || s.n == 0 ||
	    !memmem(s.p, s.n, secret.p, secret.n))
		return s;
	while ((at = memmem(s.p, s.n, secret.p, secret.n))) {
		buf_add(&b, (struct str){s.p, (size_t)(at - s.p)});
		buf_addz(&b, SUB_MASK);
		s = str_from(s, (size_t)(at - s.p) + secret.n);
	}
	buf_add(&b, s);
	if (!b.failed)
		out = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out.p ? out : STR_EMPTY;
}

struct str
told_hidden(
    struct arena *a, const struct request *r, struct str password, struct str s)
{
	for (size_t i = 0; i < r->n; i++) {
		struct str word = r->headers[i].value;

		if (!r->headers[i].secret)
			continue;
		s = without(a, s, word);
		(void)str_cut(&word, ' ');
		s = without(a, s, word);
	}
	return without(a, s, password);
}

/* Texts that strangers sent, as UTF-8 that JSON can hold. */
static void
add_text(struct buf *b, struct arena *a, struct str s, size_t most)
{
	char *copy;

	s = str_chars(s, most);
	copy = s.n > 0 ? arena_try(a, s.n) : NULL;
	if (!copy) {
		buf_addz(b, "\"\"");
		return;
	}
	memcpy(copy, s.p, s.n);
	str_clean_utf8(copy, s.n);
	buf_json(b, (struct str){copy, s.n});
}

/* What a server gives for coming back with is as good as a password. */
static struct str
hide_cookies(struct arena *a, struct str head)
{
	struct buf b = BUF(CLIENT_HEAD_MAX + CLIENT_HEAD_MAX / 2);
	struct str rest = head, out;

	if (head.n == 0)
		return head;
	while (rest.n > 0) {
		struct str line = str_cut(&rest, '\n'), value = line;
		struct str name = str_trim(str_cut(&value, ':'));

		if (str_eq_nocase(name, STR("Set-Cookie")) ||
		    str_eq_nocase(name, STR("Set-Cookie2"))) {
			buf_add(&b, name);
			buf_addz(&b, ": " SUB_MASK "\r");
		} else {
			buf_add(&b, line);
		}
		buf_addc(&b, '\n');
	}
	out = b.failed ? STR_EMPTY : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out.p ? out : STR_EMPTY;
}

struct flush_detail *
told_detail(struct arena *a, const struct request *r,
    const struct client_answer *ans, const char *error)
{
	struct buf b = BUF(DETAIL_MAX), head = BUF(REQUEST_HEAD_MAX);
	struct flush_detail *d = NULL;

	request_head(r, &head);
	buf_addz(&b, "{\"error\":");
	add_text(&b, a, str_of(error), DETAIL_ERROR);
	buf_addz(&b, ",\"requestHeaders\":");
	add_text(&b, a, buf_str(&head), REQUEST_HEAD_MAX);
	buf_addz(&b, ",\"responseHead\":");
	add_text(&b, a, hide_cookies(a, ans->head), 1024);
	buf_addz(&b, ",\"responseBody\":");
	add_text(&b, a, ans->body, DETAIL_BODY);
	buf_addc(&b, '}');
	if (!b.failed) {
		d = malloc(sizeof(*d) + b.n);
		if (d) {
			d->own = false;
			d->n = b.n;
			memcpy(d->text, b.p, b.n);
		}
	}
	buf_done(&head);
	buf_done(&b);
	return d;
}

struct flush_detail *
told_dead(const char *error, bool own)
{
	struct str s = str_chars(str_of(error), DETAIL_ERROR);
	struct flush_detail *d = malloc(sizeof(*d) + s.n);

	if (!d)
		return NULL;
	d->own = own;
	d->n = s.n;
	if (s.n > 0)
		memcpy(d->text, s.p, s.n);
	str_clean_utf8(d->text, s.n);
	return d;
}

void
told_outcome(const struct client_answer *ans, struct outcome *ret)
{
	static const enum outcome_net NETS[] = {
	    [CLIENT_ANSWERED] = NET_ANSWER,
	    [CLIENT_TIMEOUT] = NET_TIMEOUT,
	    [CLIENT_DNS] = NET_DNS,
	    [CLIENT_CONNECT] = NET_NETWORK,
	    [CLIENT_TLS] = NET_TLS,
	    [CLIENT_REFUSED] = NET_REFUSED,
	    [CLIENT_BROKEN] = NET_NETWORK,
	    [CLIENT_TOO_LARGE] = NET_TOO_LARGE,
	    [CLIENT_CANCELLED] = NET_NETWORK,
	};

	*ret = (struct outcome){
	    .net = NETS[ans->result],
	    .status = ans->result == CLIENT_ANSWERED ? ans->status : 0,
	    .body = ans->body,
	    .cut = ans->body_cut,
	};
}

/* What people read: "HTTP 503: the first 500 characters", or what failed. */
const char *
told_error(struct arena *a, const struct client_answer *ans)
{
	struct str body = ans->body, text;
	char *copy = NULL;

	if (ans->result != CLIENT_ANSWERED)
		return ans->error;
	body = str_chars(body, ERROR_BODY);
	if (body.n > 0)
		copy = arena_try(a, body.n);
	if (copy) {
		memcpy(copy, body.p, body.n);
		str_clean_utf8(copy, body.n);
		text = arena_fmt(
		    a, "HTTP %d: %.*s", ans->status, (int)body.n, copy);
	} else {
		text = arena_fmt(a, "HTTP %d", ans->status);
	}
	return text.p ? text.p : "";
}

size_t
told_keep(const struct preset *p)
{
	for (size_t i = 0; i < p->n_verdicts; i++)
		if (p->verdicts[i].body != BODY_ANY)
			return VERDICT_BODY_MAX + 1;
	return 4 * KIB;
}

void
told_log(const struct told_line *t)
{
	static const char *const WORDS[] = {
	    [CORE_OK] = "delivered",
	    [CORE_LATER] = "will be tried again",
	    [CORE_DEAD] = "given up",
	    [CORE_SPENT] = "given up, no try is left",
	    [CORE_HOLD] = "held",
	    [CORE_NEVER] = "given up before it was tried",
	    [CORE_DROP] = "dropped",
	};
	const struct core_result *r = t->result;
	enum log_level level = r->verdict == CORE_OK || r->verdict == CORE_DROP
				   ? LOG_INFO
				   : LOG_WARN;
	UNINIT struct log_line l;
	char id[UUID_LEN + 1];

	if (!log_on(level))
		return;
	log_begin(&l, level, "attempt");
	uuid_format(t->delivery_id, id);
	log_str(&l, "deliveryId", (struct str){id, UUID_LEN});
	uuid_format(t->event_id, id);
	log_str(&l, "eventId", (struct str){id, UUID_LEN});
	log_str(&l, "event", t->type);
	if (t->key_name.n > 0 && t->key.n > 0)
		log_str(&l, t->key_name.p, t->key);
	url_log(&l, "targetUrl", t->url);
	log_str(&l, "status", str_of(WORDS[r->verdict]));
	log_int(&l, "httpStatus", r->status);
	log_int(&l, "responseTime", r->took_us / US_PER_MS);
	if (r->reason)
		log_str(
		    &l, "reason", str_of(reason_name((enum reason)r->reason)));
	if (t->error[0])
		log_str(&l, "error", str_of(t->error));
	log_end(&l);
}

void
told_own(struct core_result *r)
{
	struct flush_detail *d = r->detail;

	if (!d)
		d = calloc(1, sizeof(*d));
	if (d)
		d->own = true;
	r->detail = d;
}

void
told_hub_error(struct arena *a, const struct sub_conf *c,
    const struct request_event *ev, const struct request_attempt *at,
    const struct outcome *o)
{
	struct str text = STR_EMPTY, trace = STR_EMPTY;
	UNINIT struct log_line l;
	size_t n;
	char *mem;
	struct err e;

	if (request_log_error(a, c, ev, at, o, &text, &trace, &e) < 0 ||
	    text.n == 0)
		return;
	n = 2 * (text.n + trace.n) + sizeof(l.text); /* escaped once more */
	mem = arena_try(a, n);
	if (!mem)
		return;
	log_begin_long(&l, LOG_WARN, "error of a call", mem, n);
	log_str(&l, "mt", text);
	if (trace.n > 0)
		log_str(&l, "traceId", trace);
	log_end(&l);
}
