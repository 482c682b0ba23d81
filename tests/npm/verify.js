// Verifies deliveries with libraries of others. One JSON object a line on stdin:
// {lib, secret, headers, body}; one a line on stdout: {ok, event} or {ok, error}.
"use strict";
const crypto = require("crypto");
const readline = require("readline");
const standard = require("standardwebhooks");
const svix = require("svix");

// Asymmetric signatures are in the specification, not yet in its library.
function ed25519(secret, body, headers) {
  const der = Buffer.concat([
    Buffer.from("302a300506032b6570032100", "hex"),
    Buffer.from(secret.replace(/^whpk_/, ""), "base64"),
  ]);
  const key = crypto.createPublicKey({ key: der, format: "der", type: "spki" });
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  for (const one of headers["webhook-signature"].split(" ")) {
    const [version, text] = one.split(",");
    if (version === "v1a" && crypto.verify(null, Buffer.from(signed), key, Buffer.from(text, "base64")))
      return JSON.parse(body);
  }
  throw new Error("no matching signature");
}

const LIBS = {
  standardwebhooks: (q) => new standard.Webhook(q.secret).verify(q.body, q.headers),
  svix: (q) => new svix.Webhook(q.secret).verify(q.body, q.headers),
  ed25519: (q) => ed25519(q.secret, q.body, q.headers),
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const q = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: true, event: LIBS[q.lib](q) }));
  } catch (e) {
    console.log(JSON.stringify({ ok: false, error: String(e.message) }));
  }
});
