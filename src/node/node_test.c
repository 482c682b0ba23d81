#include "node/node.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/test.h"

static void
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

/* A folder has one name for ever; one that is no name is made anew. */
static void
test_name(void **)
{
	char folder[] = "/tmp/hk-node-XXXXXX", path[64];
	struct node first, again;
	struct uuid id;
	struct err e;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/node.id", folder);
	assert_int_equal(node_open(folder, &first, &e), OK);
	assert_true(uuid_parse(node_id(&first), &id));
	assert_true(uuid_eq(id, first.uuid));
	assert_int_equal(node_open(folder, &again, &e), OK);
	assert_string_equal(first.id, again.id);
	assert_true(uuid_eq(first.uuid, again.uuid));

	write_text(path, "half a na");
	assert_int_equal(node_open(folder, &again, &e), OK);
	assert_string_not_equal(first.id, again.id);
	assert_int_equal(node_open(folder, &first, &e), OK);
	assert_string_equal(first.id, again.id);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(node_open(folder, &again, &e), ERR_IO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
