"""TLS by tls.cert and tls.key."""
import os
import socket
import ssl
import subprocess

from hk import Failed, Skip, check, envelope, same, until


def certificate(t):
    cert, key = t.path("cert.pem"), t.path("key.pem")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        raise Skip("openssl is not installed") from None
    return cert, key


def serve(t):
    cert, key = certificate(t)
    srv = t.server(start=False, TLS_CERT=cert, TLS_KEY=key)
    srv.tls = cert
    return srv.start()


def test_publish(t):
    srv = serve(t)
    check(srv.base.startswith("https://"), "the log names https", srv.base)
    c = srv.client()
    ids = [c.publish(envelope()).want(202).json["eventId"] for _ in range(20)]
    same([e["eventId"] for e in c.events()], ids, "over TLS")
    s = srv.stream()
    eid = c.publish(envelope()).want(202).json["eventId"]
    until(lambda: s.events, "the stream over TLS")
    same(s.ids(), [eid], "the stream")


def test_versions(t):
    srv = serve(t)
    for low, high, good in ((ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, True),
                            (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3, True),
                            (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, False)):
        ctx = ssl.create_default_context(cafile=srv.tls)
        try:
            import warnings
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ctx.minimum_version, ctx.maximum_version = low, high
            ctx.set_ciphers("DEFAULT:@SECLEVEL=0")
            with socket.create_connection(("127.0.0.1", srv.port), 10) as plain, \
                    ctx.wrap_socket(plain, server_hostname="localhost"):
                check(good, f"{high} must be refused")
        except (ssl.SSLError, ConnectionError) as e:
            check(not good, f"{high}: {e}")


def test_plain_is_refused(t):
    srv = serve(t)
    raw = srv.raw(timeout=10)
    try:
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        check(b"200 OK" not in raw.rest(), "no plain HTTP on a TLS port")
    except OSError:
        pass
    srv.client().publish(envelope()).want(202)


def test_half_a_handshake(t):
    srv = serve(t)
    for n in (0, 1, 5, 50):
        raw = srv.raw()
        raw.send((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500)[:n])
        if n % 2:
            raw.close()
    srv.client().publish(envelope()).want(202)


def test_wrong_files(t):
    cert, key = certificate(t)
    other = t.path("other.pem")
    with open(other, "w") as f:
        f.write("no certificate")
    for c, k, says in ((t.path("absent.pem"), key, "absent.pem"), (other, key, "other.pem|tls.cert"),
                       (cert, "", "tls.key"), ("", key, "tls.cert")):
        srv = t.server(start=False, TLS_CERT=c, TLS_KEY=k)
        try:
            srv.start()
        except Failed:
            check(not srv.alive(), "it ends")
            srv.kill9()
            text = srv.all_logs().decode()
            check(any(s in text for s in says.split("|")), f"it names {says}", srv.tail())
        else:
            check(False, f"it started with {c!r} and {k!r}")
    check(os.path.exists(cert), "the certificate is untouched")
