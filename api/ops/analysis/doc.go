// Package analysis runs the analyses of package engine/analysis for callers, lets models
// word what they found, and manages what an organisation configures for models.
//
// What may not go in it: the analyses themselves, the protocols of vendors, writes, and
// any way to the rows of a table other than a statement of the caller.
//
// Invariants:
//   - An analysis sees what a statement of its caller sees, at one version of the table.
//   - An answer reaches its caller only while the rules are those that it was made under.
//   - Values of rows reach a model only if the organisation has switched on the feature
//     analysis_models. What a model returns changes nothing but the text of an answer.
//   - A key of a vendor is stored encrypted, and no use case for callers returns it.
//   - The key of the operator is never sent to an address that an organisation has chosen.
package analysis
