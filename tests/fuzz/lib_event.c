/* JSON of a stranger as an event, for libhikyaku: what is prepared once is
 * prepared for good, and what can be read names its record. */

#include "base/base.h"
#include "hikyaku.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
prepare(const char *json, size_t n)
{
	char id[HK_ID_LEN + 1], again[HK_ID_LEN + 1], *one, *two;
	struct hk_error e;
	size_t n_one, n_two;

	if (hk_event_prepare(json, n, &one, &n_one, id, &e) != HK_OK) {
		assert(e.code < 0 && e.text[0]);
		return;
	}
	if (hk_event_prepare(one, n_one, &two, &n_two, again, &e) != HK_OK)
		abort();
	assert(n_one == n_two && memcmp(one, two, n_one) == 0);
	assert(strcmp(id, again) == 0);
	hk_memory_free(one);
	hk_memory_free(two);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *json = (const char *)data;
	struct hk_event *ev;
	struct hk_error e;

	prepare(json, n);
	if (hk_event_read(json, n, &ev, &e) != HK_OK) {
		assert(e.code < 0 && e.text[0]);
		return 0;
	}
	assert(strlen(ev->event_id) == HK_ID_LEN);
	assert(strlen(ev->tenant_id) == HK_ID_LEN);
	assert(ev->object_name && ev->record_id && ev->key && ev->cursor);
	assert(ev->payload[0] == '{' && ev->payload[ev->payload_n - 1] == '}');
	hk_event_free(ev);
	return 0;
}
