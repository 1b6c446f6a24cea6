// Package sparktoken splits Spark's SQL into tokens, for the expressions of constraints and
// generated columns in a Delta log. It refuses texts that versions of Spark or delta-rs
// tokenize differently. It knows no expressions and imports no other package of this module.
package sparktoken
