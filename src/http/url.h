/*
 * url.h - an http or https URL, read strictly and written one way.
 *
 * WHY OUR OWN. Two readers that differ about where the host ends are the way
 * past every check. So a URL is read once, here; what is unclear is refused
 * with the reason; and what is connected to is written anew from what was
 * read (url_format), so that nobody behind us meets an odd spelling.
 *
 * Host names are ASCII and in lower case; %41 and the full-width forms of
 * letters, digits and dots are read as what they stand for, a trailing dot is
 * dropped. A host that ends in a number is an IPv4 address in any spelling
 * that inet_aton() knows (0x7f.1, 2130706433, 0177.0.0.01) or it is refused.
 * User-info is refused: it is for people's eyes to be deceived by, and a
 * password in a URL ends up in logs. A fragment is dropped.
 *
 * LIFE. A value. path and query are borrowed from the text.
 *
 * INVARIANTS
 *   1. What url_format() wrote is parsed to an equal value.
 *   2. host is a name of letters, digits, '-', '_' and '.', or the canonical
 *      text of `addr`.
 */
#pragma once

#include <netinet/in.h>

#include "http/limits.h"

struct log_line;

/* An address and port, of either family. */
union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Room for the canonical text of an address, with its NUL. */
#define ADDR_TEXT_MAX INET6_ADDRSTRLEN
/* Room for what url_format() and url_endpoint() write, with the NUL: bytes
 * past ASCII become three. */
#define URL_TEXT_MAX  (3 * URL_MAX + 32)

struct url {
	bool https;
	bool literal;  /* the host is an address, which is in addr */
	uint16_t port; /* the scheme's own when none was written */
	uint16_t n_host;
	struct str path;  /* begins with '/' */
	struct str query; /* begins with '?', or empty */
	union addr addr;  /* with the port, when literal */
	char host[URL_HOST_MAX + 1];
};

/* ERR_INVALID naming what is wrong; ERR_LIMIT past URL_MAX. */
int url_parse(struct str text, struct url *ret, struct err *e) MUST_CHECK;

/* "https://host:443/path?query"; returns its length. */
size_t url_format(const struct url *u, char ret[URL_TEXT_MAX]);
/* As browsers write it: no path, no port that goes without saying. */
size_t url_origin(const struct url *u, char ret[URL_TEXT_MAX]);
/* The whole as people write it: no port where it is the scheme's own. */
size_t url_show(const struct url *u, char ret[URL_TEXT_MAX]);
/*
 * What is one endpoint, for grouping: "https://host:443/path". Two spellings
 * of a URL give the same; the query does not count.
 */
size_t url_endpoint(const struct url *u, char ret[URL_TEXT_MAX]);

/*
 * A host alone, as in a list of hosts; brackets around an IPv6 address may be
 * missing. ret->host, n_host, literal and addr are set.
 */
int url_host(struct str text, struct url *ret, struct err *e) MUST_CHECK;

/*
 * As it may be logged, kept and shown: user part, query and fragment, which may
 * hold anything, are URL_MASK. What is no URL is masked the same way. It is cut
 * at `cap`, and is `url` itself when there is nothing to hide.
 */
#define URL_MASK "********"
struct str url_masked(struct str url, char *to, size_t cap);
/* The same as a field of a line. */
void url_log(struct log_line *l, const char *key, struct str url);

/* The address without its port, e.g. "192.0.2.1" or "2001:db8::1". */
void addr_format(const struct sockaddr *sa, char ret[ADDR_TEXT_MAX]);
