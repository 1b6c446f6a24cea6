package csvinfer

import (
	"fmt"

	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// Kind is the family of a column's type.
type Kind int

// The kinds of types.
const (
	Text Kind = iota
	Boolean
	Long
	Decimal
	Double
	Date
	// Timestamp is with time zone, TimestampNTZ without.
	Timestamp
	TimestampNTZ
)

// Type is the type of a column.
type Type struct {
	Kind Kind
	// Precision and Scale are those of a decimal.
	Precision, Scale int
}

var arrowNames = [...]string{"utf8", "bool", "int64", "", "double", "date32", "timestamp[us, tz=UTC]", "timestamp[us]"}

// Arrow returns Arrow's name of the type.
func (t Type) Arrow() string {
	if t.Kind == Decimal {
		return fmt.Sprintf("decimal128(%d,%d)", t.Precision, t.Scale)
	}
	return arrowNames[t.Kind]
}

var deltaNames = [...]string{"string", "boolean", "long", "", "double", "date", "timestamp", "timestamp_ntz"}

// Delta returns Delta's name of the type.
func (t Type) Delta() string {
	if t.Kind == Decimal {
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	}
	return deltaNames[t.Kind]
}

// Column is a column of the file.
type Column struct {
	// Name is a name that a column of a table can have.
	Name     string
	Type     Type
	Nullable bool
	// Values are the distinct values with their numbers, most frequent first, of a column of text
	// that can have a domain; nil for others.
	Values []ValueCount
}

// ValueCount is a value with the number of rows that have it.
type ValueCount struct {
	Value string
	Count int64
}

// Problem is something that a load of the file would refuse, or that the file leaves open.
type Problem struct {
	// Line counts from 1.
	Line    int64
	Message string
}

// Inferred describes a file.
type Inferred struct {
	Columns []Column
	Rows    int64
	// Options select the dialect, for a load too. Defaults are empty.
	Options csvbody.Options
	Coding  contentcoding.Coding
	// Problems are the first hundred problems of Total.
	Problems []Problem
	Total    int64
}
