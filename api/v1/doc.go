// Package v1 holds what the routes below /v1 share: the description of a route and its
// registration, pages, headers, paths, optional members and the reply of an operation.
// Each family of resources is a package of its own: queries, tables, policies,
// organisations and storages. Their handlers decode a request, call one operation of
// api/ops and encode its result; they decide nothing.
//
// The packages hold no SQL, SDKs or engine types beyond result columns, and do not know
// how a resource is stored.
//
// Names on the wire are snake_case for API keys, domains, errors and queries, and
// camelCase for organisations, policies, storage and tables. Names of types are names of
// schemas in the API description.
package v1
