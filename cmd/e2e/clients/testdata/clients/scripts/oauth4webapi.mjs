// Signs a person in with oauth4webapi: a public client that registers itself.
import * as oauth from 'oauth4webapi'
import { done, get, open, redirectURI, settings } from './loopback.mjs'

const insecure = { [oauth.allowInsecureRequests]: true }
const at = new URL(settings.issuer)
const resource = await oauth.processResourceDiscoveryResponse(at, await oauth.resourceDiscoveryRequest(at, insecure))
const issuer = new URL(resource.authorization_servers[0])
const documents = {}
for (const algorithm of ['oauth2', 'oidc']) {
  documents[algorithm] = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm, ...insecure }))
}
const as = documents.oidc
const client = await oauth.processDynamicClientRegistrationResponse(await oauth.dynamicClientRegistrationRequest(as, {
  client_name: 'oauth4webapi', redirect_uris: [redirectURI], token_endpoint_auth_method: 'none', scope: 'org:read tables:read users:write',
}, insecure))
const verifier = oauth.generateRandomCodeVerifier()
const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
const request = new URL(as.authorization_endpoint)
request.search = new URLSearchParams({
  client_id: client.client_id, redirect_uri: redirectURI, response_type: 'code', scope: 'openid org:read', state, nonce,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
})
const parameters = oauth.validateAuthResponse(as, client, await open(request), state)
const response = await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, redirectURI, verifier, insecure)
const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: nonce, requireIdToken: true })
await oauth.validateApplicationLevelSignature(as, response, insecure)
const claims = oauth.getValidatedIdTokenClaims(tokens)
const person = await oauth.processUserInfoResponse(as, client, claims.sub,
  await oauth.userInfoRequest(as, client, tokens.access_token, insecure))
const refreshed = await oauth.processRefreshTokenResponse(as, client,
  await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, insecure))
const me = await get('/v1/me', refreshed.access_token)
await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), refreshed.refresh_token, insecure))
done({ person, claims, scope: tokens.scope, registered: client.scope, me, revoked: (await get('/v1/me', refreshed.access_token)).status,
  same: JSON.stringify(documents.oauth2) === JSON.stringify(documents.oidc) })
