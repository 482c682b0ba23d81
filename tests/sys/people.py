"""people - browsers, and providers that say who somebody is.

  b = Browser(srv); b.login(); b.get("/auth/me")      a local account
  p = Provider(t); srv = t.server(**p.settings())     npm oidc-provider
  b.travel("/auth/google/login", p.sign_in("anna"))   all the way and back
  f = Fake(t); f.claims["aud"] = "them"               one that lies
"""
import base64
import hashlib
import hmac
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import hk
from hk import Skip, check, until

NPM = os.path.join(hk.ROOT, "tests", "npm")
SITE = "https://reader.example.com"
BACK = SITE + "/auth/google/callback"
SECRET = "a secret: with % & odd+letters"


def origin(srv):
    return f"http://127.0.0.1:{srv.port}"


def person(a, status, code=None, category=None):
    """Checks the shape of an error as people's routes have it."""
    check(a.status == status, f"want status {status}", a)
    j = a.json
    more = {"fields"} | ({"feed_id"} if j.get("code") == "ALREADY_SUBSCRIBED" else set())
    check(set(j) - more == {"code", "message", "category", "action"}, "not the shape", a)
    check(j["category"] in ("auth", "validation", "feed", "system"), "odd category", a)
    check(code is None or j["code"] == code, f"want code {code}", a)
    check(category is None or j["category"] == category, f"want category {category}", a)
    return a


