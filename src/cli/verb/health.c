#include <curl/curl.h>

#include "cli/client.h"
#include "cli/limits.h"
#include "cli/verbs.h"

/*
 * `hikyaku health`: for whoever watches a container. Asks the server of the data
 * folder over its socket, or any by --url; nothing is opened or made.
 */

#define WAIT_S 5L

static size_t
health_take(char *bytes, size_t size, size_t n, void *arg)
{
	buf_add(arg, (struct str){bytes, size * n});
	return size * n;
}

static int
ask_url(const char *url, struct buf *answer, int *ret_status, struct err *e)
{
	CURL *curl = curl_easy_init();
	struct str at = str_of(url);
	CURLcode code;
	char full[2048];
	long status = 0;

	if (!curl)
		return err_set(e, ERR_IO, "libcurl can't be started");
	while (str_ends(at, STR("/")))
		at.n--;
	(void)snprintf(full, sizeof(full), "%.*s/readyz", STR_ARG(at));
	(void)curl_easy_setopt(curl, CURLOPT_URL, full);
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, WAIT_S);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, health_take);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	code = curl_easy_perform(curl);
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	*ret_status = (int)status;
	return code == CURLE_OK ? OK
				: err_set(e, ERR_IO, "%.300s: %s", full,
				      curl_easy_strerror(code));
}

int
verb_health(struct cli *c, struct err *e)
{
	const struct client_call k = {.method = "GET", .path = "/readyz"};
	const char *url = args_text(&c->args, "url");
	struct buf answer CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);
	int status = 0;

	if (url) {
		TRY(ask_url(url, &answer, &status, e));
	} else {
		TRY(client_open(c->conf.data, &c->reach.client, e));
		TRY(client_send(c->reach.client, &k, &answer, &status, e));
	}
	TRY(client_check(status, buf_str(&answer), c->arena, e));
	(void)fprintf(c->out, "%.*s\n", STR_ARG(buf_str(&answer)));
	return OK;
}
