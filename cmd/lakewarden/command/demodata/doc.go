// Package demodata holds the real data of the demo organisation: every flight
// that left New York City in 2013, with the airlines, airports, planes and
// weather that go with it. It is compiled into the binary, so that one file is
// a complete demonstration.
//
// It is data only: what becomes of it is the business of the demo command.
package demodata

import "embed"

// Files holds one <table>.parquet for each name of [Tables].
//
//go:embed *.parquet
var Files embed.FS

// Tables lists the tables in the order in which they are created.
var Tables = []string{"airlines", "airports", "planes", "weather", "flights"}
