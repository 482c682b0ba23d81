"""What docs/ says of subscriptions is so: each member is told of, each example is taken."""
import json
import os
import re

from hk import ROOT, check

SETTINGS = {"WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8"}
# Names that the table has for what is shown, or that another page tells of.
ELSEWHERE = {"ackWaitSeconds", "by", "expiresAt", "objectId", "objectPath", "webhookId"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def test_every_member_is_told_of(t):
    page, n = read("docs", "subscriptions.md") + read("docs", "hub.md"), 0
    for name in ("sub.c", "sub_parts.c", "sub_hub.c"):
        source = read("src", "contract", name)
        for member in re.findall(r'(?:\{|OWN\(|\.name = )"(\w+)"(?:, (?:MEMBER_|\w+_read|NULL, \w+_write)|, \.kind)', source):
            n += 1
            check(member in ELSEWHERE or f"`{member}`" in page or f'"{member}"' in page, f"{name}: {member} is told of")
    check(n > 45, "the tables were read", n)


def test_examples_are_taken(t):
    c, n = t.srv.client(), 0
    for name in ("subscriptions.md", "hub.md"):
        for text in re.findall(r"```json\n(.*?)```", read("docs", name), re.S):
            a = c.post("/v1/subscriptions", json.loads(text))
            check(a.status == 201, f"{name}: an example", text, a)
            n += 1
    check(n >= 6, "there are some", n)


def test_links_lead_somewhere(t):
    for folder in ("", "docs"):
        for name in os.listdir(os.path.join(ROOT, folder)):
            if not name.endswith(".md"):
                continue
            for link in re.findall(r"\]\(([^)#:]+)\)", read(folder, name)):
                check(os.path.exists(os.path.join(ROOT, folder, link)), f"{name}: {link}")
