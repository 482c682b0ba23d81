#include <dirent.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/test.h"
#include "http/client/client_test.h"

/* ---- certificates ---- */

struct pair {
	X509 *cert;
	EVP_PKEY *key;
	char cert_pem[4096], key_pem[4096];
};

static struct pair ca, leaf, visitor;

static void
pem(struct pair *p)
{
	BIO *b = BIO_new(BIO_s_mem());
	int n;

	assert_int_equal(PEM_write_bio_X509(b, p->cert), 1);
	n = BIO_read(b, p->cert_pem, sizeof(p->cert_pem) - 1);
	p->cert_pem[n] = '\0';
	assert_int_equal(
	    PEM_write_bio_PrivateKey(b, p->key, NULL, NULL, 0, NULL, NULL), 1);
	n = BIO_read(b, p->key_pem, sizeof(p->key_pem) - 1);
	p->key_pem[n] = '\0';
	BIO_free(b);
}

static void
extend(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(ext);
	(void)X509_add_ext(x, ext, -1);
	X509_EXTENSION_free(ext);
}

static void
make(struct pair *p, const char *name, const char *san, struct pair *by)
{
	static int serial;
	X509 *x = X509_new();
	X509_NAME *n = X509_get_subject_name(x);

	p->cert = x;
	p->key = EVP_EC_gen("P-256");
	(void)X509_set_version(x, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
	(void)X509_gmtime_adj(X509_getm_notBefore(x), -60);
	(void)X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	(void)X509_set_pubkey(x, p->key);
	(void)X509_NAME_add_entry_by_txt(
	    n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	(void)X509_set_issuer_name(x, X509_get_subject_name(by->cert));
	if (san)
		extend(x, NID_subject_alt_name, san);
	else
		extend(x, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(x, by->key, EVP_sha256()) > 0);
	pem(p);
}

static void
unmake(struct pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
}

/* ---- servers ---- */

static struct guard *guard;
static struct script_server plain, tls, mutual, old, proxy;

static void
say(struct peer *p)
{
	while (read_request(p)) {
		char body[sizeof(p->head) + sizeof(p->server->seen) + 16];

		(void)snprintf(body, sizeof(body), "alpn %s\n%s",
		    p->server->seen, p->head);
		(void)answer(p, "200 OK", "", str_of(body));
	}
}

/* Notes what is offered, and takes HTTP/1.1. */
static int
alpn(SSL *, const unsigned char **out, unsigned char *n_out,
    const unsigned char *in, unsigned n_in, void *arg)
{
	struct script_server *s = arg;
	size_t n = 0;

	for (unsigned i = 0; i < n_in && n < 100; i += 1U + in[i])
		n += (size_t)snprintf(s->seen + n, sizeof(s->seen) - n, "%.*s ",
		    in[i], (const char *)in + i + 1);
	*out = (const unsigned char *)"http/1.1";
	*n_out = 8;
	return SSL_TLSEXT_ERR_OK;
}

static void
tls_start(struct script_server *s, int verify, int most)
{
	s->script = say;
	s->tls = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(s->tls, leaf.cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(s->tls, leaf.key), 1);
	(void)X509_STORE_add_cert(SSL_CTX_get_cert_store(s->tls), ca.cert);
	SSL_CTX_set_verify(s->tls, verify, NULL);
	(void)SSL_CTX_set_max_proto_version(s->tls, most);
	SSL_CTX_set_security_level(s->tls, 0);
	SSL_CTX_set_alpn_select_cb(s->tls, alpn, s);
	script_start(s);
}

static void
tls_stop(struct script_server *s)
{
	script_stop(s);
	SSL_CTX_free(s->tls);
}

/* Bytes in both directions until one side ends. */
static void
relay(struct peer *p, int to)
{
	struct pollfd pf[2] = {
	    {.fd = p->fd, .events = POLLIN}, {.fd = to, .events = POLLIN}};
	char bytes[16384];

	while (poll(pf, 2, 5000) > 0) {
		for (int i = 0; i < 2; i++) {
			ssize_t n = pf[i].revents ? recv(pf[i].fd, bytes,
							sizeof(bytes), 0)
						  : -2;

			if (n == 0 || n == -1)
				return;
			if (n > 0 && send(pf[1 - i].fd, bytes, (size_t)n,
					 MSG_NOSIGNAL) != n)
				return;
		}
	}
}

/* A proxy that knows CONNECT to loopback; /no is forbidden by port 1. */
static void
proxy_script(struct peer *p)
{
	struct sockaddr_in sa = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const char *colon;
	int fd;

	if (!read_request(p))
		return;
	(void)snprintf(
	    p->server->seen, sizeof(p->server->seen), "%.4000s", p->head);
	if (strncmp(p->head, "CONNECT ", 8) != 0) {
		(void)answer(p, "200 OK", "", STR("by the proxy"));
		return;
	}
	colon = strrchr(p->path, ':');
	sa.sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10));
	if (ntohs(sa.sin_port) == 1) {
		(void)answer(p, "403 Forbidden", "", STR("no"));
		return;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    peer_putz(p, "HTTP/1.1 200 Connected\r\n\r\n"))
		relay(p, fd);
	(void)close(fd);
}

