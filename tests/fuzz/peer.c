/*
 * Headers of proxies, of which the caller wrote the beginning: whatever he
 * writes, an X-Forwarded-For that the proxy has added to leads to the address
 * it added, or to the proxy's own when another header says otherwise; and a
 * Forwarded leads to one of these two or can't be read.
 */
#include "http/peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is(struct ip ip, const char *z)
{
	char text[IP_TEXT_MAX];

	ip_format(&ip, text);
	return strcmp(text, z) == 0;
}

static struct str
join(struct arena *a, struct str s, const char *added)
{
	struct str t = arena_fmt(a, "%.*s, %s", STR_ARG(s), added);

	assert(t.p);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data, size}, none = {.p = NULL};
	struct str x, f;
	struct nets trusted;
	struct arena *a;
	struct ip hop, got;
	struct err e;

	/* A header has neither. */
	if (size > 4096 ||
	    (size && (memchr(data, '\0', size) || memchr(data, '\n', size))))
		return 0;
	a = arena_new(1 << 16);
	assert(a && nets_read("k", "10.0.0.0/8", &trusted, &e) == OK);
	assert(ip_read(STR("10.0.0.9"), &hop));
	x = join(a, s, "203.0.113.7, 10.0.0.2");
	f = join(a, s, "for=203.0.113.7;proto=https, for=10.0.0.2");
	got = peer_find(&trusted, hop, none, x);
	assert(is(got, "203.0.113.7"));
	got = peer_find(&trusted, hop, f, none);
	assert(is(got, "203.0.113.7") || is(got, "10.0.0.9"));
	got = peer_find(&trusted, hop, s, x);
	assert(is(got, "203.0.113.7") || is(got, "10.0.0.9"));
	got = peer_find(&trusted, hop, f, s);
	assert(is(got, "203.0.113.7") || is(got, "10.0.0.9"));
	(void)peer_find(&trusted, hop, s, none);
	(void)peer_find(&trusted, hop, none, s);
	nets_done(&trusted);
	arena_free(a);
	return 0;
}
