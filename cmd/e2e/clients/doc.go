// Package clients has public OAuth and OpenID clients sign people in at a real server: openid-client and
// oauth4webapi of npm, authlib of PyPI, and the authorization of the TypeScript SDK of MCP.
//
// It holds tests only, with the build tag clients (make clients). A part that is missing is a failure.
// The scripts in testdata/clients use the libraries as their documentation says, apart from the
// permission to talk to a server without TLS.
package clients
