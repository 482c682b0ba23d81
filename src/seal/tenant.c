#include "seal/tenant.h"

#include <pthread.h>

#include "seal/digest.h"

static struct uuid space, fallback;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool
is_name(struct str s)
{
	if (s.n < 1 || s.n > TENANT_MAX)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], low = (char)(c | 0x20);

		if ((low < 'a' || low > 'z') && (c < '0' || c > '9') &&
		    c != '-' && c != '_' && c != '.' && c != ':')
			return false;
	}
	return true;
}

static struct uuid
v5(struct str name)
{
	char text[sizeof(struct uuid) + TENANT_MAX];
	unsigned char sum[DIGEST_SHA1_LEN];
	struct uuid u;

	memcpy(text, space.b, sizeof(space.b));
	memcpy(text + sizeof(space.b), name.p, name.n);
	digest_sha1((struct str){text, sizeof(space.b) + name.n}, sum);
	memcpy(u.b, sum, sizeof(u.b));
	u.b[6] = (unsigned char)((u.b[6] & 0x0f) | 0x50);
	u.b[8] = (unsigned char)((u.b[8] & 0x3f) | 0x80);
	return u;
}

static void
begin(void)
{
	bool ok = uuid_parse(STR(TENANT_NAMESPACE), &space);

	assert(ok);
	fallback = v5(STR(TENANT_DEFAULT));
}

struct uuid
tenant_default(void)
{
	(void)pthread_once(&once, begin);
	return fallback;
}

bool
tenant_is_uuid(struct str name)
{
	struct uuid u;

	return uuid_parse(name, &u);
}

bool
tenant_parse(struct str name, struct uuid *ret)
{
	if (uuid_parse(name, ret))
		return true;
	if (!is_name(name))
		return false;
	(void)pthread_once(&once, begin);
	*ret = v5(name);
	return true;
}
