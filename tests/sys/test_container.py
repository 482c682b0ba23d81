"""16.1, 16.2: what Dockerfile and compose.yaml rest on, without Docker.

The image is Debian with the libraries the program is linked with, the program,
an unprivileged user and one folder to write to: here the same is made of mount
and process namespaces, with the program as process 1.
"""
import http.client
import os
import re
import shutil
import signal
import subprocess
import time

import hk
from hk import ROOT, Skip, check, same, until

UID = 10001


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def test_16_2_packages(t):
    """The image installs just the packages of the libraries we link with."""
    out = subprocess.run(["readelf", "-d", os.path.realpath(hk.BINARY)], capture_output=True,
                         text=True, check=True).stdout
    need = set()
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                           env={"PATH": "/sbin:/usr/sbin:" + os.environ["PATH"]}).stdout
    for lib in re.findall(r"NEEDED.*\[(.*)\]", out):
        if lib.startswith(("libc.so", "libm.so", "libasan", "libubsan", "libtsan", "libpthread")):
            continue
        where = re.search(rf"^\s*{re.escape(lib)} .*x86-64.*=> (\S+)", cache, re.M) \
            or re.search(rf"^\s*{re.escape(lib)} .*=> (\S+)", cache, re.M)
        path = os.path.realpath(where[1])
        for p in (path, path.removeprefix("/usr")):
            owner = subprocess.run(["dpkg", "-S", p], capture_output=True, text=True).stdout
            if owner:
                need.add(owner.split(":")[0])
                break
        else:
            check(False, f"a package of Debian has {path}")
    final = read("Dockerfile").split("FROM debian:12-slim", 1)[1]
    words = set(re.search(r"install -y --no-install-recommends(.*?)&&", final, re.S)[1]
                .replace("\\", " ").split())
    same(words - {"ca-certificates"}, need, "libraries of the image")


def test_16_1_settings_of_compose(t):
    """Every variable and argument that compose.yaml gives is one of ours."""
    text = read("compose.yaml")
    block = re.search(r"environment: &environment\n((?:      .*\n)+)", text)[1]
    env = dict(re.findall(r"^\s+([A-Z_]+): \"?(.*?)\"?$", block, re.M))
    check("DATABASE_URL" in env and "SEAL_KEY" in env, "the settings are there", env)
    env = {k: re.sub(r"\$\{\w+:\?\}", "x", v) for k, v in env.items()}
    env.update(BASE_URL="https://hikyaku.example.com", ADMIN_PASSWORD="correct-horse")
    commands = re.findall(r"command: \[(.*)\]", text)
    same(len(commands), 2, "commands")
    for command in commands:
        argv, rest = [], command
        while rest:
            m = re.match(r'\s*(?:"([^"]*)"|([^,]*))(?:,|$)', rest)
            argv.append(m[1] if m[1] is not None else m[2].strip())
            rest = rest[m.end():]
        argv[argv.index("/data")] = t.path("data")
        shown = hk.run([hk.BINARY, *argv, "--print-config"], env=hk.environment(env, None)).want(0).out
        for key in env:
            if key != "SEAL_KEY":
                check(key.lower().replace("_", ".") in shown, f"{key} is a setting", shown)


def test_16_2_alone_on_a_read_only_root(t):
    """As process 1, unprivileged, with nothing but /data to write to; SIGTERM ends it well."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        raise Skip("needs root for namespaces")
    data = t.path("data")
    os.makedirs(data)
    os.chown(data, UID, UID)
    for folder in (t.folder, os.path.dirname(t.folder)):
        os.chmod(folder, os.stat(folder).st_mode | 0o011)
    binary = t.path("hikyaku")
    shutil.copy(os.path.realpath(hk.BINARY), binary)
    url = hk.pg_database(hk.PG_URL) if hk.STORE == "postgres" else ""
    with open(t.path("log"), "wb") as log:
        p = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-ec",
             f"mount --bind {data} {data}; mount -o remount,ro,bind /; mount -o ro,bind /tmp /tmp; "
             f"mount --bind {data} {data}; mount -o remount,rw,bind {data}; "
             f"for f in /hk-probe {t.path('probe')}; do ! touch $f 2>/dev/null || exit 9; done; "
             f"exec setpriv --reuid={UID} --regid={UID} --clear-groups --no-new-privs "
             f"--inh-caps=-all --bounding-set=-all {binary} serve --listen 127.0.0.1:0 --data {data}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=hk.environment({}, url))
    t.later(lambda: p.poll() is None and p.kill())

    def port():
        with open(t.path("log")) as f:
            text = f.read()
        check(p.poll() is None, "it runs", text)
        m = re.search(r'"url":"http://127.0.0.1:(\d+)"', text)
        return m and int(m[1])
    c = http.client.HTTPConnection("127.0.0.1", until(port, "it listens", 30), timeout=20)
    c.request("GET", "/readyz")
    same(c.getresponse().status, 200, "/readyz")
    c.close()
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        child = f.read().split()
    same(len(child), 1, "the program is the one child")
    with open(f"/proc/{child[0]}/status") as f:
        status = f.read()
    check(re.search(rf"^Uid:\s+{UID}\s+{UID}", status, re.M), "its user", status)
    check(re.search(r"^NSpid:.*\s1$", status, re.M), "process 1 of its namespace", status)
    check(re.search(r"^CapEff:\s+0+$", status, re.M), "no capabilities", status)
    os.kill(int(child[0]), signal.SIGTERM)
    end = time.monotonic() + 20 * hk.SLOW
    while p.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    with open(t.path("log")) as f:
        check(p.returncode == 0, "SIGTERM ends process 1 with status 0", p.returncode, f.read()[-2000:])
