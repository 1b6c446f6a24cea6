// Signs a person in with openid-client: a client that an administrator registers, with a secret.
import * as client from 'openid-client'
import { done, get, open, redirectURI, settings } from './loopback.mjs'

const insecure = { execute: [client.allowInsecureRequests] }
const config = await client.dynamicClientRegistration(
  new URL(settings.issuer),
  { client_name: 'openid-client', redirect_uris: [redirectURI], scope: 'org:read tables:read',
    token_endpoint_auth_method: 'client_secret_basic' },
  undefined,
  { ...insecure, initialAccessToken: settings.key },
)
const verifier = client.randomPKCECodeVerifier()
const [state, nonce] = [client.randomState(), client.randomNonce()]
const answer = await open(client.buildAuthorizationUrl(config, {
  redirect_uri: redirectURI, scope: 'openid email profile org:read', state, nonce, max_age: '600',
  code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
}))
const tokens = await client.authorizationCodeGrant(config, answer, {
  pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true, maxAge: 600,
})
const person = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub)
const me = await get('/v1/me', tokens.access_token)
const next = await client.refreshTokenGrant(config, tokens.refresh_token)
const introspected = await client.tokenIntrospection(config, next.access_token)
await client.tokenRevocation(config, next.refresh_token)
done({ person, claims: tokens.claims(), scope: tokens.scope, me, introspected, refreshed: next.claims(),
  revoked: (await get('/v1/me', next.access_token)).status })
