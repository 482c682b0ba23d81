// A receiver that verifies: node receive.js SCHEME SECRET PORT (0: a free one).
// SCHEME is standard, repository, task or hub. Answers 204, or 401 with the reason.
// SECRET of standard is whsec_ (HMAC), or whpk_: the public key of ed25519.
'use strict';
const { createHmac, createPublicKey, timingSafeEqual, verify: holds } = require('node:crypto');
const { createServer } = require('node:http');

const TOLERANCE_MS = 300 * 1000;

const mac = (key, ...parts) => {
  const h = createHmac('sha256', key);
  for (const part of parts) h.update(part);
  return h;
};

const same = (a, b) => {
  const x = Buffer.from(a), y = Buffer.from(b);
  return x.length === y.length && timingSafeEqual(x, y);
};

const fresh = (ms) => Math.abs(Date.now() - ms) <= TOLERANCE_MS;

// whpk_ holds the 32 bytes of the key; Node wants them behind the usual DER head.
const publicKey = (secret) => createPublicKey({
  key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(secret.slice(5), 'base64')]),
  format: 'der',
  type: 'spki',
});

const SCHEMES = {
  // Standard Webhooks: several signatures may stand there while a secret is rotated.
  standard(headers, body, secret) {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': list } = headers;
    if (!id || !list || !fresh(Number(at) * 1000)) return 'a header is missing, or too old';
    if (secret.startsWith('whpk_')) {
      const signed = Buffer.concat([Buffer.from(`${id}.${at}.`), body]);
      const good = list.split(' ').some((s) => s.startsWith('v1a,') &&
        holds(null, signed, publicKey(secret), Buffer.from(s.slice(4), 'base64')));
      return good ? null : 'wrong signature';
    }
    const want = 'v1,' + mac(key, `${id}.${at}.`, body).digest('base64');
    return list.split(' ').some((s) => same(s, want)) ? null : 'wrong signature';
  },
  repository(headers, body, secret) {
    const want = 'sha256=' + mac(secret, body).digest('hex');
    return same(headers['x-nemakiware-signature'] || '', want) ? null : 'wrong signature';
  },
  task(headers, body, secret) {
    const at = headers['x-timestamp'];
    if (!at || !fresh(Number(at))) return 'a header is missing, or too old';
    return same(headers['x-signature'] || '', mac(secret, `${at}.`, body).digest('hex'))
      ? null : 'wrong signature';
  },
  // A one-time code (RFC 6238: SHA-1, 30 s, 8 digits). It proves who called, not what was said.
  hub(headers, body, secret) {
    const now = Math.floor(Date.now() / 30000);
    const code = (step) => {
      const counter = Buffer.alloc(8);
      counter.writeBigUInt64BE(BigInt(step));
      const sum = createHmac('sha1', secret).update(counter).digest();
      const n = (sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1e8;
      return String(n).padStart(8, '0');
    };
    return [now - 1, now, now + 1].some((step) => same(headers.authorization || '', code(step)))
      ? null : 'wrong or old code';
  },
};

// null, or why not. The body is the bytes that came: parse it afterwards.
const verify = (scheme, headers, body, secret) => SCHEMES[scheme](headers, body, secret);

const [scheme, secret, port] = process.argv.slice(2);
const server = createServer((req, res) => {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', () => {
    const why = verify(scheme, req.headers, Buffer.concat(parts), secret);
    console.log(why || 'verified');
    res.writeHead(why ? 401 : 204).end();
  });
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
