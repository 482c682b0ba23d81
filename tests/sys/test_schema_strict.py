"""event.schema.mode = strict: 422 for what its schema refuses."""
import catalog
from hk import TENANT, check, envelope, now, same, until

SETTINGS = {"EVENT_SCHEMA_MODE": "strict"}


def event(kind, payload, **more):
    """Its sequence is left to the server."""
    return envelope(kind, payload=payload, **{"sequence": ..., **more})


def test_all_twenty_pass(t):
    c, table = t.srv.client(), catalog.payloads()
    same(len(table), 20, "types")
    for kind, (payload, _) in table.items():
        c.publish(event(kind, payload)).want(202)
        c.publish(event(kind, {**payload, "extraField": {"a": 1}})).want(202)


def test_missing_field(t):
    c = t.srv.client()
    for kind, (payload, field) in catalog.payloads().items():
        less = {k: v for k, v in payload.items() if k != field}
        c.publish(event(kind, less)).want(
            422, pointer=f"/payload/{field}", says=field)


def test_every_required_field(t):
    c, n = t.srv.client(), 0
    for kind, (payload, _) in catalog.payloads().items():
        for field in payload:
            less = {k: v for k, v in payload.items() if k != field}
            want = 202 if field in catalog.OPTIONAL.get(kind, ()) else 422
            c.publish(event(kind, less)).want(want)
            n += 1
    check(n > 100, "fields tried", n)


def test_wrong_kind_of_value(t):
    c = t.srv.client()
    for kind, (payload, _) in catalog.payloads().items():
        for field, value in payload.items():
            wrong = "no object" if isinstance(value, dict) else {"an": "object"}
            c.publish(event(kind, {**payload, field: wrong})).want(
                422, pointer=f"/payload/{field}")


