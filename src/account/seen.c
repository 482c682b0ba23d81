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

/* Its tenants and, behind them in one piece, their names. */
static void
forget_tenants(struct seen *s)
{
	free((void *)(uintptr_t)s->who.tenants);
}

static void
drop_table(void *arg)
{
	struct table *t = arg;

	for (size_t i = 0; i < AUTH_CACHE_MAX; i++)
		forget_tenants(&t->entries[i]);
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
seen_tenants(struct principal *who, struct arena *a)
{
	size_t n = who->n_tenants * sizeof(*who->tenants);
	struct str both = {(const char *)who->tenants, n + who->tenant_names.n};

	if (n == 0)
		return;
	both = arena_dup(a, both);
	who->tenants = (const void *)both.p;
	who->tenant_names = str_from(both, n);
}

void
seen_put(const struct seen *s)
{
	size_t bytes = s->who.n_tenants * sizeof(*s->who.tenants);
	struct str names = s->who.tenant_names;
	char *both = NULL;
	struct seen *to = place_of(s->mark);

	if (bytes) {
		both = mem_get(bytes + names.n);
		memcpy(both, s->who.tenants, bytes);
		memcpy(both + bytes, names.p, names.n);
	}
	forget_tenants(to);
	*to = *s;
	to->who.tenants = (const void *)both;
	to->who.tenant_names = (struct str){both ? both + bytes : "", names.n};
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
