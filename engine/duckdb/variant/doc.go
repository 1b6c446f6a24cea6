// Package variant writes Delta variants, in the encoding of Parquet, as JSON text. It is
// a SQL function of the instances that read variants.
//
// It decodes values that other writers encoded. Invariants: malformed bytes are an error
// and never a panic or an access outside of them; the text is valid JSON.
package variant
