// Package mail composes and sends the e-mails of the server.
//
// What may not go in it: who gets an e-mail and why, HTTP, and storage other than the
// files of [Directory].
//
// Invariants:
//   - No value of a message can add a header or a recipient: [Message.Validate] refuses
//     control characters and everything but one bare address.
//   - Names that other people chose appear in e-mails without the characters that form
//     links, so that nobody can have the server send links other than its own. The address of an
//     inviter can form a link to write to it, and no other.
//   - A message leaves over TLS, unless its server is on the loopback interface. Without
//     TLS, no mechanism that reveals the password is used.
//   - Neither texts of messages nor passwords are logged.
package mail
