#include "seal/kms.h"

#include <curl/curl.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/limits.h"

/* What a call needs; strings are the arena's or the environment's. */
struct call {
	const char *url, *sign, *userpwd, *token;
};

static const char *
env(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "";
}

static int
prepare_call(
    const struct kms_opts *o, struct arena *a, struct call *ret, struct err *e)
{
	const char *region = o->region[0]           ? o->region
			     : env("AWS_REGION")[0] ? env("AWS_REGION")
						    : env("AWS_DEFAULT_REGION");
	const char *id = env("AWS_ACCESS_KEY_ID");
	const char *secret = env("AWS_SECRET_ACCESS_KEY");

	if (strcmp(o->provider, "aws") != 0)
		return err_set(e, ERR_INVALID,
		    "webhook.encryption.kms.provider must be aws");
	if (!o->key_id[0])
		return err_set(e, ERR_INVALID,
		    "webhook.encryption.kms.key.id must name the key of the KMS");
	for (const char *c = o->key_id; *c; c++)
		if (*c <= ' ' || *c == 0x7f || *c == '"' || *c == '\\')
			return err_set(e, ERR_INVALID,
			    "webhook.encryption.kms.key.id must be an id, an ARN or an alias, without blanks");
	if (!region[0])
		return err_set(e, ERR_INVALID,
		    "the KMS needs a region: webhook.encryption.kms.region or AWS_REGION");
	if (!id[0] || !secret[0])
		return err_set(e, ERR_INVALID,
		    "the KMS needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
	ret->url =
	    o->url[0] ? o->url
		      : arena_fmt(a, "https://kms.%s.amazonaws.com/", region).p;
	ret->sign = arena_fmt(a, "aws:amz:%s:kms", region).p;
	ret->userpwd = arena_fmt(a, "%s:%s", id, secret).p;
	ret->token = env("AWS_SESSION_TOKEN");
	return OK;
}

static size_t
take_answer(char *bytes, size_t size, size_t n, void *to)
{
	struct buf *b = to;

	buf_add(b, (struct str){bytes, size * n});
	return b->failed ? 0 : size * n;
}

static struct curl_slist *
with(struct curl_slist *list, struct arena *a, const char *name,
    const char *value)
{
	list = curl_slist_append(list, arena_fmt(a, "%s: %s", name, value).p);
	if (!list)
		mem_out(0);
	return list;
}

#define SET(curl, option, value)                                               \
	do {                                                                   \
		CURLcode set_ = curl_easy_setopt(curl, option, value);         \
		assert(set_ == CURLE_OK);                                      \
		(void)set_;                                                    \
	} while (0)

/* What it said, when it is not 200: {"__type":…,"message":…}. */
static int
refused(long status, const struct json *j, struct err *e)
{
	struct str type = json_text(j, "__type");
	struct str message =
	    json_text(j, json_get(j, "message") ? "message" : "Message");

	return err_set(e, ERR_INVALID, "the KMS refused it with %ld %.*s %.*s",
	    status, STR_ARG(type), STR_ARG(message));
}

static int
perform(CURL *curl, const struct call *c, const struct curl_slist *headers,
    struct str body, struct buf *answer, long *ret_status, struct err *e)
{
	CURLcode code;

	SET(curl, CURLOPT_URL, c->url);
	SET(curl, CURLOPT_NOSIGNAL, 1L);
	SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)KMS_CONNECT_MS);
	SET(curl, CURLOPT_TIMEOUT_MS, (long)KMS_WAIT_MS);
	SET(curl, CURLOPT_AWS_SIGV4, c->sign);
	SET(curl, CURLOPT_USERPWD, c->userpwd);
	SET(curl, CURLOPT_HTTPHEADER, headers);
	SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
	SET(curl, CURLOPT_POSTFIELDS, body.p);
	SET(curl, CURLOPT_WRITEFUNCTION, take_answer);
	SET(curl, CURLOPT_WRITEDATA, answer);
	code = curl_easy_perform(curl);
	if (code != CURLE_OK)
		return err_set(e, ERR_IO, "the KMS at %s did not answer: %s",
		    c->url, curl_easy_strerror(code));
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
	return OK;
}

static int
ask_kms(const struct kms_opts *o, const char *target, struct arena *a,
    struct str body, struct buf *answer, struct json **ret, struct err *e)
{
	struct curl_slist *headers;
	long status = 0;
	struct call c = {.url = NULL};
	struct err inner;
	CURL *curl;
	int rc;

	TRY(prepare_call(o, a, &c, e));
	curl = curl_easy_init();
	if (!curl)
		mem_out(0);
	headers = with(NULL, a, "Content-Type", "application/x-amz-json-1.1");
	headers = with(headers, a, "X-Amz-Target", target);
	if (c.token[0])
		headers = with(headers, a, "X-Amz-Security-Token", c.token);
	rc = perform(curl, &c, headers, body, answer, &status, e);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	TRY(rc);
	rc = json_parse(a, buf_str(answer), ret, &inner);
	if (status != 200)
		return refused(status, rc < 0 ? NULL : *ret, e);
	return rc < 0 ? err_set(e, ERR_IO,
			    "the KMS at %s answered something else than JSON",
			    c.url)
		      : OK;
}

static int
plain_of(const struct json *j, unsigned char ret[KMS_KEY_LEN], struct err *e)
{
	const struct json *plain = json_get(j, "Plaintext");
	size_t n = 0;

	if (!json_is(plain, JSON_STRING) ||
	    !base64_read(plain->text, (char *)ret, KMS_KEY_LEN, &n) ||
	    n != KMS_KEY_LEN)
		return err_set(
		    e, ERR_IO, "the KMS answered without a key of 32 bytes");
	return OK;
}

#define CONTEXT "\"EncryptionContext\":{\"app\":\"hikyaku\"}"

int
kms_generate(const struct kms_opts *o, struct arena *a,
    unsigned char ret_key[KMS_KEY_LEN], struct str *ret_wrapped, struct err *e)
{
	/* The plain key is in it. */
	struct buf answer CLEANUP(digest_wipe_buf) = BUF(KMS_ANSWER_MAX);
	const struct json *blob;
	struct json *j = NULL;
	struct str body = arena_fmt(a,
	    "{\"KeyId\":\"%s\",\"KeySpec\":\"AES_256\"," CONTEXT "}",
	    o->key_id);

	TRY(ask_kms(
	    o, "TrentService.GenerateDataKey", a, body, &answer, &j, e));
	TRY(plain_of(j, ret_key, e));
	blob = json_get(j, "CiphertextBlob");
	if (!json_is(blob, JSON_STRING) || blob->text.n == 0)
		return err_set(
		    e, ERR_IO, "the KMS answered without a wrapped key");
	*ret_wrapped = arena_dup(a, blob->text);
	return OK;
}

int
kms_decrypt(const struct kms_opts *o, struct arena *a, struct str wrapped,
    unsigned char ret_key[KMS_KEY_LEN], struct err *e)
{
	struct buf answer CLEANUP(digest_wipe_buf) = BUF(KMS_ANSWER_MAX);
	struct json *j = NULL;
	struct str body = arena_fmt(
	    a, "{\"CiphertextBlob\":\"%.*s\"," CONTEXT "}", STR_ARG(wrapped));

	TRY(ask_kms(o, "TrentService.Decrypt", a, body, &answer, &j, e));
	return plain_of(j, ret_key, e);
}
