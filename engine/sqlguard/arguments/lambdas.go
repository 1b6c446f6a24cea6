package arguments

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// An interrupt waits for a vector of 2,048 rows, so the work of one row must
// stay small. A lambda runs once for every element, and a lambda inside it once
// for every pair; lists inside lambdas are therefore bounded.
const (
	maxOuterList  = 400 // elements of a list whose lambda contains another lambda
	maxInnerList  = 40  // elements of a list inside a lambda
	maxInnerRange = 100 // elements of a series inside a lambda
	maxLambdas    = 2   // depth of lambdas in lambdas
)

// LambdaCall visits the arguments of a call with a lambda, and bounds the list that it
// iterates over.
func (b *Bounds) LambdaCall(n *sqltree.Node, visit func(arg *sqltree.Node) *refusal.Error) *refusal.Error {
	if b.lambdas >= maxLambdas {
		return refusal.New(refusal.CodeTooComplex, n.Str("function_name"), "lambdas are nested deeper than %d", maxLambdas).At(n)
	}
	before := b.nested
	b.nested = false
	for arg := range n.Each("children") {
		bounded := visit
		if arg.Is("class", "LAMBDA") {
			bounded = func(lambda *sqltree.Node) *refusal.Error { return b.lambda(n, lambda, visit) }
		}
		if err := bounded(arg); err != nil {
			return err
		}
	}
	b.nested = before || b.lambdas > 0
	return nil
}

func (b *Bounds) lambda(call, lambda *sqltree.Node, visit func(arg *sqltree.Node) *refusal.Error) *refusal.Error {
	before := b.nested
	b.nested = false
	b.lambdas++
	err := visit(lambda)
	b.lambdas--
	limit, bounded := int64(maxOuterList), b.nested
	b.nested = before
	if b.lambdas > 0 {
		limit, bounded = maxInnerList, true
	}
	if err != nil {
		return err
	}
	err = limits.CheckLambda(call, lambda)
	if err == nil && bounded {
		err = b.Bound(call, 0, "len", limit)
	}
	if err != nil {
		return err.At(call)
	}
	return nil
}