static int
setup(void **)
{
	guard = test_guard("127.0.0.0/8", false);
	dns_start();
	atomic_store(&dns.answer, "127.0.0.1");
	make(&ca, "test authority", NULL, &ca);
	make(&leaf, "leaf", "IP:127.0.0.1,DNS:hook.example", &ca);
	make(&visitor, "visitor", "DNS:visitor", &ca);
	plain.script = say;
	script_start(&plain);
	tls_start(&tls, SSL_VERIFY_NONE, 0);
	tls_start(&mutual, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
	    TLS1_2_VERSION);
	tls_start(&old, SSL_VERIFY_NONE, TLS1_1_VERSION);
	proxy.script = proxy_script;
	script_start(&proxy);
	return 0;
}

static int
teardown(void **)
{
	script_stop(&proxy);
	tls_stop(&old);
	tls_stop(&mutual);
	tls_stop(&tls);
	script_stop(&plain);
	unmake(&ca);
	unmake(&leaf);
	unmake(&visitor);
	dns_stop();
	guard_free(guard);
	return 0;
}

static void
url_to(struct trial *t, const char *scheme, const char *host,
    const struct script_server *s)
{
	char url[128];

	(void)snprintf(url, sizeof(url), "%s://%s:%d/x", scheme, host, s->port);
	trial_init(t, POST, url);
	t->send.body = STR("{}");
	t->send.tls_ca_pem = ca.cert_pem;
}

/* ---- tests ---- */

static void
test_tls(void **)
{
	static const struct {
		const char *host;
		struct script_server *server;
		bool trusted;
		enum client_result result;
	} T[] = {
	    {"127.0.0.1", &tls, true, CLIENT_ANSWERED},
	    {"hook.example", &tls, true, CLIENT_ANSWERED},
	    {"other.example", &tls, true, CLIENT_TLS}, /* not its name */
	    {"127.0.0.2", &tls, true, CLIENT_CONNECT},
	    {"127.0.0.1", &tls, false, CLIENT_TLS},      /* unknown authority */
	    {"127.0.0.1", &plain, true, CLIENT_TIMEOUT}, /* it waits too */
	    {"127.0.0.1", &old, true, CLIENT_TLS},
	    {"127.0.0.1", &mutual, true, CLIENT_TLS}, /* wants one of us */
	};
	struct client *c = test_client(guard);

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct trial t;

		url_to(&t, "https", T[i].host, T[i].server);
		if (T[i].result == CLIENT_TIMEOUT)
			t.send.connect_ms = 500;
		if (!T[i].trusted)
			t.send.tls_ca_pem = NULL;
		trial_run(c, &t);
		if (t.got.result != T[i].result)
			fail_msg(
			    "row %zu: %d %s", i, (int)t.got.result, t.error);
		if (t.got.result != CLIENT_ANSWERED)
			continue;
		assert_has(t.body, "alpn h2 http/1.1 \n");
		assert_has(t.body, T[i].host);
	}
	client_free(c);
}

