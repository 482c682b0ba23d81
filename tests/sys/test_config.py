"""Settings: file, environment, --print-config; a wrong one stops the start."""
import os

import hk
from hk import check, run, same, until

START = ("serve", "--listen", "127.0.0.1:0")


def cli(t, *args, text=None, **settings):
    argv = [hk.BINARY, *args, "--data", t.path("data")]
    if text is not None:
        with open(t.path("conf"), "w", encoding="utf-8") as f:
            f.write(text)
        argv += ["--config", t.path("conf")]
    return run(argv, env=hk.environment(settings, ""))


def shown(r, key):
    line = next((l for l in r.out.split("\n") if l.lstrip("# ").startswith(key + " ")), None)
    check(line, f"--print-config shows {key}", r)
    return line.split("=", 1)[1].split("#")[0].strip().strip('"')


def test_print_config(t):
    r = cli(t, "serve", "--print-config").want(0)
    for key in ("event.schema.mode", "database.url", "http.body.max", "log.level",
                "admin.password", "event.retention.days"):
        shown(r, key)


def test_secrets_are_masked(t):
    r = run([hk.BINARY, "serve", "--print-config", "--data", t.path("data")],
            env=hk.environment({"ADMIN_PASSWORD": "plain-secret-1"},
                               "postgres://me:plain-secret-2@127.0.0.1/x"))
    check("plain-secret" not in r.out + r.err, "no secret is shown", r)


def test_environment_wins(t):
    text = "# a comment\n\nlog.level = warn\nevent.schema.mode = strict\n"
    r = cli(t, "serve", "--print-config", text=text, LOG_LEVEL="debug").want(0)
    same(shown(r, "log.level"), "debug", "the environment wins")
    same(shown(r, "event.schema.mode"), "strict", "from the file")


def test_wrong_value(t):
    for name, value, says in (("EVENT_SCHEMA_MODE", "loose", ("event.schema.mode", "strict")),
                              ("HTTP_THREADS", "65", ("http.threads", "0", "64")),
                              ("HTTP_THREADS", "two", ("http.threads",)),
                              ("HTTP_BODY_MAX", "5XB", ("http.body.max",)),
                              ("HTTP_REQUEST_TIMEOUT", "1y", ("http.request.timeout",)),
                              ("SERVER_PORT", "70000", ("server.port", "65535")),
                              ("WEBHOOK_URL_VALIDATION_ENABLED", "false",
                               ("webhook.url.validation.enabled", "can't be false")),
                              ("WEBHOOK_URL_DENY_PRIVATE_IP", "false",
                               ("webhook.url.deny.private.ip", "webhook.url.allow.private")),
                              ("WEBHOOK_ENCRYPTION_ENABLED", "false",
                               ("webhook.encryption.enabled", "in the clear")),
                              ("WEBHOOK_URL_ALLOW_PRIVATE", "10.0.0.1/8",
                               ("webhook.url.allow.private", "10.0.0.1/8")),
                              ("WEBHOOK_URL_DENYLIST", "a.example:80",
                               ("webhook.url.denylist", "a.example:80")),
                              ("DATABASE_URL", "mysql://x", ("database.url", "postgres"))):
        r = cli(t, *START, **{name: value})
        same(r.code, 1, f"exit status with {name}={value}")
        for s in says:
            check(s in r.err, f"{name}={value} names {s}", r)


def test_wrong_value_in_the_file(t):
    r = cli(t, *START, text="log.level = info\nhttp.threads = 99\n")
    same(r.code, 1, "exit status")
    for s in ("http.threads", "64", "2"):
        check(s in r.err, f"it names {s}: key, range, line", r)


def test_unknown_key(t):
    r = cli(t, *START, text="event.retenton.days = 5\n")
    same(r.code, 1, "exit status")
    check("event.retenton.days" in r.err and "event.retention.days" in r.err,
          "it names the nearest", r)


def test_bad_files(t):
    for text in ("no equals sign\n", "= 5\n", "log.level = info\nlog.level = warn\n",
                 "log.level = \"info\n", "\x00\n"):
        same(cli(t, *START, text=text).code, 1, f"exit status with {text!r}")
    r = run([hk.BINARY, *START, "--config", t.path("absent.conf")], env=hk.environment({}, ""))
    same(r.code, 1, "exit status")
    check("absent.conf" in r.err, "it names the file", r)


def test_units(t):
    r = cli(t, "serve", "--print-config", HTTP_BODY_MAX="1MiB", HTTP_IDLE_TIMEOUT="1500ms",
            HTTP_REQUEST_TIMEOUT="5").want(0)
    check(shown(r, "http.body.max") in ("1MiB", "1048576"), "a size", r)
    check(shown(r, "http.idle.timeout") in ("1500ms", "1500"), "milliseconds", r)
    check(shown(r, "http.request.timeout") in ("5s", "5"), "a bare number in seconds", r)


def lines(srv):
    with open(srv.log_path, encoding="utf-8") as f:
        return f.read().split("\n")[:-1]


def test_log_level(t):
    srv = t.server(LOG_LEVEL="debug")
    srv.client().get("/healthz").want(200)
    until(lambda: any(l.get("msg") == "request" for l in srv.log()), "debug tells requests")
    srv = t.server(LOG_LEVEL="warn", start=False)
    srv.spawn()
    until(lambda: os.path.exists(os.path.join(srv.data, "hikyaku.sock")), "it is there")
    srv.stop()
    same(lines(srv), [], "what it has to say when all is well")


def test_log_form(t):
    srv = t.server(start=False)
    srv.spawn("--log", "text")
    line = until(lambda: next((l for l in lines(srv) if " listening " in l), None), "text")
    check(" info  listening url=" in line and "{" not in line, "text for people", line)
