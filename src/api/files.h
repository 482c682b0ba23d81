/*
 * files.h - files that are part of the program: what browsers are shown.
 *
 * tools/embed.py makes the table from the folder ui/, in which a file's place is
 * its path on the server. A new file needs a route of api_files() that finds it
 * (routes.tbl) and nothing else.
 *
 * A browser keeps a file and asks each time whether it is still the same: the
 * names of files say nothing of their content, and a page of one version must
 * not run with a script of another. Pages may load from this server alone, and
 * nobody may frame them.
 */
#pragma once

#include "base/base.h"

struct file {
	const char *path, *type, *etag;
	struct str plain, zip; /* zip.n 0: it would not get smaller */
};
extern const struct file FILES[]; /* .path NULL ends */
