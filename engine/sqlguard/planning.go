package sqlguard

// The engine orders joins and splits disjunctions without looking for an
// interrupt. Both take time that grows much faster than the statement.
const (
	maxJoined       = 32  // items of one FROM
	maxSources      = 64  // items of FROM in one statement
	maxAlternatives = 500 // disjuncts that are conjunctions, in one statement
)

// countSource counts one item of FROM. A join counts by its sides.
func (a *analysis) countSource(n *node, sc *scope) *Error {
	if n == nil || n.is("type", "JOIN") || n.is("type", "EMPTY") {
		return nil
	}
	a.sources++
	if a.sources > maxSources {
		return refuse(CodeTooComplex, "", "more than %d tables and subqueries in FROM in one statement", maxSources).at(n)
	}
	if sel := nearestSelect(sc); sel != nil {
		sel.sources++
		if sel.sources > maxJoined {
			return refuse(CodeTooComplex, "", "more than %d tables and subqueries in one FROM", maxJoined).at(n)
		}
	}
	return nil
}

// countAlternatives counts the disjuncts of an OR that hold a conjunction. NOT
// of a disjunction is one too.
func (a *analysis) countAlternatives(n *node) *Error {
	if !n.is("type", "CONJUNCTION_OR") {
		return nil
	}
	for _, c := range n.list("children") {
		if e := c.(*node); !e.is("type", "CONJUNCTION_OR") && contains(e, "CONJUNCTION") {
			a.alternatives++
		}
	}
	if a.alternatives > maxAlternatives {
		return refuse(CodeTooComplex, "OR", "more than %d alternatives of several conditions", maxAlternatives).at(n)
	}
	return nil
}
