// Package api builds the HTTP handler from its dependencies, and starts and drains the
// server. Routes are in api/v1, use cases in api/ops, errors in api/problem, and the
// middleware of all requests in api/middleware.
package api
