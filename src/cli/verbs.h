/*
 * verbs.h - the verbs, one file each (event, key, user and seal: one per group).
 *
 * All but serve, listen, verify, outbox and feed talk to the running server over the unix socket in the data
 * folder, and open the store themselves when none runs and its lock is free;
 * demo needs one that runs.
 * Their names, options and help stand in verbs.c.
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/cli.h"

extern const struct verbs VERBS;

int verb_serve(struct cli *c, struct err *e);
int verb_migrate(struct cli *c, struct err *e);
int verb_event_publish(struct cli *c, struct err *e);
int verb_event_tail(struct cli *c, struct err *e);
int verb_key_create(struct cli *c, struct err *e);
int verb_key_list(struct cli *c, struct err *e);
int verb_key_revoke(struct cli *c, struct err *e);
int verb_doctor(struct cli *c, struct err *e);
int verb_user_add(struct cli *c, struct err *e);
int verb_user_passwd(struct cli *c, struct err *e);
int verb_user_list(struct cli *c, struct err *e);
int verb_user_remove(struct cli *c, struct err *e);
int verb_seal_status(struct cli *c, struct err *e);
int verb_seal_rotate(struct cli *c, struct err *e);
int verb_audit_verify(struct cli *c, struct err *e);
int verb_replay(struct cli *c, struct err *e);
int verb_consumer_list(struct cli *c, struct err *e);
int verb_consumer_show(struct cli *c, struct err *e);
int verb_consumer_put(struct cli *c, struct err *e);
int verb_consumer_next(struct cli *c, struct err *e);
int verb_consumer_ack(struct cli *c, struct err *e);
int verb_consumer_nack(struct cli *c, struct err *e);
int verb_consumer_delete(struct cli *c, struct err *e);
int verb_dead_list(struct cli *c, struct err *e);
int verb_dead_requeue(struct cli *c, struct err *e);
int verb_dead_skip(struct cli *c, struct err *e);
int verb_source_list(struct cli *c, struct err *e);
int verb_source_put(struct cli *c, struct err *e);
int verb_source_remove(struct cli *c, struct err *e);
int verb_listen(struct cli *c, struct err *e);
int verb_verify(struct cli *c, struct err *e);
int verb_outbox_check(struct cli *c, struct err *e);
int verb_outbox_schema(struct cli *c, struct err *e);
int verb_feed_parse(struct cli *c, struct err *e);
int verb_feed_sanitize(struct cli *c, struct err *e);
int verb_feed_discover(struct cli *c, struct err *e);
int verb_opml_import(struct cli *c, struct err *e);
int verb_opml_export(struct cli *c, struct err *e);
int verb_demo(struct cli *c, struct err *e);

#endif
