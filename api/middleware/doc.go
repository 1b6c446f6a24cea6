// Package middleware holds what every request passes before it reaches a
// handler, one idea a file: request id, access log, metrics, recovery, headers,
// the pace of bodies, size limits, broken bodies, authentication, rate limits, and the
// replies to paths and methods that do not exist.
//
// What may not go in it: business rules, the catalog, SQL, and the rendering of
// errors, which package problem does.
//
// The order, outermost first: [RequestID], [TrustedProxies.Handler], [AccessLog],
// [Metrics.Handler], [EmptyBodies], [Recover], [Headers], [Pace.Handler],
// [Sizes.Handler], [BodyErrors], [FixedPaths.Handler]; then, where a caller is needed,
// [Authenticate] and [RateLimit].
//
// Invariants:
//   - Logs and metrics see every request exactly once, a panicking or aborted
//     one included.
//   - No log line and no label holds a query string, a header or a body; labels
//     are route templates, known methods and statuses.
//   - A request without a principal never reaches a handler behind
//     [Authenticate].
//   - A valid credential is never refused for the failures of others.
//   - A header names the client only where every hop between is a trusted proxy.
package middleware
