/*
 * sources.h - incoming webhooks over HTTP: what they are, and taking them.
 *
 * A HOOK goes three ways. Verifying, and jq, which blocks, are done by the one
 * hooks thread; the commit thread makes it durable; only then the provider is
 * answered:
 *
 *   http ──▶ hooks: find, verify, template ──wake──▶ http ──▶ commit ──wake──▶ http
 *
 * ANSWERS of /in. 202 for all that is the provider's: the event, or that it
 * was a repeat, that nothing is made of it, or that it is no event, which is a
 * dead letter (source/refused.h): a provider that gets anything else comes
 * again with the same. 401 without a reason for what is not, 404 for a name
 * that is none or is disabled, 429 past its rate, 503 when it should come
 * again.
 *
 * WHO MAY. Sources are for all tenants: a key that is limited to some has no
 * say in them.
 */
#pragma once

#include "api/handlers.h"

/* The hooks thread's context; enter() takes the struct api. */
void *api_hooks_enter(void *api);
void api_hooks_leave(void *ctx);