static void
test_mutual(void **)
{
	struct client *c = test_client(guard);
	int before = atomic_load(&mutual.requests);
	int connections = atomic_load(&mutual.connections);
	struct trial t;

	for (int i = 0; i < 2; i++) {
		url_to(&t, "https", "127.0.0.1", &mutual);
		t.send.tls_cert_pem = visitor.cert_pem;
		t.send.tls_key_pem = visitor.key_pem;
		trial_run(c, &t);
		if (t.got.result != CLIENT_ANSWERED)
			fail_msg("%s", t.error);
	}
	assert_int_equal(atomic_load(&mutual.connections), connections + 1);
	/* The connection of one who has a certificate is not for others. */
	url_to(&t, "https", "127.0.0.1", &mutual);
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_TLS);
	/* Nor is another's certificate, or a key that is not its own. */
	url_to(&t, "https", "127.0.0.1", &mutual);
	t.send.tls_cert_pem = visitor.cert_pem;
	t.send.tls_key_pem = leaf.key_pem;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_TLS);
	url_to(&t, "https", "127.0.0.1", &mutual);
	t.send.tls_cert_pem = "nonsense";
	t.send.tls_key_pem = "nonsense";
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_TLS);
	assert_int_equal(atomic_load(&mutual.requests), before + 2);
	client_free(c);
}

static struct client *
proxied_client(bool resolves)
{
	struct client_opts o = {.guard = guard,
	    .dns_timeout_ms = 1000,
	    .connections_max = 10,
	    .connections_each = 10,
	    .body_max = MIB,
	    .proxy_resolves = resolves,
	    .dns_servers = dns.at};
	struct client *c = NULL;
	struct err e;

	assert_int_equal(client_new(&o, &c, &e), OK);
	return c;
}

static void
test_proxy(void **)
{
	static const struct client_header SECRET = {
	    STR("Authorization"), STR("Bearer s3cret")};
	struct client *c = proxied_client(false);
	char at[64], want[64];
	struct trial t;

	(void)snprintf(at, sizeof(at), "http://127.0.0.1:%d", proxy.port);
	/* The proxy is asked for the address that was judged, and learns
	 * nothing of the request. */
	url_to(&t, "https", "hook.example", &tls);
	t.send.proxy = at;
	t.send.headers = &SECRET;
	t.send.n_headers = 1;
	trial_run(c, &t);
	if (t.got.result != CLIENT_ANSWERED)
		fail_msg("%s", t.error);
	assert_has(t.body, "\r\nHost: hook.example:");
	assert_has(t.body, "Bearer s3cret");
	(void)snprintf(want, sizeof(want), "CONNECT 127.0.0.1:%d ", tls.port);
	assert_has(proxy.seen, want);
	assert_null(strstr(proxy.seen, "s3cret"));
	assert_null(strstr(t.head, "Connected"));
	/* http as well */
	url_to(&t, "http", "hook.example", &plain);
	t.send.proxy = at;
	trial_run(c, &t);
	assert_int_equal(t.got.status, 200);
	assert_has(t.body, "\r\nHost: hook.example:");
	(void)snprintf(want, sizeof(want), "CONNECT 127.0.0.1:%d ", plain.port);
	assert_has(proxy.seen, want);
	/* and to an address, which needs no pin */
	proxy.seen[0] = '\0';
	url_to(&t, "http", "127.0.0.1", &plain);
	t.send.proxy = at;
	trial_run(c, &t);
	assert_int_equal(t.got.status, 200);
	assert_has(proxy.seen, want);
	/* The next send of that handle goes without it. */
	proxy.seen[0] = '\0';
	url_to(&t, "http", "127.0.0.1", &plain);
	trial_run(c, &t);
	assert_int_equal(t.got.status, 200);
	assert_string_equal(proxy.seen, "");
	/* The proxy says no. */
	trial_init(&t, POST, "https://127.0.0.1:1/");
	t.send.proxy = at;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_CONNECT);
	assert_has(t.error, "403");
	client_free(c);
}

