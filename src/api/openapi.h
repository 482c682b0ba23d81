/*
 * openapi.h - the route table as an OpenAPI 3.1 document.
 *
 * The table is what the server obeys, so what is made from it can't be wrong
 * about paths, methods, scopes and media types.
 */
#pragma once

#include "http/server/req.h"

/* Routes of one path need not stand together. */
void openapi_write(const struct route *routes, size_t n, struct buf *out);
