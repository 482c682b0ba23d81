"""15.1, 15.2: the server's log is JSON lines; in log.folder a file a day, kept for 14 days."""
import datetime
import json
import os
import re
import signal

import hk
from hk import check, same, until


def day(ago=0):
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=ago)
    return f"hikyaku-{at:%Y-%m-%d}.log"


def test_15_2_kept_for_fourteen_days(t):
    folder = t.path("logs")
    os.makedirs(folder)
    for ago in (1, 13, 15, 16, 400):
        with open(os.path.join(folder, day(ago)), "w") as f:
            f.write("{}\n")
    s = t.server(start=False, LOG_FOLDER=folder)
    s.spawn()
    try:
        def told():
            with open(s.log_path) as f:
                return re.search(r"listening on (\S+); the log is in (\S+)", f.read())
        m = until(told, "it says where it listens and logs", 30)
        same(m[2], folder, "the folder it names")
        names = sorted(os.listdir(folder))
        check(day() in names, "today's file is there", names)
        for ago, stays in ((1, True), (13, True), (15, False), (16, False), (400, False)):
            same(day(ago) in names, stays, f"the file of {ago} days ago stays")
    finally:
        s.proc.send_signal(signal.SIGTERM)
        same(s.ended(), 0, "status")
        s.proc = None
    with open(os.path.join(folder, day())) as f:
        lines = [json.loads(l) for l in f]
    for want in ("listening", "stopped"):
        check(any(l["msg"] == want for l in lines), f"the line {want!r}", lines)
    for l in lines:
        check({"time", "level", "msg"} <= set(l), "15.1: each line is JSON with time, level, msg", l)
    with open(s.log_path) as f:
        check('"msg"' not in f.read(), "nothing of the log on the standard error")


def test_15_2_no_folder(t):
    for folder in ("/proc/nothing/here", t.path("file")):
        if folder.startswith(t.path("")):
            open(folder, "w").close()
        r = hk.run([hk.BINARY, "serve", "--listen", "127.0.0.1:0", "--data", t.path("data")],
                   env=hk.environment({"LOG_FOLDER": folder}, ""))
        same(r.code, 1, "status")
        check(folder in r.err and "log.folder" in r.err, "it names the setting and the folder", r.err)
