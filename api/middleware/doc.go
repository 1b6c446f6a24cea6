// Package middleware holds the handlers that every request passes before it reaches its
// route, one in each file: request id, access log, metrics, recovery, headers, the pace
// of bodies, size limits, broken bodies, authentication, rate limits, and the replies to
// paths and methods that do not exist.
//
// What may not go in it: business rules, the catalog, SQL, and the rendering of errors,
// which is the task of package problem.
//
// The order, outermost first: [RequestID], [TrustedProxies.Handler],
// [TrustedProxies.MissingProxies], [AccessLog], [Metrics.Handler], [EmptyBodies], [Recover], [Headers], [Pace.Handler],
// [Sizes.Handler], [BodyErrors], [FixedPaths.Handler]; then, for routes that need a
// caller, [Authenticate] and [RateLimits.Handler].
//
// Invariants:
//   - Logs and metrics see every request exactly once, including those that panic or are
//     aborted.
//   - No log line and no label holds a query string, a header or a body; labels
//     are route templates, known methods and statuses.
//   - A request without a principal never reaches a handler behind
//     [Authenticate].
//   - A valid credential is never refused because of other clients' failures.
//   - A header names the client only if every hop in between is a trusted proxy.
package middleware
