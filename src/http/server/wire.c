#include "http/server/wire.h"

#include <stdarg.h>

#include "http/server/limits.h"

#define VERSION   "HTTP/1.1"
#define CODING    "chunked"
#define HOST      "\r\nHost: -\r\n\r\n"
#define TABLE_ROW ((size_t)64) /* what libmicrohttpd keeps of a pair */

enum verdict { KEEP, DROP, STOP };

static bool
wire_blank(unsigned char c)
{
	return c == ' ' || c == '\t';
}

static void PRINTF(2, 3) set_give(struct wire *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->give, sizeof(w->give), fmt, ap);
	va_end(ap);
	w->give_n = (size_t)n;
	w->give_at = 0;
}

/* What ends each state. */
static const char *const TAILS[] = {
    [WIRE_START] = "GET / " VERSION HOST,
    [WIRE_START_LF] = "GET / " VERSION HOST,
    [WIRE_METHOD] = " / " VERSION HOST,
    [WIRE_TARGET] = " " VERSION HOST,
    [WIRE_VERSION] = HOST,
    [WIRE_LINE_LF] = &HOST[1],
    [WIRE_LINE] = "\r\n",
    /* One letter more makes it a name that means nothing. */
    [WIRE_NAME] = "x: -\r\n\r\n",
    [WIRE_VALUE] = "\r\n\r\n",
    [WIRE_VALUE_LF] = "\n\r\n",
    [WIRE_HEAD_LF] = "\n",
    [WIRE_SIZE] = "0\r\n\r\n",
    [WIRE_EXTENSION] = "0\r\n\r\n",
    [WIRE_SIZE_LF] = "0\r\n\r\n",
    [WIRE_DATA_CR] = "\r\n0\r\n\r\n",
    [WIRE_DATA_LF] = "\n0\r\n\r\n",
};

/* Ends what was begun, so that it can be answered. */
static void
set_tail(struct wire *w)
{
	bool value = w->state == WIRE_VALUE;
	/* A line of a trailer, of which libmicrohttpd got nothing. */
	bool unseen =
	    w->trailer && w->state >= WIRE_NAME && w->state <= WIRE_VALUE_LF;
	const char *first = "";

	/* Bytes of a body are never refused, and nothing comes after it stops. */
	assert(w->state < COUNT_OF(TAILS) && TAILS[w->state]);
	if (w->state == WIRE_TARGET && w->n == 0)
		first = "/";
	else if (w->state == WIRE_VERSION)
		first = &VERSION[w->n];
	else if (value && w->field == FIELD_LENGTH && w->n == 0)
		first = "0";
	else if (value && w->field == FIELD_CODING)
		first = &CODING[w->n];
	set_give(w, "%s%s", first, unseen ? "\r\n" : TAILS[w->state]);
}

static enum verdict
wire_refuse(struct wire *w, int status, const char *why)
{
	set_tail(w);
	if (w->state == WIRE_START || w->state == WIRE_START_LF)
		w->requests++;
	w->bad = why;
	w->bad_status = status;
	w->bad_at = w->requests;
	w->state = WIRE_STOPPED;
	return STOP;
}

static bool
too_dear(struct wire *w, size_t n)
{
	w->cost += n;
	return w->cost > HTTP_HEAD_COST;
}

/* The LF behind a CR. */
static enum verdict
on_lf(struct wire *w, unsigned char c, enum wire_state next)
{
	if (c != '\n')
		return wire_refuse(w, 400, "a line must end with CRLF");
	w->state = next;
	return KEEP;
}

static enum verdict
on_start(struct wire *w, unsigned char c)
{
	if (c == '\r') {
		w->state = WIRE_START_LF;
		return DROP;
	}
	if (!str_is_tchar((char)c))
		return wire_refuse(w, 400, "the request begins with no method");
	w->requests++;
	w->cost = w->n = 1;
	w->lengths = w->codings = w->hosts = 0;
	w->trailer = false;
	w->left = 0;
	w->state = WIRE_METHOD;
	return KEEP;
}

