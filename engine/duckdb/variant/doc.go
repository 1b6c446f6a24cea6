// Package variant converts Delta variants, in the encoding of Parquet, to JSON text. It registers a
// SQL function with the instances that read variants.
//
// It decodes values that other writers encoded. Invariants:
//   - Malformed bytes are an error; they cause neither a panic nor an access out of bounds.
//   - The text is valid JSON.
package variant
