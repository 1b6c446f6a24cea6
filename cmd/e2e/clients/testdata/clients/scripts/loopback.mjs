// What the scripts share. A script gets its settings as JSON in its first argument. It prints a line
// {"open": URL} for each address that a person opens, and at the end {"done": RESULT}.
import { createServer } from 'node:http'
import { once } from 'node:events'

export const settings = JSON.parse(process.argv[2])

const replies = []
const waiting = []
const server = createServer((request, response) => {
  const url = new URL(request.url, redirectURI)
  response.end('Close this page.')
  if (url.pathname !== '/callback') return
  const next = waiting.shift()
  next ? next(url) : replies.push(url)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

/** The address at which the script receives the answer to a request. */
export const redirectURI = `http://127.0.0.1:${server.address().port}/callback`

const print = (line) => process.stdout.write(JSON.stringify(line) + '\n')

/** Lets the person open an address, and returns that of the answer. */
export function open(address) {
  print({ open: String(address) })
  return replies.length ? Promise.resolve(replies.shift()) : new Promise((resolve) => waiting.push(resolve))
}

/** Ends the script with a result. */
export function done(result) {
  print({ done: result })
  server.close()
}

/** Calls a route of the server with an access token. */
export async function get(path, token) {
  const response = await fetch(settings.issuer + path, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: await response.json() }
}