static enum verdict
on_start_lf(struct wire *w, unsigned char c)
{
	return on_lf(w, c, WIRE_START) == KEEP ? DROP : STOP;
}

static enum verdict
on_method(struct wire *w, unsigned char c)
{
	if (c == ' ') {
		w->state = WIRE_TARGET;
		w->n = 0;
		return KEEP;
	}
	if (!str_is_tchar((char)c))
		return wire_refuse(w, 400, "the method is no token");
	if (++w->n > HTTP_METHOD_MAX)
		return wire_refuse(w, 400, "there is no such method");
	return KEEP;
}

static enum verdict
on_target(struct wire *w, unsigned char c)
{
	if (c == ' ' && w->n > 0) {
		w->state = WIRE_VERSION;
		w->n = 0;
		return KEEP;
	}
	if (c <= ' ' || c == 0x7f)
		return wire_refuse(w, 400,
		    "the request's target has a byte that no target has");
	if (too_dear(w, c == '&' || c == '?' ? 1 + TABLE_ROW : 1))
		return wire_refuse(
		    w, 414, "the path and its parameters are too long");
	w->n++;
	return KEEP;
}

static enum verdict
on_version(struct wire *w, unsigned char c)
{
	size_t last = sizeof(VERSION) - 2;

	if (w->n == last + 1 && c == '\r') {
		w->state = WIRE_LINE_LF;
		return KEEP;
	}
	if (w->n == last && (c == '0' || c == '1'))
		w->minor = c - '0';
	else if (w->n > last || (char)c != VERSION[w->n])
		return wire_refuse(
		    w, 400, "the request's line must end with HTTP/1.1");
	w->n++;
	return KEEP;
}

static enum verdict
too_long(struct wire *w)
{
	return wire_refuse(w, 431, "the headers are too long, or too many");
}

static void
take_name(struct wire *w)
{
	struct str name = {w->name, w->n < WIRE_NAME_MAX ? w->n : 0};

	w->field = FIELD_OTHER;
	w->n = 0;
	w->ended = false;
	if (w->trailer)
		return;
	if (str_eq_nocase(name, STR("content-length"))) {
		w->field = FIELD_LENGTH;
		w->lengths++;
	} else if (str_eq_nocase(name, STR("transfer-encoding"))) {
		w->field = FIELD_CODING;
		w->codings++;
	} else if (str_eq_nocase(name, STR("cookie"))) {
		w->field = FIELD_COOKIE;
	} else if (str_eq_nocase(name, STR("host"))) {
		w->hosts++;
	}
}

static enum verdict
on_name(struct wire *w, unsigned char c)
{
	if (c == ':' && w->n > 0) {
		take_name(w);
		w->state = WIRE_VALUE;
	} else if (!str_is_tchar((char)c)) {
		return wire_refuse(w, 400,
		    w->n > 0 ? "a header's name is no token"
		    : wire_blank(c)
			? "a header's line must not begin with a blank"
			: "a header has no name");
	} else if (too_dear(w, 1)) {
		return too_long(w);
	} else {
		if (w->n < WIRE_NAME_MAX)
			w->name[w->n] = (char)c;
		w->n++;
		w->state = WIRE_NAME;
	}
	return w->trailer ? DROP : KEEP;
}

/* How much the next byte of a value costs. */
static size_t
price(const struct wire *w, unsigned char c)
{
	if (w->field != FIELD_COOKIE)
		return 1;
	return c == ';' || c == ',' ? 2 + TABLE_ROW : 2;
}

static enum verdict
on_length(struct wire *w, unsigned char c)
{
	if (wire_blank(c)) {
		w->ended = w->n > 0;
		return KEEP;
	}
	if (c < '0' || c > '9' || w->ended)
		return wire_refuse(w, 400, "Content-Length is no number");
	if (++w->n > 15)
		return wire_refuse(w, 413, "Content-Length is too large");
	w->left = w->left * 10 + (c - '0');
	return KEEP;
}

