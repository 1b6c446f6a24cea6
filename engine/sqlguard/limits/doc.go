// Package limits bounds what a statement may cost before the engine sees it.
//
// The engine can neither interrupt its parser nor its planner, and some values that
// lambdas build lie outside its memory limit. [CheckText] estimates the size of the tree
// from the text, [CheckExpansion] and [CheckPlan] compute what the planner would have to
// handle, and [CheckLambda] bounds what lambdas build. All arithmetic saturates, and the
// checks themselves take bounded time and memory.
//
// Bounds of arguments are in package arguments, as those are enforced while rows flow.
package limits