class Browser:
    """Keeps cookies, sends Origin with what changes something."""

    def __init__(self, srv, site=None, source=None):
        self.srv, self.client = srv, hk.Client(srv, source=source)
        self.site, self.cookies = site or origin(srv), {}

    def __call__(self, method, path, body=None, headers=None):
        head = dict(headers or {})
        if self.cookies and "Cookie" not in head:
            head["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        if method not in ("GET", "HEAD") and "Origin" not in head:
            head["Origin"] = self.site
        a = self.client(method, path, body, head)
        for line in a.headers.get_all("Set-Cookie") or ():
            self.take(line)
        return a

    def take(self, line):
        pair, *attrs = [p.strip() for p in line.split(";")]
        name, value = pair.split("=", 1)
        if "Max-Age=0" in attrs:
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value

    def get(self, path, headers=None):
        return self("GET", path, None, headers)

    def login(self, name="admin", password=hk.PASSWORD):
        return self("POST", "/auth/login", {"name": name, "password": password})

    def leave_for(self, path="/auth/google/login"):
        """The address at the provider that we are sent to."""
        a = self.get(path)
        check(a.status == 302, "want a redirect to the provider", a, a.headers.get("Location"))
        return a.headers["Location"]

    def come_back(self, url):
        """Follows the provider's redirect; returns where we are led at last."""
        check(url.startswith(BACK + "?"), "the provider leads back to us", url)
        a = self.get(url[len(SITE):])
        check(a.status == 302, "want a redirect home", a)
        return a.headers["Location"]

    def travel(self, sign_in, path="/auth/google/login"):
        return self.come_back(sign_in(self.leave_for(path)))


def settings(issuer, **more):
    return {"GOOGLE_CLIENT_ID": "hikyaku", "GOOGLE_CLIENT_SECRET": SECRET,
            "GOOGLE_REDIRECT_URL": BACK, "OIDC_ISSUER": issuer, "BASE_URL": SITE,
            "OIDC_SIGNUP": "open", "SESSION_SECRET": "what cookies are signed with",
            "WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8", **more}


# ---------------------------------------------------------------- a real one

class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


class Provider:
    """npm oidc-provider; its pages are filled in as a person would."""

    def __init__(self, t, alg="RS256"):
        if not shutil.which("node"):
            raise Skip("no node; ./dev setup installs it")
        if not os.path.isdir(os.path.join(NPM, "node_modules", "oidc-provider")):
            raise Skip("no tests/npm/node_modules; ./dev setup installs them")
        self.proc = subprocess.Popen(
            ["node", os.path.join(NPM, "oidc.js"), BACK, alg], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        t.later(self.stop)
        line = self.proc.stdout.readline()
        check(line.startswith("{"), "the provider started", line)
        self.issuer = json.loads(line)["issuer"]

    def stop(self):
        self.proc.stdin.close()
        try:
            self.proc.wait(10)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def settings(self, **more):
        return settings(self.issuer, **more)

    def sign_in(self, name):
        """A function that goes from the provider's page to where it leads back."""
        jar = urllib.request.HTTPCookieProcessor()
        web = urllib.request.build_opener(jar, Stay)

        def ask(url, form=None):
            data = urllib.parse.urlencode(form).encode() if form else None
            try:
                r = web.open(url, data, timeout=20 * hk.SLOW)
            except urllib.error.HTTPError as e:
                r = e
            where = r.headers.get("Location")
            return urllib.parse.urljoin(url, where) if where else None, r.read().decode()

        def walk(url):
            form = None
            for _ in range(20):
                there, page = ask(url, form)
                form = None
                if there and there.startswith(SITE):
                    return there
                if there:
                    url = there
                    continue
                action = re.search(r'<form[^>]*action="([^"]+)"', page)
                check(action, "a form of the provider", page)
                url = urllib.parse.urljoin(url, html.unescape(action[1]))
                form = dict(re.findall(r'name="(\w+)" value="(\w+)"', page))
                if form.get("prompt") == "login":
                    form.update(login=name, password="x")
            raise hk.Failed("the provider leads nowhere")
        return walk


# ---------------------------------------------------------------- one that lies

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An RSA key, made and used by the openssl command."""

    def __init__(self, folder, kid):
        self.kid, self.file = kid, os.path.join(folder, kid + ".pem")
        self.run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                 "-out", self.file)
        out = self.run("rsa", "-in", self.file, "-noout", "-modulus").decode()
        self.n = bytes.fromhex(out.strip().split("=")[1])

    def run(self, *words, stdin=b""):
        return subprocess.run(["openssl", *words], input=stdin, check=True,
                              capture_output=True, timeout=60).stdout

    def jwk(self):
        return {"kty": "RSA", "kid": self.kid, "use": "sig", "alg": "RS256",
                "n": b64(self.n), "e": "AQAB"}

    def sign(self, text):
        return self.run("dgst", "-sha256", "-sign", self.file, stdin=text)


class Fake:
    """A provider whose every answer can be spoilt."""

    def __init__(self, t):
        self.key, self.other = Key(t.folder, "one"), Key(t.folder, "two")
        self.published = [self.key]
        self.asked, self.nonce = [], None
        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.issuer = f"http://127.0.0.1:{self.httpd.server_port}"
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()
        t.later(self.stop)
        self.reset()

    def stop(self):
        self.httpd.shutdown()
        self.httpd.server_close()

    def settings(self, **more):
        return settings(self.issuer, **more)

    def reset(self):
        """Honest again."""
        self.document = {"issuer": self.issuer,
                         "authorization_endpoint": self.issuer + "/page?a=b",
                         "token_endpoint": self.issuer + "/token",
                         "jwks_uri": self.issuer + "/keys"}
        self.claims, self.header = {}, {"alg": "RS256", "kid": "one"}
        self.signer, self.answer = self.key, {}
        self.status = {}

    def token(self):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "hikyaku", "sub": "s-1", "nonce": self.nonce,
                  "iat": now, "exp": now + 300, "email": "eve@example.com", "name": "Eve",
                  **self.claims}
        claims = {k: v for k, v in claims.items() if v is not None}
        text = b64(json.dumps(self.header).encode()) + "." + b64(json.dumps(claims).encode())
        if self.signer == "hmac":
            sig = hmac.new(self.key.n, text.encode(), hashlib.sha256).digest()
        else:
            sig = self.signer.sign(text.encode()) if self.signer else b""
        return text + "." + b64(sig)

    def reply(self, path, form):
        self.asked.append((path, form))
        if path == "/.well-known/openid-configuration":
            return self.document
        if path == "/keys":
            return {"keys": [k.jwk() for k in self.published]}
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.token(),
                **self.answer}

    def handler(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                form = dict(urllib.parse.parse_qsl(body.decode()))
                form["authorization"] = self.headers.get("Authorization")
                out = fake.reply(self.path, form)
                out = out if isinstance(out, bytes) else json.dumps(out).encode()
                status = fake.status.get(self.path, 200)
                self.send_response(status)
                if status in (301, 302):
                    self.send_header("Location", fake.issuer + "/elsewhere")
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            do_GET = do_POST = do

            def log_message(self, *args):
                pass
        return Handler

    def sign_in(self, **query):
        """As Provider's; remembers the nonce, answers with `query`."""
        def walk(url):
            asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
            self.nonce, self.question = asked["nonce"], asked
            back = {"code": "c-1", "state": asked["state"], **query}
            return BACK + "?" + urllib.parse.urlencode(
                {k: v for k, v in back.items() if v is not None})
        return walk
