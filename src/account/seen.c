#include "account/seen.h"

#include <pthread.h>
#include <stdatomic.h>

#include "account/auth.h"
#include "account/limits.h"

struct table {
	struct hmac *hmac;
	struct seen entries[AUTH_CACHE_MAX];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static char process_key[32];
static _Thread_local struct table *mine;

static void
drop_table(void *arg)
{
	struct table *t = arg;

	for (size_t i = 0; i < AUTH_CACHE_MAX; i++)
		free((void *)(uintptr_t)t->entries[i].who.tenants);
	hmac_free(t->hmac);
	free(t);
	mine = NULL;
}

static void
make_keys(void)
{
	rand_bytes(process_key, sizeof(process_key));
	(void)pthread_key_create(&at_thread_end, drop_table);
}

/* This thread's table, made when it first asks. */
static struct table *
table(void)
{
	if (!mine) {
		(void)pthread_once(&once, make_keys);
		mine = mem_get(sizeof(*mine));
		mine->hmac =
		    hmac_new((struct str){process_key, sizeof(process_key)});
		(void)pthread_setspecific(at_thread_end, mine);
	}
	return mine;
}

static struct seen *
place_of(const unsigned char mark[DIGEST_LEN])
{
	uint32_t h;

	memcpy(&h, mark, sizeof(h));
	return &table()->entries[h % AUTH_CACHE_MAX];
}

const struct seen *
seen_find(const unsigned char mark[DIGEST_LEN])
{
	struct seen *s = place_of(mark);

	/* An empty place has fresh_until_us 0. */
	return s->fresh_until_us && digest_eq(s->mark, mark, DIGEST_LEN) ? s
									 : NULL;
}

void
seen_put(const struct seen *s)
{
	size_t bytes = s->who.n_tenants * sizeof(*s->who.tenants);
	struct uuid *tenants = NULL;
	struct seen *to = place_of(s->mark);

	if (bytes) {
		tenants = mem_get(bytes);
		memcpy(tenants, s->who.tenants, bytes);
	}
	free((void *)(uintptr_t)to->who.tenants);
	*to = *s;
	to->who.tenants = tenants;
}

void
seen_mark(struct str secret, unsigned char ret[DIGEST_LEN])
{
	hmac_sum(table()->hmac, &secret, 1, ret);
}

/* ---- what was seen is wrong from now on: auth.h ---- */

static _Atomic uint64_t generation = 1;
static _Atomic uint64_t sessions = 1; /* how often some have ended */

void
auth_changed(void)
{
	atomic_fetch_add(&generation, 1);
}

void
auth_session_ended(void)
{
	atomic_fetch_add(&sessions, 1);
}

/* Both only grow: the sum is the same when neither has. */
uint64_t
auth_generation(bool by_cookie)
{
	return atomic_load(&generation) +
	       (by_cookie ? atomic_load(&sessions) : 0);
}
