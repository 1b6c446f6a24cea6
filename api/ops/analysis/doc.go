// Package analysis holds the use cases of analyses: what an organisation configures for
// the models that word them, and the limits of their use.
//
// What may not go in here: the detection of findings (engine/analysis), the protocols of
// vendors (engine/llm), reads of tables other than through package query, and writes.
//
// Invariants:
//   - A key of a vendor is stored encrypted, and no use case for callers returns it.
//   - The key of the operator is never sent to an address that an organisation has chosen.
package analysis
