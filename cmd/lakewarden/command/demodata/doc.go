// Package demodata contains the real data of the demo organisation: every flight that
// left New York City in 2013, with the related airlines, airports, planes and weather.
// It is compiled into the binary, so that one file is a complete demonstration.
//
// It contains data only. The demo command decides about its use.
package demodata

import "embed"

// Files holds the Parquet files that [FileOf] names.
//
//go:embed *.parquet
var Files embed.FS

// Tables lists the tables in the order in which they are created.
var Tables = []string{"airlines", "airports", "planes", "models", "weather", "flights"}