/* The guard is there with a proxy too. */
static void
test_proxy_guard(void **)
{
	struct client *c = proxied_client(false), *d = proxied_client(true);
	int before = atomic_load(&proxy.connections);
	char at[64], want[64];
	struct trial t;

	(void)snprintf(at, sizeof(at), "http://127.0.0.1:%d", proxy.port);
	atomic_store(&dns.answer, "10.0.0.1");
	trial_init(&t, POST, "https://private.example/");
	t.send.proxy = at;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_REFUSED);
	trial_init(&t, POST, "https://10.0.0.1/");
	t.send.proxy = at;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_REFUSED);
	trial_run(d, &t);
	assert_int_equal(t.got.result, CLIENT_REFUSED);
	assert_int_equal(atomic_load(&proxy.connections), before);
	/* A proxy that resolves is asked for the name. */
	url_to(&t, "https", "hook.example", &tls);
	t.send.proxy = at;
	trial_run(d, &t);
	if (t.got.result != CLIENT_ANSWERED)
		fail_msg("%s", t.error);
	(void)snprintf(
	    want, sizeof(want), "CONNECT hook.example:%d ", tls.port);
	assert_has(proxy.seen, want);
	atomic_store(&dns.answer, "127.0.0.1");
	client_free(c);
	client_free(d);
}

/* ---- HTTP/2 ---- */

static int
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static void
write_file(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	(void)fclose(f);
}

/* nghttpd on a port that was free a moment ago. */
static pid_t
start_nghttpd(const char *dir, struct script_server *at)
{
	char port[16], key[128], cert[128];
	pid_t child;

	*at = (struct script_server){.script = say};
	script_start(at);
	script_stop(at);
	write_file(dir, "key", leaf.key_pem);
	write_file(dir, "cert", leaf.cert_pem);
	write_file(dir, "x", "over two");
	(void)snprintf(port, sizeof(port), "%d", at->port);
	(void)snprintf(key, sizeof(key), "%s/key", dir);
	(void)snprintf(cert, sizeof(cert), "%s/cert", dir);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execlp("nghttpd", "nghttpd", "-a", "127.0.0.1", "-d", dir,
		    port, key, cert, (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	return child;
}

static void
test_http2(void **)
{
	static struct trial t[20];
	char dir[] = "/tmp/hikyaku-h2-XXXXXX", path[64];
	struct client *c = test_client(guard);
	struct script_server at;
	pid_t child;
	int before;

	assert_non_null(mkdtemp(dir));
	child = start_nghttpd(dir, &at);
	for (int i = 0; i < 100; i++) {
		url_to(&t[0], "https", "127.0.0.1", &at);
		trial_run(c, &t[0]);
		if (t[0].got.result == CLIENT_ANSWERED)
			break;
		(void)poll(NULL, 0, 50);
	}
	if (t[0].got.status != 200)
		fail_msg("nghttpd: %d %s", t[0].got.status, t[0].error);
	client_free(c);
	c = test_client(guard);
	before = open_fds();
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		url_to(&t[i], "https", "127.0.0.1", &at);
		client_start(c, &t[i].send);
	}
	while (client_running(c) > 0)
		(void)client_wait(c, -1);
	/* A burst, and it shared one connection. */
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		assert_int_equal(t[i].got.result, CLIENT_ANSWERED);
		assert_int_equal(t[i].got.status, 200);
		assert_has(t[i].head, "HTTP/2 200");
		assert_string_equal(t[i].body, "over two");
	}
	assert_int_equal(open_fds(), before + 1);
	client_free(c);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir,
		    (const char *[]){"key", "cert", "x"}[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

/* What the environment says of proxies is not heard. */
static void
test_no_environment(void **)
{
	struct client *c;
	char at[64];
	struct trial t;

	(void)snprintf(at, sizeof(at), "http://127.0.0.1:%d", proxy.port);
	(void)setenv("http_proxy", at, 1);
	(void)setenv("ALL_PROXY", at, 1);
	proxy.seen[0] = '\0';
	c = test_client(guard);
	url_to(&t, "http", "127.0.0.1", &plain);
	trial_run(c, &t);
	assert_int_equal(t.got.status, 200);
	assert_string_equal(proxy.seen, "");
	client_free(c);
	(void)unsetenv("http_proxy");
	(void)unsetenv("ALL_PROXY");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tls),
	    cmocka_unit_test(test_mutual),
	    cmocka_unit_test(test_http2),
	    cmocka_unit_test(test_proxy),
	    cmocka_unit_test(test_proxy_guard),
	    cmocka_unit_test(test_no_environment),
	};

	(void)sigaction(
	    SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
