package sqlguard

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The engine orders joins and splits disjunctions without checking for an interrupt. Both
// take time that grows much faster than the statement.
const (
	maxJoined       = 32  // items of one FROM
	maxSources      = 64  // items of FROM in one statement
	maxAlternatives = 500 // disjuncts that are conjunctions, in one statement
)

// countSource counts one relation in FROM. A join counts by its sides.
func (a *analysis) countSource(n *sqltree.Node, sc *scope) *refusal.Error {
	if n == nil || n.Is("type", "JOIN") || n.Is("type", "EMPTY") {
		return nil
	}
	a.sources++
	if a.sources > maxSources {
		return refusal.New(refusal.CodeTooComplex, "", "more than %d tables and subqueries in FROM in one statement", maxSources).At(n)
	}
	if sel := nearestSelect(sc); sel != nil {
		sel.sources++
		if sel.sources > maxJoined {
			return refusal.New(refusal.CodeTooComplex, "", "more than %d tables and subqueries in one FROM", maxJoined).At(n)
		}
	}
	return nil
}

// countAlternatives counts the disjuncts of an OR that contain a conjunction. NOT of a
// disjunction is one too.
func (a *analysis) countAlternatives(n *sqltree.Node) *refusal.Error {
	if !n.Is("type", "CONJUNCTION_OR") {
		return nil
	}
	for c := range n.Each("children") {
		if e := c; !e.Is("type", "CONJUNCTION_OR") && sqltree.Contains(e, "CONJUNCTION") {
			a.alternatives++
		}
	}
	if a.alternatives > maxAlternatives {
		return refusal.New(refusal.CodeTooComplex, "OR", "more than %d alternatives of several conditions", maxAlternatives).At(n)
	}
	return nil
}
