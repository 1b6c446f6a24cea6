package sqlguard

// An interrupt waits for a vector of 2,048 rows, so the work of one row must
// stay small. A lambda runs once for every element, and a lambda inside it once
// for every pair; lists inside lambdas are therefore bounded.
const (
	maxOuterList  = 400 // elements of a list whose lambda contains another lambda
	maxInnerList  = 40  // elements of a list inside a lambda
	maxInnerRange = 100 // elements of a series inside a lambda
	maxLambdas    = 2   // depth of lambdas in lambdas
)

var lambdaFunctions = set("list_transform", "list_apply", "array_transform", "array_apply", "apply",
	"list_filter", "array_filter", "filter", "list_reduce", "array_reduce", "reduce")

// lambdaCall visits a call that takes a lambda.
func (a *analysis) lambdaCall(n *node, sc *scope) *Error {
	if a.lambdas >= maxLambdas {
		return refuse(CodeTooComplex, n.str("function_name"), "lambdas are nested deeper than %d", maxLambdas).at(n)
	}
	nested := a.nested
	a.nested = false
	for _, c := range n.list("children") {
		arg := c.(*node)
		if !arg.is("class", "LAMBDA") {
			if err := a.expr(arg, sc); err != nil {
				return err
			}
			continue
		}
		a.lambdas++
		inner := a.nested
		a.nested = false
		a.lambda = arg
		err := a.expr(arg, sc)
		a.lambdas--
		body := a.nested
		a.nested = inner
		if err != nil {
			return err
		}
		if err := checkGrowth(n, arg); err != nil {
			return err.at(n)
		}
		if limit := int64(maxOuterList); body || a.lambdas > 0 {
			if a.lambdas > 0 {
				limit = maxInnerList
			}
			if err := a.bound(n, 0, "len", limit); err != nil {
				return err.at(n)
			}
		}
	}
	a.nested = nested || a.lambdas > 0
	return nil
}

func takesLambda(n *node) bool {
	if !lambdaFunctions[lower(n.str("function_name"))] {
		return false
	}
	for _, c := range n.list("children") {
		if c.(*node).is("class", "LAMBDA") {
			return true
		}
	}
	return false
}
