// Package v1 holds what the routes below /v1 share: the description and registration of a
// route, pages, headers, paths, optional members and the reply of an operation. Each
// family of resources has its own package: queries, tables, domains, policies,
// organisations, identity, storages and analysis. Their handlers decode a request, call one
// use case of api/ops and encode its result. They make no decisions.
//
// What may not go in them: SQL, SDKs, types of the engine other than columns of results,
// and knowledge of how a resource is stored.
//
// Names on the wire are snake_case for API keys, domains, errors and queries, and
// camelCase for organisations, policies, storage and tables. The names of types are the
// names of schemas in the API description.
package v1
