// A real OpenID Connect provider on loopback: npm oidc-provider, with one client
// and its own pages to log in and consent. node oidc.js REDIRECT_URL ALG; says
// {"issuer": …} when it listens and ends with its standard input.
'use strict';
const http = require('http');

const [redirect, alg] = process.argv.slice(2);

async function main() {
  const {default: Provider} = await import('oidc-provider');
  const {exportJWK, generateKeyPair} = await import('jose');
  const server = http.createServer();
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const jwk = async (name, kid) =>
    ({...await exportJWK((await generateKeyPair(name, {extractable: true})).privateKey),
      kid, use: 'sig', alg: name});
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'hikyaku',
      client_secret: 'a secret: with % & odd+letters',
      redirect_uris: [redirect],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      id_token_signed_response_alg: alg,
    }],
    jwks: {keys: [await jwk('RS256', 'r1'), await jwk('ES256', 'e1')]},
    cookies: {keys: ['only a test']},
    claims: {openid: ['sub'], email: ['email', 'email_verified'], profile: ['name']},
    conformIdTokenClaims: false,
    pkce: {methods: ['S256'], required: () => true},
    findAccount: (ctx, id) => ({
      accountId: id,
      claims: () => ({sub: id, email: `${id}@example.com`, email_verified: true,
                      name: `${id} 世界`}),
    }),
  });
  server.on('request', provider.callback());
  console.log(JSON.stringify({issuer}));
  process.stdin.on('end', () => process.exit(0)).resume();
}

main().catch(e => { console.error(e); process.exit(1); });
