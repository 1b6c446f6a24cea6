// server.mjs CONFIG: an identity provider on loopback, for tests. CONFIG is a JSON text with
// the members client (see OpenID Connect Dynamic Client Registration) and accounts, an
// object from the names of accounts to their claims. Everybody signs in without a password.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const config = JSON.parse(process.argv[2]);
const require = createRequire(process.env.OIDC_PROVIDER_MODULES + '/');
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);

// The issuer contains the port, so the server listens first.
const server = createServer();
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [config.client],
  cookies: { keys: ['only for tests'] },
  claims: { email: ['email', 'email_verified'], profile: ['name', 'role', 'department'] },
  features: {
    devInteractions: { enabled: true },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    revocation: { enabled: true },
  },
  // The dispatcher would refuse the server under test, which is on loopback, too.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: 30 },
  findAccount: (_, id) => config.accounts[id] && {
    accountId: id,
    claims: () => ({ sub: id, ...config.accounts[id] }),
  },
});
provider.on('server_error', (_, error) => console.error(error));
provider.on('backchannel.error', (_, error) => console.error(error));
server.on('request', provider.callback());
console.log(`ready ${issuer}`);
