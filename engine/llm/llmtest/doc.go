// Package llmtest gives tests the model providers of the three families on loopback. They
// speak the formats of the vendors, check that requests are well-formed, record them, and
// answer as a test says.
//
// What may not go in it: imports of the vendors' SDKs. The formats are written down here a
// second time, from the vendors' descriptions, so that a defect of either side shows.
//
// For tests only.
package llmtest
