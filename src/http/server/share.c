#include "http/server/share.h"

#include "http/nets.h"
#include "http/server/req.h"

void
share_init(struct share *s)
{
	s->secret = sip_new();
	for (size_t i = 0; i < SHARE_SLOTS; i++)
		atomic_init(&s->held[i], 0);
}

static unsigned
slot(const struct share *s, const void *p, size_t n)
{
	return (
	    unsigned)(sip_hash(&s->secret, (struct str){p, n}) % SHARE_SLOTS);
}

unsigned
share_network(const struct share *s, const char *peer)
{
	unsigned char bytes[IP_NETWORK_MAX];

	return slot(s, bytes, ip_network(peer, bytes));
}

unsigned
share_principal(const struct share *s, const struct principal *who)
{
	/* A person is one, by whatever password; a key has no person. */
	int64_t id[2] = {who->user ? -1 : (int64_t)who->kind,
	    who->user ? who->user : who->id};

	return slot(s, id, sizeof(id));
}

size_t
share_add(struct share *s, unsigned at, size_t n)
{
	return atomic_fetch_add(&s->held[at], n) + n;
}

void
share_sub(struct share *s, unsigned at, size_t n)
{
	size_t was = atomic_fetch_sub(&s->held[at], n);

	assert(was >= n);
}

size_t
share_held(const struct share *s, unsigned at)
{
	return atomic_load(&s->held[at]);
}
