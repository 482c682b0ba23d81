"""catalog - one valid payload for each of the twenty types of seed 003."""
from hk import new_id, now

U, T, D = new_id, now, lambda: "2026-02-28"


def target():
    return {"objectName": "Quote", "recordId": U()}


def payloads():
    """eventType -> (payload, a required field of it)."""
    rec = lambda: {"objectName": "Opportunity", "recordId": U()}  # noqa: E731
    return {
        "RecordCreated": ({**rec(), "ownerId": U(), "fields": {"Name": "Deal A"},
                           "changedFields": ["Name"], "recordVersion": T()}, "ownerId"),
        "RecordUpdated": ({**rec(), "ownerId": U(), "changedFields": ["StageName"],
                           "fieldChanges": {"StageName": {"old": "A", "new": "B"}},
                           "recordVersion": T()}, "changedFields"),
        "RecordDeleted": ({**rec(), "deleted": True, "recordVersion": T()}, "deleted"),
        "OwnerChanged": ({**rec(), "oldOwnerId": U(), "newOwnerId": U(),
                          "recordVersion": T()}, "newOwnerId"),
        "StageChanged": ({"opportunityId": U(), "accountId": U(), "oldStageName": "A",
                          "newStageName": "B", "oldIsClosed": False, "newIsClosed": True,
                          "oldIsWon": False, "newIsWon": True, "closeDate": D(),
                          "recordVersion": T()}, "closeDate"),
        "LeadConverted": ({"leadId": U(), "convertedAt": T(), "convertedBy": U(),
                           "accountId": U(), "contactId": U(), "opportunityId": U(),
                           "recordVersion": T()}, "leadId"),
        "ApprovalSubmitted": ({"approvalInstanceId": U(), "target": target(),
                               "submittedBy": U(), "submittedAt": T(),
                               "lockedFields": ["GrandTotal"], "currentStageIndex": 0},
                              "target"),
        "ApprovalDecided": ({"approvalInstanceId": U(), "target": target(),
                             "decision": "APPROVED", "decidedBy": U(), "decidedAt": T(),
                             "comment": "OK", "finalStageIndex": 1}, "decision"),
        "MetadataChanged": ({"changeType": "FieldAdded", "objectName": "Opportunity",
                             "resourceId": "fieldId", "effectiveAt": T()}, "resourceId"),
        "PermissionChanged": ({"changeType": "PermissionSetUpdated",
                               "subject": {"type": "User", "id": U()},
                               "effectiveAt": T()}, "subject"),
        "SharingUpdated": ({**rec(), "shareModelVersion": 12, "updatedAt": T()},
                           "shareModelVersion"),
        "RoleHierarchyChanged": ({"changeType": "RoleCreated", "roleId": U(),
                                  "roleName": "Sales Manager", "parentRoleId": U(),
                                  "effectiveAt": T()}, "roleId"),
        "GroupMemberChanged": ({"changeType": "MemberAdded", "groupId": U(),
                                "groupName": "Sales Team", "groupType": "public",
                                "memberType": "User", "memberId": U(), "effectiveAt": T()},
                               "memberId"),
        "TeamMemberChanged": ({"changeType": "MemberAdded", **rec(), "userId": U(),
                               "teamRole": "Sales Rep", "accessLevel": "Read",
                               "effectiveAt": T()}, "userId"),
        "TerritoryAssignmentChanged": ({"changeType": "UserAssigned", "territoryId": U(),
                                        "territoryName": "Japan - West",
                                        "assignmentType": "User", "assignedId": U(),
                                        "effectiveAt": T()}, "territoryId"),
        "SharingConfigChanged": ({"changeType": "OWDChanged", "objectName": "Opportunity",
                                  "oldOWD": "Private", "newOWD": "ReadOnly",
                                  "effectiveAt": T()}, "objectName"),
        "AutomationConfigChanged": ({"changeType": "ValidationRuleUpdated",
                                     "objectName": "Opportunity",
                                     "automationType": "ValidationRule",
                                     "automationId": U(), "automationName": "VR-OPP-01",
                                     "isActive": True, "effectiveAt": T()}, "isActive"),
        "ApprovalConfigChanged": ({"changeType": "ProcessUpdated", "objectName": "Quote",
                                   "processId": U(), "processName": "Discount",
                                   "isActive": True, "effectiveAt": T()}, "processName"),
        "SharingRebuildCompleted": ({"rebuildJobId": U(), "objectName": "Account",
                                     "scope": "full", "oldVersion": 11, "newVersion": 12,
                                     "recordsProcessed": 50000, "completedAt": T()}, "scope"),
        "CampaignMemberChanged": ({"changeType": "MemberAdded", "campaignId": U(),
                                   "campaignName": "Spring", "memberType": "Lead",
                                   "memberId": U(), "memberStatus": "Registered",
                                   "hasResponded": False, "recordVersion": T()},
                                  "hasResponded"),
    }


# What may be absent, and words of which only some are known.
OPTIONAL = {"RecordUpdated": ["fieldChanges"], "LeadConverted": ["opportunityId"],
            "ApprovalDecided": ["comment"], "RoleHierarchyChanged": ["parentRoleId"],
            "TerritoryAssignmentChanged": ["assignmentType", "assignedId"],
            "SharingConfigChanged": ["oldOWD", "newOWD"]}
WORDS = {"RoleHierarchyChanged": "changeType", "GroupMemberChanged": "changeType",
         "TeamMemberChanged": "changeType", "TerritoryAssignmentChanged": "changeType",
         "SharingConfigChanged": "changeType", "AutomationConfigChanged": "changeType",
         "ApprovalConfigChanged": "changeType", "SharingRebuildCompleted": "scope",
         "CampaignMemberChanged": "changeType"}
DOMAIN = {"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged",
          "LeadConverted", "CampaignMemberChanged"}
