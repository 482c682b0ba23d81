"""What the server keeps is for its owner alone: files, folder, memory."""
import os
import pwd
import shutil
import stat
import subprocess

import hk
from hk import Skip, check, envelope, same, until


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def everything(folder):
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            yield os.path.join(where, name)


def test_files_are_ours(t):
    """Whatever umask it is started with, nobody else may read a file that it makes."""
    before = os.umask(0)
    try:
        srv = t.server(ADMIN_PASSWORD=None, LOG_FOLDER="data/log", start=False)
        os.mkdir(srv.data, 0o700)
        srv.spawn()
        until(lambda: os.path.exists(srv.data + "/hikyaku.sock"), "it listens", 20)
    finally:
        os.umask(before)
    with open(srv.data + "/first-password") as f:
        c = srv.cli("event", "publish", "--type", "a", stdin=b"{}")
        check(f.read(), "a password", c)
    found = list(everything(srv.data))
    check(len(found) >= 5, "files", found)
    for path in found:
        check(mode(path) & 0o077 == 0, f"{path} has mode {mode(path):03o}")
    srv.proc.terminate()
    same(srv.ended(), 0, "status")
    srv.proc = None


def test_old_files_are_tightened(t):
    """What an earlier version made for all to read is made ours, and told."""
    if hk.STORE != "sqlite":
        raise Skip("SQLite's files")
    srv = t.server()
    srv.client().publish(envelope()).want(202)
    srv.stop()
    os.chmod(srv.data + "/hikyaku.db", 0o644)
    os.chmod(srv.data + "/node.id", 0o664)
    with open(srv.data + "/mine.txt", "w") as f:
        f.write("of somebody else")
    os.chmod(srv.data + "/mine.txt", 0o644)
    srv.start()
    same(mode(srv.data + "/hikyaku.db"), 0o600, "mode of the database")
    same(mode(srv.data + "/node.id"), 0o600, "mode of the node's name")
    same(mode(srv.data + "/mine.txt"), 0o644, "mode of what is not ours")
    told = sorted(l["file"] for l in srv.log() if "data file" in l.get("msg", ""))
    same(told, ["hikyaku.db", "node.id"], "files that were told")
    same(len(srv.client().events()), 1, "events")


def test_folder_that_others_may_write(t):
    srv = t.server()
    srv.stop()
    for bits in (0o777, 0o720, 0o702, 0o1777):
        os.chmod(srv.data, bits)
        srv.spawn()
        check(srv.ended() != 0, f"it starts with a folder of mode {bits:o}")
        check("chmod 700" in srv.tail(), "it says what to do", srv.tail())
        srv.proc = None
        r = srv.cli("user", "list")
        check(r.code != 0 and "chmod 700" in r.err, "so does a verb", r)
    os.chmod(srv.data, 0o700)
    srv.start()
    same([l for l in srv.log() if l.get("level") == "warn"], [], "warnings")


def test_folder_that_others_may_read(t):
    srv = t.server()
    srv.stop()
    os.chmod(srv.data, 0o755)
    srv.start()
    told = [l for l in srv.log() if "look into the data folder" in l.get("msg", "")]
    check(len(told) == 1 and "755" in told[0]["detail"] and "chmod 700" in told[0]["detail"],
          "one warning", told)
    same(mode(srv.data), 0o755, "it is left to its owner")


def dumpable(pid):
    """Whether it is: then /proc/PID/environ is of the process's user, else of root."""
    return os.stat(f"/proc/{pid}/environ").st_uid


def children(pid):
    out = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        out.append(int(name))
            except (OSError, ValueError):
                pass
    return out


def test_memory_is_ours(t):
    """As somebody who is not root: no core dump, nobody of the same user looks in, and all that
    needs /proc/self or a child of the same program works."""
    if os.geteuid() != 0:
        raise Skip("only root can become somebody else")
    nobody = pwd.getpwnam("nobody")
    folder = t.path("theirs")
    os.mkdir(folder, 0o700)
    os.chmod(t.folder, 0o755)
    binary = os.path.join(folder, "hikyaku")
    shutil.copy(os.path.realpath(hk.BINARY), binary)
    for path in (folder, binary):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    srv = t.server(start=False, folder=t.path("seen"))
    srv.data = os.path.join(folder, "data")
    srv.starts += 1
    with open(srv.log_path, "wb") as log:
        srv.proc = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--data", srv.data], stderr=log,
            stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=folder,
            user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
            env=hk.environment({}, srv.url))
    srv.listens()
    same(dumpable(srv.proc.pid), 0, "owner of /proc/PID/environ")
    c = srv.client()
    text = c.get("/metrics").want(200).body.decode()
    fds = int(text.split("\nprocess_open_fds ")[1].split()[0])
    check(fds > 5, "it still counts its own files", fds)
    # a filter that plain C can't run starts the child, from /proc/self/exe
    c.post("/v1/subscriptions", {"name": "s", "url": "https://receiver.example/",
                                 "filter": '.payload.a | test("^x") | not'}).want(201)
    kids = children(srv.proc.pid)
    check(kids, "there is a child")
    for pid in kids:
        same(dumpable(pid), 0, "owner of the child's /proc/PID/environ")
    r = subprocess.run(["cat", f"/proc/{srv.proc.pid}/environ"], capture_output=True,
                       user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], timeout=20)
    check(r.returncode != 0 and not r.stdout, "its own user reads its memory's beginning", r)
