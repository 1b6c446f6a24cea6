// Package v1 holds the routes below /v1: one file per resource with its routes,
// its handlers and its wire types. A handler decodes, calls one operation of
// api/ops and encodes the answer; it decides nothing.
//
// What may not go in here: SQL, SDKs, engine types beyond result columns,
// knowledge of how a thing is stored.
//
// Names on the wire: snake_case for API keys, domains, errors and queries;
// camelCase for organisations, policies, storage and tables.
package v1