def test_inner_fields(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field, inner in (("ApprovalSubmitted", "target", "recordId"),
                               ("ApprovalDecided", "target", "objectName"),
                               ("PermissionChanged", "subject", "id")):
        payload = table[kind][0]
        less = {k: v for k, v in payload[field].items() if k != inner}
        c.publish(event(kind, {**payload, field: less})).want(
            422, pointer=f"/payload/{field}/{inner}")
    bad = {**table["RecordUpdated"][0], "changedFields": ["ok", 5]}
    c.publish(event("RecordUpdated", bad)).want(
        422, pointer="/payload/changedFields/1")


def test_formats(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field, value in (
            ("RecordUpdated", "recordId", "x"), ("RecordUpdated", "recordVersion", "today"),
            ("StageChanged", "closeDate", "2026-02-30"), ("StageChanged", "newIsWon", "yes"),
            ("SharingUpdated", "shareModelVersion", 1.5), ("RecordDeleted", "deleted", False)):
        c.publish(event(kind, {**table[kind][0], field: value})).want(
            422, pointer=f"/payload/{field}")


def test_words(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field in catalog.WORDS.items():
        c.publish(event(kind, {**table[kind][0], field: "Nonsense"})).want(
            422, pointer=f"/payload/{field}")


def test_unknown_type_and_version(t):
    c = t.srv.client()
    c.publish(envelope("NoSuchType")).want(422, pointer="/eventType")
    c.publish(envelope(schemaVersion=2)).want(422, pointer="/schemaVersion")


def test_in_a_batch(t):
    results = t.srv.client().publish([envelope(), envelope("NoSuchType"), envelope()])\
        .want(200).json["results"]
    same([r["status"] for r in results], [202, 422, 202], "statuses")


def keys(p):
    """What the catalog's key is for a payload, said here once more."""
    at = lambda a, b: f"{a}:{TENANT}:{b}"  # noqa: E731
    config = lambda kind, x: at(p[kind]["objectName"] + "#config", x)  # noqa: E731
    record = lambda kind: at(p[kind]["objectName"], p[kind]["recordId"])  # noqa: E731
    target = lambda kind: at(p[kind]["target"]["objectName"], p[kind]["target"]["recordId"])  # noqa: E731
    return {
        **{k: record(k) for k in ("RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged",
                                  "SharingUpdated", "TeamMemberChanged")},
        **{k: target(k) for k in ("ApprovalSubmitted", "ApprovalDecided")},
        "StageChanged": at("Opportunity", p["StageChanged"]["opportunityId"]),
        "LeadConverted": at("Lead", p["LeadConverted"]["leadId"]),
        "RoleHierarchyChanged": at("Role", p["RoleHierarchyChanged"]["roleId"]),
        "GroupMemberChanged": at("Group", p["GroupMemberChanged"]["groupId"]),
        "TerritoryAssignmentChanged": at("Territory", p["TerritoryAssignmentChanged"]["territoryId"]),
        "PermissionChanged": at("Permission", p["PermissionChanged"]["subject"]["id"]),
        "CampaignMemberChanged": at("Campaign", p["CampaignMemberChanged"]["campaignId"] + "/"
                                    + p["CampaignMemberChanged"]["memberId"]),
        "MetadataChanged": config("MetadataChanged", p["MetadataChanged"]["resourceId"]),
        "SharingConfigChanged": config("SharingConfigChanged", "sharing"),
        "SharingRebuildCompleted": config("SharingRebuildCompleted", "sharing"),
        "AutomationConfigChanged": config("AutomationConfigChanged", p["AutomationConfigChanged"]["automationId"]),
        "ApprovalConfigChanged": config("ApprovalConfigChanged", p["ApprovalConfigChanged"]["processId"]),
    }


def test_key_and_version(t):
    """Filled in when absent, 422 when they are not the payload's: for all twenty, in strict mode."""
    c = t.srv.client()
    payloads = {k: v[0] for k, v in catalog.payloads().items()}
    want = keys(payloads)
    same(len(want), 20, "types")
    for kind, payload in payloads.items():
        version = payload.get("recordVersion")
        ev = event(kind, payload)
        c.publish(ev).want(202)
        got = c.get("/v1/events/" + ev["eventId"]).want(200).json["sequence"]
        same((got["partitionKey"], got.get("recordVersion")), (want[kind], version), f"{kind}: filled in")
        whole = {"partitionKey": want[kind], "recordVersion": version}
        c.publish(event(kind, payload, sequence=whole)).want(202)
        c.publish(event(kind, payload, sequence={**whole, "partitionKey": want[kind].replace(TENANT, TENANT.upper())})
                  ).want(202)
        c.publish(event(kind, payload, sequence={**whole, "partitionKey": "mine"})).want(
            422, pointer="/sequence/partitionKey", says=want[kind])
        other = event(kind, payload, sequence={**whole, "recordVersion": now()})
        if version:
            c.publish(other).want(422, pointer="/sequence/recordVersion", says="recordVersion")
            c.publish(event(kind, payload, sequence={**whole, "recordVersion": None})).want(202)
        else:
            c.publish(other).want(202)  # the payload says nothing of it
        same(c.get("/v1/event-types/" + kind).want(200).json["partitionKey"].count("{tenantId}"), 1, "in the catalog")


def test_open_mode_fills_in_and_warns(t):
    srv = t.server(EVENT_SCHEMA_MODE="open")
    c = srv.client()
    payload = catalog.payloads()["StageChanged"][0]
    for sequence in (..., {}, {"recordVersion": None}):
        ev = event("StageChanged", payload, sequence=sequence)
        c.publish(ev).want(202)
        same(c.get("/v1/events/" + ev["eventId"]).want(200).json["sequence"],
             {"partitionKey": f"Opportunity:{TENANT}:{payload['opportunityId']}",
              "recordVersion": payload["recordVersion"]}, "filled in")
    ev = event("StageChanged", payload, sequence={"partitionKey": "mine"})
    c.publish(ev).want(202)
    until(lambda: [l for l in srv.log() if l.get("level") == "warn" and "/sequence/partitionKey" in str(l)],
          "it says what strict mode would")
    same(c.get("/v1/events/" + ev["eventId"]).json["sequence"],
         {"recordVersion": payload["recordVersion"], "partitionKey": "mine"}, "as it was given")
    # Of what nothing is known there is nothing to make it of: no order.
    for sequence in (..., {}):
        ev = event("order.paid", payload, sequence=sequence)
        c.publish(ev).want(202)
        same(c.get("/v1/events/" + ev["eventId"]).json["sequence"].get("partitionKey", ""), "", "no order")
    less = {k: v for k, v in payload.items() if k != "opportunityId"}
    told = c.publish(event("StageChanged", less)).want(202).json["warnings"]
    same([w["pointer"] for w in told], ["/payload/opportunityId"], "what it lacks")
    long = {**catalog.payloads()["MetadataChanged"][0], "resourceId": "x" * 600}
    c.publish(event("MetadataChanged", long)).want(422, pointer="/sequence/partitionKey")