static enum verdict
on_coding(struct wire *w, unsigned char c)
{
	if (wire_blank(c)) {
		w->ended = w->n > 0;
		return w->ended ? DROP : KEEP;
	}
	if (w->ended || (char)(c | 0x20) != CODING[w->n])
		return wire_refuse(
		    w, 400, "the only Transfer-Encoding known here is chunked");
	w->n++;
	return KEEP;
}

static enum verdict
on_value(struct wire *w, unsigned char c)
{
	if (c == '\r') {
		if (w->field == FIELD_LENGTH && w->n == 0)
			return wire_refuse(w, 400, "Content-Length is empty");
		if (w->field == FIELD_CODING && w->n < sizeof(CODING) - 1)
			return wire_refuse(w, 400,
			    "the only Transfer-Encoding known here is chunked");
		w->state = WIRE_VALUE_LF;
		return w->trailer ? DROP : KEEP;
	}
	if ((c < ' ' && c != '\t') || c == 0x7f)
		return wire_refuse(
		    w, 400, "a header's value has a byte that no value has");
	if (too_dear(w, price(w, c)))
		return too_long(w);
	if (w->field == FIELD_LENGTH)
		return on_length(w, c);
	if (w->field == FIELD_CODING)
		return on_coding(w, c);
	return w->trailer ? DROP : KEEP;
}

/*
 * The head is complete: what follows? Two lengths, or a length and chunks, are
 * how requests are smuggled past a proxy.
 */
static enum verdict
end_head(struct wire *w)
{
	if (w->trailer)
		w->state = WIRE_START;
	else if (w->lengths + w->codings > 1)
		return wire_refuse(w, 400,
		    "more than one Content-Length or Transfer-Encoding");
	else if (w->codings && w->minor == 0)
		return wire_refuse(w, 400, "HTTP/1.0 has no Transfer-Encoding");
	else if (w->hosts > 1 || (w->hosts == 0 && w->minor > 0))
		return wire_refuse(w, 400, "one Host header is needed");
	else if (w->codings)
		w->state = WIRE_SIZE;
	else
		w->state = w->left > 0 ? WIRE_BODY : WIRE_START;
	w->n = 0;
	return KEEP;
}

static enum verdict
on_line(struct wire *w, unsigned char c)
{
	w->n = 0;
	if (c == '\r') {
		w->state = WIRE_HEAD_LF;
		return KEEP;
	}
	return too_dear(w, TABLE_ROW) ? too_long(w) : on_name(w, c);
}

static enum verdict
on_line_lf(struct wire *w, unsigned char c)
{
	enum verdict v = on_lf(w, c, WIRE_LINE);

	return v == KEEP && w->trailer ? DROP : v;
}

static enum verdict
on_head_lf(struct wire *w, unsigned char c)
{
	return c == '\n' ? end_head(w) : on_lf(w, c, WIRE_START);
}

static enum verdict
on_size(struct wire *w, unsigned char c)
{
	int digit = str_hex_digit((char)c);

	if (digit >= 0) {
		if (w->n == 0)
			w->left = w->cost = 0;
		if (++w->n > 8)
			return wire_refuse(w, 413, "a chunk is too large");
		w->left = w->left * 16 + (unsigned)digit;
		return DROP;
	}
	if (w->n == 0 || (c != '\r' && c != ';' && !wire_blank(c)))
		return wire_refuse(w, 400, "a chunk's size is no number");
	w->state = c == '\r' ? WIRE_SIZE_LF : WIRE_EXTENSION;
	return DROP;
}

static enum verdict
on_extension(struct wire *w, unsigned char c)
{
	if (c == '\r') {
		w->state = WIRE_SIZE_LF;
		return DROP;
	}
	if ((c < ' ' && c != '\t') || c == 0x7f)
		return wire_refuse(
		    w, 400, "a chunk's line has a byte that no line has");
	if (too_dear(w, 1))
		return wire_refuse(w, 431, "a chunk's extension is too long");
	return DROP;
}

