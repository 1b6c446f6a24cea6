// Package constant reads literals and the values of parameters as constants of exactly
// the type of a column.
//
// It accepts only forms that every reader of data files and the engine understand in the
// same way; anything else is not a constant, and a condition with it takes no part in
// choosing files or rows.
package constant
