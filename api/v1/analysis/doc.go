// Package analysis has the routes of analyses, and of the models that word their answers.
//
// What may not go in it: analyses. A route decodes a request, calls one use case and
// encodes its answer.
package analysis
