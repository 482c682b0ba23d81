#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "node/limits.h"
#include "sql.h"

struct str
node_id(const struct node *n)
{
	return (struct str){n->id, UUID_LEN};
}

int
node_open(const char *folder, struct node *ret, struct err *e)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/node.id", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	*ret = (struct node){.host = ""};
	n = read(fd, ret->id, UUID_LEN);
	if (n != UUID_LEN || !uuid_parse(node_id(ret), &ret->uuid)) {
		ret->uuid = uuid_v4();
		uuid_format(ret->uuid, ret->id);
		n = pwrite(fd, ret->id, UUID_LEN, 0);
	}
	(void)close(fd);
	if (gethostname(ret->host, sizeof(ret->host) - 1) < 0)
		ret->host[0] = '\0';
	return n == UUID_LEN ? OK
			     : err_set(e, ERR_IO, "%s can't be written", path);
}

int
node_start(struct db *db, const struct node *n, int64_t now, struct err *e)
{
	TRY((int)sql_node_start(db, e, .id = node_id(n),
	    .name = str_of(n->host), .now = now, .lease_us = LEASE_US));
	TRY((int)sql_node_sweep(db, e, .before = now - 60 * LEASE_US));
	return OK;
}

int
node_renew(struct db *db, const struct node *n, int64_t now, struct err *e)
{
	TRY((int)sql_node_renew(
	    db, e, .id = node_id(n), .now = now, .lease_us = LEASE_US));
	return OK;
}

int
node_end(struct db *db, const struct node *n, struct err *e)
{
	TRY((int)sql_node_end(db, e, .id = node_id(n)));
	return OK;
}

int
node_fence(struct db *db, const struct node *n, int64_t epoch, struct err *e)
{
	struct sql_grp_fence_row row;
	int rc = TRY(
	    sql_grp_fence_one(db, &row, e, .node = node_id(n), .epoch = epoch));

	return rc > 0 ? OK
		      : err_set(e, ERR_DENIED,
			    "another node has taken over the deliveries");
}
