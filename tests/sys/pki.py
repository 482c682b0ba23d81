"""pki - certificates for the tests: an authority and what it signs.

  p = Pki(folder)
  p.ca                                    the authority's PEM file
  cert, key = p.make("name", "IP:127.0.0.1", days=1)
  cert, key = p.make("old", "IP:127.0.0.1", days=-1)    expired
  cert, key = p.alone("own", "IP:127.0.0.1")            signed by nobody else
"""
import os
import subprocess


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


class Pki:
    def __init__(self, folder):
        self.folder = folder
        self.ca, self.ca_key = self.alone("ca", "DNS:ca.test")

    def path(self, name):
        return os.path.join(self.folder, name)

    def alone(self, name, san):
        cert, key = self.path(name + ".crt"), self.path(name + ".key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext",
                "subjectAltName=" + san, "-keyout", key, "-out", cert)
        return cert, key

    def make(self, name, san, days=1):
        cert, key, ask = (self.path(name + x) for x in (".crt", ".key", ".csr"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=" + name, "-keyout", key, "-out", ask)
        with open(self.path(name + ".ext"), "w") as f:
            f.write("subjectAltName=" + san + "\n")
        openssl("x509", "-req", "-in", ask, "-CA", self.ca, "-CAkey", self.ca_key,
                "-CAcreateserial", "-days", str(days), "-extfile", self.path(name + ".ext"),
                "-out", cert)
        return cert, key
