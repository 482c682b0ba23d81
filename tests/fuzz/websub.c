/*
 * What a server or a hub writes into two headers: Link and X-Hub-Signature. A
 * link found lies within the head; no signature is right but the one.
 */
#include "reader/websub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_within(struct str s, struct str all)
{
	if (!s.p)
		return;
	assert(s.n > 0 && s.p >= all.p && s.p + s.n <= all.p + all.n);
	assert(!str_has(s, '\n') && !str_has(s, '>'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data, size}, hub, self;

	websub_links(s, &hub, &self);
	check_within(hub, s);
	check_within(self, s);
	/* Nobody finds an HMAC by chance. */
	assert(!websub_signed(s, STR("a secret"), STR("bytes")));
	return 0;
}
