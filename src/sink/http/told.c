#include "sink/http/told.h"

#include "base/log/log.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "contract/request.h"
#include "contract/sub.h"
#include "contract/verdict.h"
#include "deliver/engine/detail.h"
#include "deliver/limits.h"
#include "http/client/client.h"
#include "http/client/limits.h"

static struct str
without(struct arena *a, struct str s, struct str secret)
{
	struct buf b CLEANUP(buf_done) = BUF(ANSWER_MAX);
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
	return b.failed ? STR_EMPTY : arena_dup(a, buf_str(&b));
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

/* A text that a stranger sent, as UTF-8 that JSON can hold; empty when there is
 * no room for it. */
static struct str
clean(struct arena *a, struct str s, size_t most)
{
	char *copy;

	s = str_chars(s, most);
	copy = s.n > 0 ? arena_try(a, s.n) : NULL;
	if (!copy)
		return STR_EMPTY;
	memcpy(copy, s.p, s.n);
	str_clean_utf8(copy, s.n);
	return (struct str){copy, s.n};
}

/* What a server gives for coming back with is as good as a password. */
static struct str
hide_cookies(struct arena *a, struct str head)
{
	struct buf b CLEANUP(buf_done) =
	    BUF(CLIENT_HEAD_MAX + CLIENT_HEAD_MAX / 2);
	struct str rest = head;

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
	return b.failed ? STR_EMPTY : arena_dup(a, buf_str(&b));
}

struct flush_detail *
told_detail(struct arena *a, const struct request *r,
    const struct client_answer *ans, const char *error)
{
	struct buf b CLEANUP(buf_done) = BUF(DETAIL_MAX);
	struct buf head CLEANUP(buf_done) = BUF(REQUEST_HEAD_MAX);

	request_head(r, &head);
	put_open(&b, NULL, '{');
	put_text(&b, "error", clean(a, str_of(error), DETAIL_ERROR));
	put_text(
	    &b, "requestHeaders", clean(a, buf_str(&head), REQUEST_HEAD_MAX));
	put_text(
	    &b, "responseHead", clean(a, hide_cookies(a, ans->head), 1024));
	put_text(&b, "responseBody", clean(a, ans->body, DETAIL_BODY));
	put_close(&b, '}');
	return detail_of(&b);
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
	struct str body = clean(a, ans->body, ERROR_BODY);

	if (ans->result != CLIENT_ANSWERED)
		return ans->error;
	return arena_fmt(
	    a, "HTTP %d%s%.*s", ans->status, body.n ? ": " : "", STR_ARG(body))
	    .p;
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
told_hub_error(struct arena *a, const struct sub_conf *c,
    const struct request_event *ev, const struct request_attempt *at,
    const struct outcome *o)
{
	struct request_error said;
	UNINIT struct log_line l;
	size_t n;
	char *mem;
	struct err e;

	if (request_log_error(a, c, ev, at, o, &said, &e) < 0 ||
	    said.line.n == 0)
		return;
	/* escaped once more */
	n = 2 * (said.line.n + said.trace.n) + sizeof(l.text);
	mem = arena_try(a, n);
	if (!mem)
		return;
	log_begin_long(&l, LOG_WARN, "error of a call", mem, n);
	log_str(&l, "mt", said.line);
	if (said.trace.n > 0)
		log_str(&l, "traceId", said.trace);
	log_end(&l);
}
