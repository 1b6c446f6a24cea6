// Package api builds the HTTP surface from its dependencies and owns the
// server's start and drain. Routes live in api/v1, what they do in api/ops,
// errors in api/problem, and what every request passes in api/middleware.
package api