/* The line of a chunk is given when it is complete. */
static enum verdict
on_size_lf(struct wire *w, unsigned char c)
{
	if (on_lf(w, c, w->left == 0 ? WIRE_LINE : WIRE_DATA) == STOP)
		return STOP;
	set_give(w, "%llx\r\n", (unsigned long long)w->left);
	w->trailer = w->left == 0;
	return DROP;
}

static enum verdict
on_data_cr(struct wire *w, unsigned char c)
{
	if (c != '\r')
		return wire_refuse(w, 400, "a chunk must end with CRLF");
	w->state = WIRE_DATA_LF;
	return KEEP;
}

static enum verdict
on_data_lf(struct wire *w, unsigned char c)
{
	w->n = 0;
	return on_lf(w, c, WIRE_SIZE);
}

/* The states in which bytes are looked at; those of bodies are not. */
static enum verdict (*const STEPS[])(struct wire *w, unsigned char c) = {
    [WIRE_START] = on_start,
    [WIRE_START_LF] = on_start_lf,
    [WIRE_METHOD] = on_method,
    [WIRE_TARGET] = on_target,
    [WIRE_VERSION] = on_version,
    [WIRE_LINE_LF] = on_line_lf,
    [WIRE_LINE] = on_line,
    [WIRE_NAME] = on_name,
    [WIRE_VALUE] = on_value,
    [WIRE_VALUE_LF] = on_line_lf,
    [WIRE_HEAD_LF] = on_head_lf,
    [WIRE_SIZE] = on_size,
    [WIRE_EXTENSION] = on_extension,
    [WIRE_SIZE_LF] = on_size_lf,
    [WIRE_DATA_CR] = on_data_cr,
    [WIRE_DATA_LF] = on_data_lf,
};

bool
wire_holds(const struct wire *w)
{
	return w->state == WIRE_SIZE_LF || w->state == WIRE_EXTENSION ||
	       (w->state == WIRE_SIZE && w->n > 0);
}

bool
wire_hides_end(const struct wire *w)
{
	return w->serving > 0 &&
	       (w->requests > w->serving || w->state == WIRE_START);
}

/* How many of the next n bytes are the body's. */
static size_t
pass_body(struct wire *w, size_t n)
{
	if (n > w->left)
		n = (size_t)w->left;
	w->left -= n;
	if (w->left == 0)
		w->state = w->state == WIRE_BODY ? WIRE_START : WIRE_DATA_CR;
	return n;
}

size_t
wire_take(struct wire *w, char *p, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n && w->state != WIRE_STOPPED;) {
		size_t pass = 1;

		if (w->state == WIRE_BODY || w->state == WIRE_DATA)
			pass = pass_body(w, n - i);
		else if (STEPS[w->state](w, (unsigned char)p[i]) != KEEP)
			pass = 0;
		if (pass > 0 && kept != i)
			memmove(p + kept, p + i, pass);
		kept += pass;
		i += pass > 0 ? pass : 1;
		/* A size is never longer than the line that it was in. */
		if (w->state != WIRE_STOPPED && w->give_n <= i - kept)
			kept += wire_give(w, p + kept, i - kept);
	}
	return kept;
}

size_t
wire_give(struct wire *w, char *p, size_t room)
{
	size_t n = w->give_n - w->give_at;

	if (n > room)
		n = room;
	memcpy(p, w->give + w->give_at, n);
	w->give_at += n;
	if (w->give_at == w->give_n)
		w->give_n = w->give_at = 0;
	return n;
}

const char *
wire_bad(const struct wire *w, unsigned nth, int *ret_status)
{
	if (!w->bad || w->bad_at != nth)
		return NULL;
	*ret_status = w->bad_status;
	return w->bad;
}
