// Gets tokens as a client of MCP does: discovery from a refused request, registration or a document,
// the code flow without a state, and a refresh.
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import { done, get, open, redirectURI, settings } from './loopback.mjs'

const stored = {}
let answer
const provider = {
  redirectUrl: redirectURI,
  clientMetadataUrl: settings.document || undefined,
  clientMetadata: { client_name: 'MCP client', redirect_uris: [redirectURI], token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
  clientInformation: () => stored.client,
  saveClientInformation: (client) => { stored.client = client },
  tokens: () => stored.tokens,
  saveTokens: (tokens) => { stored.tokens = tokens },
  redirectToAuthorization: async (address) => { answer = await open(address) },
  saveCodeVerifier: (verifier) => { stored.verifier = verifier },
  codeVerifier: () => stored.verifier,
}
const serverUrl = settings.issuer + '/mcp'
const refused = await fetch(settings.issuer + '/v1/me')
const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
const options = { serverUrl, resourceMetadataUrl }
const steps = [await auth(provider, options)]
const error = answer.searchParams.get('error')
if (!error) {
  steps.push(await auth(provider, { ...options, authorizationCode: answer.searchParams.get('code') }))
  const first = stored.tokens
  steps.push(await auth(provider, options))
  if (first.access_token === stored.tokens.access_token) throw new Error('the tokens were not refreshed')
}
done({ steps, error, client: stored.client.client_id, scope: stored.tokens?.scope,
  me: stored.tokens && await get('/v1/me', stored.tokens.access_token) })
