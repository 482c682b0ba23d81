/*
 * limits.h - the bounds of URLs and of what server and client share.
 */
#pragma once

#include "base/base.h"

#define TLS_FILE_MAX    (1 * MIB) /* certificate chain or key */
#define URL_MAX         2048      /* spec/webhooks.md */
#define URL_HOST_MAX    253       /* of DNS */
#define PEER_HOPS_MAX   16        /* proxies before us; more is a joke */
#define GUARD_RULES_MAX 256       /* hosts in a list, networks: each is tried */
