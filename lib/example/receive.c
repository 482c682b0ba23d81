/*
 * receive SCHEME SECRET < body - verifies one webhook, as a CGI program would.
 *
 * SCHEME is standard, cloudevents, repository, task, hub, github or stripe. The
 * headers come as CGI gives them (HTTP_WEBHOOK_ID and so on). Answers 204, or
 * 401 with the reason; the exit status is 0 when it was verified.
 */
#include <hikyaku.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX    (1 << 20)
#define HEADERS_MAX 128

extern char **environ;

static const struct {
	const char *name;
	enum hk_scheme scheme;
} SCHEMES[] = {
    {"standard", HK_STANDARD},
    {"cloudevents", HK_CLOUDEVENTS},
    {"repository", HK_REPOSITORY},
    {"task", HK_TASK},
    {"hub", HK_HUB},
    {"github", HK_GITHUB},
    {"stripe", HK_STRIPE},
};

/* HTTP_WEBHOOK_ID=x as "WEBHOOK-ID" and "x"; 0 when there are no more. */
static size_t
headers(struct hk_header ret[HEADERS_MAX])
{
	size_t n = 0;

	for (char **v = environ; *v && n < HEADERS_MAX; v++) {
		char *value = strchr(*v, '='), *name;

		if (strncmp(*v, "HTTP_", 5) != 0 || !value)
			continue;
		name = strndup(*v + 5, (size_t)(value - *v) - 5);
		if (!name)
			break;
		for (char *p = name; *p; p++)
			if (*p == '_')
				*p = '-';
		ret[n++] = (struct hk_header){name, value + 1};
	}
	return n;
}

int
main(int argc, char **argv)
{
	static char body[BODY_MAX];
	struct hk_header list[HEADERS_MAX];
	struct hk_request r = {.headers = list, .body = body};
	const char *secret = argc == 3 ? argv[2] : NULL;
	struct hk_error e = {0};
	size_t i = 0, n = sizeof(SCHEMES) / sizeof(SCHEMES[0]);
	int rc;

	while (secret && i < n && strcmp(SCHEMES[i].name, argv[1]) != 0)
		i++;
	if (!secret || i == n) {
		fprintf(stderr, "usage: receive SCHEME SECRET < body\n");
		return 2;
	}
	r.n_headers = headers(list);
	r.body_n = fread(body, 1, sizeof(body), stdin);
	rc = hk_verify(SCHEMES[i].scheme, &secret, 1, &r, 0, NULL, &e);
	for (size_t k = 0; k < r.n_headers; k++)
		free((void *)(uintptr_t)list[k].name);
	if (rc == HK_OK)
		printf("Status: 204\n\n");
	else
		printf("Status: 401\n\n%s\n", e.text);
	return rc == HK_OK ? 0 : 1;
}
