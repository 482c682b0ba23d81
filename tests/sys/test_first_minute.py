"""What a newcomer meets: the door, names of settings, health, the first password."""
import os
import pty
import re
import subprocess
import time

import hk
from hk import ROOT, check, run, same, until


def test_the_door(t):
    """Browsers get a page, programs JSON; each link is there."""
    c = t.srv.connect()
    for accept in (None, "*/*", "application/json"):
        a = c("GET", "/", None, {"Accept": accept} if accept else {}).want(200)
        check(a.headers["content-type"].startswith("application/json"), "JSON", a.headers)
        same(a.json["name"], "hikyaku", "who it is")
        for path in a.json["links"].values():
            check(c.get(path).status in (200, 401), path)
    a = c("GET", "/", None, {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}).want(200)
    check(a.headers["content-type"].startswith("text/html"), "a page", a.headers)
    text = a.body.decode()
    for path in re.findall(r'href="([^"]+)"', text):
        check(c.get(path).status in (200, 401), path)
    check("default-src 'none'" in a.headers["content-security-policy"], "nothing is loaded")


def test_health(t):
    srv = t.server()
    srv.cli("health").want(0, says='"ready"')
    run([hk.BINARY, "health", "--url", srv.base + "/"], env=hk.environment({}, None)).want(0, says="ready")
    srv.stop()
    srv.cli("health").want(1, says="no server answers")
    run([hk.BINARY, "health", "--url", srv.base], env=hk.environment({}, None)).want(1)
    none = t.path("none")
    run([hk.BINARY, "health", "--data", none], env=hk.environment({}, None)).want(1)
    check(not os.path.exists(none), "nothing is made")


def test_names_in_the_environment(t):
    """HIKYAKU_ but where a specification fixes the name; old ones warn; DATA moves no store."""
    def shown(**env):
        return run([hk.BINARY, "serve", "--print-config"], env=hk.environment(env, ""), cwd=t.folder).want(0).out
    check('log.level = "warn"' in shown(HIKYAKU_LOG_LEVEL="warn") or "log.level = warn" in shown(HIKYAKU_LOG_LEVEL="warn"),
          "with the prefix")
    check("warn" in re.search(r"log.level = .*", shown(**{"HIKYAKU_LOG_LEVEL": "warn", "=LOG_LEVEL": "error"}))[0], "which wins")
    check("error" in re.search(r"log.level = .*", shown(**{"=LOG_LEVEL": "error"}))[0], "without, for one version")
    check("9999" in re.search(r"server.port = .*", shown(**{"=SERVER_PORT": "9999"}))[0], "a seed's name")
    check("elsewhere" not in re.search(r"^data = .*", shown(**{"=DATA": "elsewhere"}), re.M)[0], "DATA is not ours")
    check("elsewhere" in re.search(r"^data = .*", shown(HIKYAKU_DATA="elsewhere"), re.M)[0], "this is")
    srv = t.server(**{"=LOG_LEVEL": "info", "=DATA": "elsewhere", "=SERVER_PORT": "1", "READ_THREADS": "2"})
    lines = [l for l in srv.log() if "want the prefix" in l["msg"]]
    same(len(lines), 1, "one line says it")
    check("LOG_LEVEL" in lines[0]["detail"] and "DATA (ignored)" in lines[0]["detail"]
          and "READ_THREADS" not in lines[0]["detail"] and "SERVER_PORT" not in lines[0]["detail"], "which", lines)
    run([hk.BINARY, "serve", "--print-config"], env=hk.environment({"HIKYAKU_HTTP_THREADS": "65"}, "")).want(
        1, says="HIKYAKU_HTTP_THREADS")


def test_password_after_the_address(t):
    """On a terminal: told once, below the line that says where it listens."""
    host, end = pty.openpty()
    data = t.path("fresh")
    env = hk.environment({"ADMIN_PASSWORD": None}, hk.pg_database(hk.PG_URL) if hk.STORE == "postgres" else "")
    p = subprocess.Popen([hk.BINARY, "serve", "--listen", "127.0.0.1:0", "--data", data, "--log", "text"],
                         stdout=end, stderr=end, stdin=subprocess.DEVNULL, env=env)
    t.later(lambda: p.poll() is None and p.kill())
    os.close(end)
    text = b""
    until_s = time.monotonic() + 30 * hk.SLOW
    while b"not shown again" not in text and time.monotonic() < until_s:
        text += os.read(host, 4096)
    said = text.decode()
    p.terminate()
    same(p.wait(20), 0, "it ends well")
    check(-1 < said.find("listening") < said.find("password  "), "the address first", said)
    check(not os.path.exists(os.path.join(data, "first-password")), "in no file")
    for line in said.split("First run")[0].strip().split("\r\n"):
        check(re.match(r"^\S+.*(info|warn)", line, re.I), "in the log's form", line)


def test_nothing_of_a_server_gets_into_an_image(t):
    with open(os.path.join(ROOT, ".dockerignore"), encoding="utf-8") as f:
        words = f.read().split("\n")
    for word in ("data", "**/seal.key", "**/hikyaku.db*", "**/first-password", ".env*"):
        check(word in words, word)
    with open(os.path.join(ROOT, "compose.yaml"), encoding="utf-8") as f:
        ports = re.findall(r"ports: \[(.*)\]", f.read())
    check(ports and all(p.startswith('"127.0.0.1:') for p in ports), "bound to loopback", ports)
    with open(os.path.join(ROOT, "Dockerfile"), encoding="utf-8") as f:
        check('HEALTHCHECK' in f.read(), "its health")
