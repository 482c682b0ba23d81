/*
 * publish URL [FILE] - publishes events, one JSON object a line, in batches,
 * and says what became of each that failed.
 *
 * The key stands in HIKYAKU_KEY; a file of certificates to trust, or the socket
 * of a server on this machine, in HIKYAKU_CA and HIKYAKU_SOCKET.
 */
#include <hikyaku.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long published, again, failed;

static void
done(void *ctx, const struct hk_result *r)
{
	(void)ctx;
	if (r->code == HK_OK) {
		published++;
		again += r->duplicate != 0;
		return;
	}
	failed++;
	fprintf(stderr, "line %lu, %s: %s%s%s\n", (unsigned long)(size_t)r->tag,
	    r->event_id, r->error->text, r->error->pointer[0] ? " at " : "",
	    r->error->pointer);
}

/* Each line into the queue; when it is full, what is due goes first. */
static int
add_lines(struct hk_publisher *p, FILE *in, struct hk_error *e)
{
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t n;
	int rc = HK_OK;

	while (rc == HK_OK && (n = getline(&line, &room, in)) > 0) {
		void *tag = (void *)++number;

		rc = hk_publisher_add(p, line, (size_t)n, tag, NULL, e);
		if (rc == HK_FULL) {
			rc = hk_publisher_flush(p, -1, e);
			if (rc == HK_OK)
				rc = hk_publisher_add(
				    p, line, (size_t)n, tag, NULL, e);
		}
		if (rc == HK_INVALID) {
			fprintf(stderr, "line %zu: %s\n", number, e->text);
			failed++;
			rc = HK_OK;
		}
		if (rc == HK_OK)
			rc = hk_publisher_poll(p, e);
	}
	free(line);
	return rc;
}

int
main(int argc, char **argv)
{
	struct hk_client_opts how = {.ca_file = getenv("HIKYAKU_CA"),
	    .unix_socket = getenv("HIKYAKU_SOCKET")};
	struct hk_publisher_opts opts = {.done = done};
	struct hk_client *client = NULL;
	struct hk_publisher *p = NULL;
	struct hk_error e;
	FILE *in = stdin;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: publish URL [FILE]\n");
		return 2;
	}
	if (argc > 2 && !(in = fopen(argv[2], "r"))) {
		perror(argv[2]);
		return 1;
	}
	rc = hk_client_new(argv[1], getenv("HIKYAKU_KEY"), &how, &client, &e);
	if (rc == HK_OK)
		rc = hk_publisher_new(client, &opts, &p, &e);
	if (rc == HK_OK)
		rc = add_lines(p, in, &e);
	if (rc == HK_OK)
		rc = hk_publisher_flush(p, -1, &e);
	hk_publisher_free(p);
	hk_client_free(client);
	if (rc != HK_OK)
		fprintf(stderr, "publish: %s\n", e.text);
	printf("%lu published, %lu of them known before, %lu failed\n",
	    published, again, failed);
	return rc == HK_OK && failed == 0 ? 0 : 1;
}
