// Package pages serves the pages on which people sign in, accept invitations, set
// passwords, confirm who they are at identity providers, and give programs their consent. They are plain HTML and need no script.
//
// What may not go in it: rules about who may sign in and what passwords may be, which
// package api/ops/identity has, and pages for anything else.
//
// Invariants:
//   - A GET changes nothing and uses no link up. A POST needs the token of its form, which
//     is bound to the browser and the path, and must come from the server's own pages.
//   - A page loads nothing, runs no script and cannot be framed. Neither caches nor
//     referrers see it.
//   - After a sign-in, the browser continues at an authorization request of this server, or
//     at the page for people who are signed in. No parameter leads it elsewhere.
//   - Pages differ neither in content nor in work by whether an e-mail address is known.
package pages
