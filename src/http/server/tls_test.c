#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/test.h"
#include "http/server/server_test.h"

static char dir[] = "/tmp/hikyaku-tls-XXXXXX";
static char cert[64], key[64], sock[64];

static int
make_pair(void **)
{
	EVP_PKEY *pk = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509_EXTENSION *san = X509V3_EXT_conf_nid(
	    NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
	FILE *f;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	(void)snprintf(key, sizeof(key), "%s/key.pem", dir);
	(void)snprintf(sock, sizeof(sock), "%s/sock", dir);
	(void)X509_set_version(x, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	(void)X509_gmtime_adj(X509_getm_notBefore(x), -60);
	(void)X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	(void)X509_set_pubkey(x, pk);
	(void)X509_NAME_add_entry_by_txt(
	    name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
	(void)X509_set_issuer_name(x, name);
	(void)X509_add_ext(x, san, -1);
	assert_true(X509_sign(x, pk, EVP_sha256()) > 0);
	f = fopen(cert, "w");
	assert_true(f && PEM_write_X509(f, x) == 1);
	(void)fclose(f);
	f = fopen(key, "w");
	assert_true(
	    f && PEM_write_PrivateKey(f, pk, NULL, NULL, 0, NULL, NULL) == 1);
	(void)fclose(f);
	X509_EXTENSION_free(san);
	X509_free(x);
	EVP_PKEY_free(pk);
	return (int)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int
remove_pair(void **)
{
	curl_global_cleanup();
	(void)unlink(cert);
	(void)unlink(key);
	(void)rmdir(dir);
	return 0;
}

static size_t
take(char *p, size_t size, size_t n, void *cls)
{
	buf_add(cls, (struct str){p, size * n});
	return size * n;
}

/* The status, 0 when there was no answer. */
static long
fetch(const char *url, const char *via, long most_tls, struct buf *b)
{
	CURL *c = curl_easy_init();
	long status = 0;

	assert_non_null(c);
	(void)curl_easy_setopt(c, CURLOPT_URL, url);
	(void)curl_easy_setopt(c, CURLOPT_CAINFO, cert);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, b);
	(void)curl_easy_setopt(c, CURLOPT_SSLVERSION, most_tls);
	(void)curl_easy_setopt(
	    c, CURLOPT_SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=0");
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT, 10L);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	if (via)
		(void)curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, via);
	if (curl_easy_perform(c) == CURLE_OK)
		(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(c);
	return status;
}

static void
test_tls(void **)
{
	static const struct {
		const char *path;
		long most_tls, status;
		const char *body;
	} T[] = {
	    {"/hello", CURL_SSLVERSION_MAX_TLSv1_3, 200, "world"},
	    {"/hello", CURL_SSLVERSION_MAX_TLSv1_2, 200, "world"},
	    {"/hello", CURL_SSLVERSION_MAX_TLSv1_1, 0, ""},
	    {"/wait", CURL_SSLVERSION_MAX_DEFAULT, 200, "waited"},
	    {"/stream", CURL_SSLVERSION_MAX_DEFAULT, 200, "data: 3"},
	    {"/big?n=100000", CURL_SSLVERSION_MAX_DEFAULT, 200, "99999}]"},
	};
	struct server_opts o = test_opts();
	struct server *s;
	struct answer a;
	struct buf b = BUF(4 * MIB);
	char url[128];
	int fd;

	o.tls_cert = cert;
	o.tls_key = key;
	o.unix_path = sock;
	o.request_timeout_s = 1;
	s = test_start(&o);
	for (size_t i = 0; i < COUNT_OF(T); i++) {
		(void)snprintf(url, sizeof(url), "https://127.0.0.1:%d%s",
		    server_port(s), T[i].path);
		buf_clear(&b);
		assert_int_equal(
		    fetch(url, NULL, T[i].most_tls, &b), T[i].status);
		assert_true(contains(buf_str(&b), T[i].body));
	}
	/* The unix socket stays plain; the port does not talk plain. */
	buf_clear(&b);
	assert_int_equal(fetch("http://h/hello", sock, 0, &b), 200);
	a = ask(server_port(s), "GET /hello" H "\r\n");
	assert_int_equal(a.status, 0);
	answer_done(&a);
	/* A handshake that never ends is cut as any slow request. */
	fd = dial(server_port(s));
	(void)put(fd, (struct str){"\x16\x03\x01\x02\x00\x01", 6});
	assert_true(closes(fd, 6000));
	(void)close(fd);
	buf_done(&b);
	assert_true(server_drain(s, 3000));
	test_stop(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tls)};

	log_setup(LOG_WARN, LOG_TEXT, STDERR_FILENO);
	return cmocka_run_group_tests(tests, make_pair, remove_pair);
}
