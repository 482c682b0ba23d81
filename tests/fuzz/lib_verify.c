/* A request as strangers send it, to each scheme of libhikyaku: headers, an
 * empty line, the body; the first byte chooses the scheme and the time. It is
 * refused in words that can be shown, and nobody who has no key is let in. */

#include "contract/receive.h"
#include "hikyaku.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const SECRETS[] = {
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="};

static void
check(unsigned char choice, const struct hk_request *r)
{
	enum hk_scheme scheme = (enum hk_scheme)(choice % 8);
	struct hk_verify_opts o = {.need_time = choice & 64};
	struct hk_error e;
	int rc = hk_verify(scheme, SECRETS, 2, r,
	    choice & 128 ? 0 : INT64_C(1700000000), &o, &e);

	assert(rc == e.code);
	assert(rc <= HK_OK && rc >= HK_REPLAYED);
	assert(rc == HK_OK || e.text[0]);
	assert(str_utf8_bad(str_of(e.text)) == strlen(e.text));
	/* An HMAC or a signature can't be guessed; six digits could. */
	assert(rc != HK_OK || scheme == HK_HUB);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new((size_t)64 << 20);
	struct hk_header headers[200];
	struct hk_request r = {.headers = headers};
	struct received got;
	struct err e;

	if (n > 0 &&
	    receive_parse(a, (struct str){(const char *)data + 1, n - 1}, &got,
		&e) == OK) {
		for (size_t i = 0; i < got.n && i < 200; i++)
			headers[r.n_headers++] =
			    (struct hk_header){arena_z(a, got.headers[i].name),
				arena_z(a, got.headers[i].value)};
		r.body = got.body.p;
		r.body_n = got.body.n;
		check(data[0], &r);
	}
	arena_free(a);
	return 0;
}
