#include "account/seen.h"

#include <pthread.h>

#include "base/limits.h"

struct table {
	struct hmac *hmac;
	struct seen entries[AUTH_CACHE_MAX];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static char process_key[32];
static _Thread_local struct table *mine;

static void
drop(void *arg)
{
	struct table *t = arg;

	for (size_t i = 0; i < AUTH_CACHE_MAX; i++)
		free((void *)(uintptr_t)t->entries[i].who.tenants);
	hmac_free(t->hmac);
	free(t);
	mine = NULL;
}

static void
prepare(void)
{
	rand_bytes(process_key, sizeof(process_key));
	(void)pthread_key_create(&at_thread_end, drop);
}

/* This thread's table, made when it first asks. NULL: no memory. */
static struct table *
table(void)
{
	if (!mine) {
		(void)pthread_once(&once, prepare);
		mine = calloc(1, sizeof(*mine));
		if (!mine)
			return NULL;
		mine->hmac =
		    hmac_new((struct str){process_key, sizeof(process_key)});
		(void)pthread_setspecific(at_thread_end, mine);
	}
	return mine;
}

static struct seen *
place(struct table *t, const unsigned char mark[DIGEST_LEN])
{
	uint32_t h;

	memcpy(&h, mark, sizeof(h));
	return &t->entries[h % AUTH_CACHE_MAX];
}

const struct seen *
seen_find(const unsigned char mark[DIGEST_LEN])
{
	struct table *t = table();
	struct seen *s = t ? place(t, mark) : NULL;

	/* An empty place has fresh_until_us 0. */
	if (!s || !s->fresh_until_us || !digest_eq(s->mark, mark, DIGEST_LEN))
		return NULL;
	return s;
}

void
seen_put(const struct seen *s)
{
	struct table *t = table();
	size_t bytes = s->who.n_tenants * sizeof(*s->who.tenants);
	struct uuid *tenants = NULL;
	struct seen *to;

	if (!t || (bytes && !(tenants = malloc(bytes))))
		return;
	if (bytes)
		memcpy(tenants, s->who.tenants, bytes);
	to = place(t, s->mark);
	free((void *)(uintptr_t)to->who.tenants);
	*to = *s;
	to->who.tenants = tenants;
}

void
seen_mark(struct str secret, unsigned char ret[DIGEST_LEN])
{
	struct table *t = table();

	if (t)
		hmac_sum(t->hmac, &secret, 1, ret);
	else /* nothing will be remembered: any mark will do */
		rand_bytes(ret, DIGEST_LEN);
}
