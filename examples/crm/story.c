#include "story.h"

#include <stdio.h>
#include <stdlib.h>

/* Who works there. */
static const char *const PEOPLE[] = {
    "5a1e5000-0000-4000-8000-000000000001",
    "5a1e5000-0000-4000-8000-000000000002",
    "5a1e5000-0000-4000-8000-000000000003",
};

static const char *const LIVES[] = {
    "Opportunity", "Account", "Lead", "Quote", "Contact"};
#define N_LIVES ((int64_t)(sizeof(LIVES) / sizeof(LIVES[0])))

int
story_open(struct story *s, const char *dir, struct hk_error *e)
{
	int rc = HK_OK;

	*s = (struct story){.db = {NULL}};
	for (enum service_id i = 0; rc == HK_OK && i < SERVICES; i++)
		if (SERVICE[i].producer)
			rc = service_open(dir, i, &s->db[i], e);
	return rc;
}

void
story_close(struct story *s)
{
	for (enum service_id i = 0; i < SERVICES; i++)
		(void)sqlite3_close(s->db[i]);
	*s = (struct story){.db = {NULL}};
}

int
story_settings(struct story *s, struct hk_error *e)
{
	int rc = db_call(
	    s->db[METADATA], CRM_STORY, "settings of Metadata", NO_ARGS, e);

	return rc < 0 ? rc
		      : db_call(s->db[SHARING], CRM_STORY,
			    "settings of Sharing", NO_ARGS, e);
}

int
story_step(struct story *s, int64_t n, struct hk_error *e)
{
	const char *object = LIVES[n % N_LIVES];
	int64_t nth = n / N_LIVES;
	char *id = NULL;
	int rc = db_text(s->db[CORE], CRM_STORY, "an id", NO_ARGS, &id, e);

	if (rc == HK_OK)
		rc = db_call(s->db[CORE], CRM_STORY, object,
		    ARGS(ARG_TEXT("id", id), ARG_NUMBER("n", nth),
			ARG_TEXT("owner", PEOPLE[nth % 3]),
			ARG_TEXT("next", PEOPLE[(nth + 1) % 3]),
			ARG_TEXT("third", PEOPLE[(nth + 2) % 3])),
		    e);
	free(id);
	if (rc == HK_OK && n % 7 == 6)
		rc = db_call(s->db[CORE], CRM_STORY, "delete one",
		    ARGS(ARG_TEXT("object", object), ARG_NUMBER("n", n)), e);
	return rc;
}

int
story_late(struct story *s, struct hk_error *e)
{
	return db_call(s->db[CORE], CRM_STORY, "old news", NO_ARGS, e);
}

int
story_decide(struct story *s, int64_t *ret_n, struct hk_error *e)
{
	return db_number(
	    s->db[APPROVAL], CRM_APPROVAL, "decide", NO_ARGS, ret_n, e);
}

int
story_outboxes(
    struct story *s, int64_t *ret_all, int64_t *ret_waiting, struct hk_error *e)
{
	int64_t all = 0, waiting = 0, n = 0;
	int rc = HK_OK;

	for (enum service_id i = 0; rc == HK_OK && i < SERVICES; i++) {
		if (!s->db[i])
			continue;
		rc = db_number(s->db[i], CRM_COMMON, "told", NO_ARGS, &n, e);
		all += n;
		if (rc == HK_OK)
			rc = db_number(
			    s->db[i], CRM_COMMON, "waiting", NO_ARGS, &n, e);
		waiting += n;
	}
	if (rc == HK_OK) {
		*ret_all = all;
		*ret_waiting = waiting;
	}
	return rc;
}
