#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define FIRST_BYTES ((size_t)256)
#define READ_BYTES  ((size_t)512)

void
buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf){.limit = b->limit};
}

void
buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
}

struct str
buf_str(const struct buf *b)
{
	return b->p ? (struct str){.p = b->p, .n = b->n} : STR_EMPTY;
}

char *
buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : FIRST_BYTES;

	if (b->failed || n > b->limit || b->n > b->limit - n) {
		b->failed = true;
		return NULL;
	}
	if (b->n + n <= b->cap)
		return b->p + b->n;
	while (cap < b->n + n)
		cap = cap > b->limit / 2 ? b->limit : cap * 2;
	b->p = mem_grow(b->p, cap, 1);
	b->cap = cap;
	return b->p + b->n;
}

bool
buf_read(struct buf *b, int fd)
{
	for (;;) {
		size_t left = b->limit - b->n;
		size_t want = left < READ_BYTES ? left : READ_BYTES;
		char more, *to = want ? buf_room(b, want) : &more;
		ssize_t n = read(fd, to, want ? want : 1);

		b->failed = n > 0 && want == 0;
		if (b->failed || (n < 0 && errno != EINTR))
			return false;
		if (n == 0)
			return true;
		b->n += n > 0 ? (size_t)n : 0;
	}
}

void
buf_add(struct buf *b, struct str s)
{
	char *p = s.n > 0 ? buf_room(b, s.n) : NULL;

	if (!p)
		return;
	memcpy(p, s.p, s.n);
	b->n += s.n;
}

void
buf_addc(struct buf *b, char c)
{
	char *p = buf_room(b, 1);

	if (!p)
		return;
	*p = c;
	b->n++;
}

void
buf_addz(struct buf *b, const char *z)
{
	buf_add(b, str_of(z));
}

void
buf_int(struct buf *b, int64_t v)
{
	char digits[24], *p = digits + sizeof(digits);
	uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		*--p = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (v < 0)
		*--p = '-';
	buf_add(b, (struct str){p, (size_t)(digits + sizeof(digits) - p)});
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n >= 0 ? buf_room(b, (size_t)n + 1) : NULL;
	if (!p) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

static const char HEX[] = "0123456789abcdef";

void
buf_hex(struct buf *b, struct str bytes)
{
	char *p = buf_room(b, 2 * bytes.n);

	if (!p)
		return;
	for (size_t i = 0; i < bytes.n; i++) {
		unsigned char c = (unsigned char)bytes.p[i];

		*p++ = HEX[c >> 4];
		*p++ = HEX[c & 15];
	}
	b->n += 2 * bytes.n;
}

/* What stands behind the backslash, 'u' for the long form, 0 for none. */
static char
escape(unsigned char c)
{
	static const char FROM[] = "\"\\\n\r\t\b\f", TO[] = "\"\\nrtbf";
	const char *at;

	if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
		return 0;
	at = memchr(FROM, c, sizeof(FROM) - 1);
	return at ? TO[at - FROM] : 'u';
}

void
buf_json(struct buf *b, struct str s)
{
	size_t from = 0;

	buf_addc(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char esc = escape(c);

		if (!esc)
			continue;
		buf_add(b, (struct str){s.p + from, i - from});
		from = i + 1;
		buf_addc(b, '\\');
		buf_addc(b, esc);
		if (esc == 'u') {
			buf_addz(b, "00");
			buf_hex(b, (struct str){(const char *)&c, 1});
		}
	}
	buf_add(b, str_from(s, from));
	buf_addc(b, '"');
}
