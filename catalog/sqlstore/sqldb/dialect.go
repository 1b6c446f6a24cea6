package sqldb

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/lakewarden/lakewarden/migrations"
)

// dialect holds the differences between the two databases.
type dialect struct {
	migrations migrations.Dialect
	// numbered placeholders ($1) instead of question marks.
	numbered bool
	// share is the clause that lets a SELECT lock its rows against changes. Empty means
	// that transactions never run at the same time.
	share string
	// unlocked is the clause that lets a SELECT lock its rows for a change, without those
	// that another transaction has locked. Empty as share.
	unlocked string
	// notify is executed in the transaction that raised the epoch. Empty means no
	// statement.
	notify string
	// failure classifies an error of the driver.
	failure func(error) failure
}

// failure is the kind of a database error.
type failure int

const (
	failureOther failure = iota
	failureUnique
	failureReference
	failureUnavailable
)

// numberedTexts caches the rewritten form of each statement. Statements are constants
// with a few optional parts, so the cache remains small. Statements
// with lists of variable length are not cached.
var numberedTexts sync.Map

const maxKeptText = 4096

// text replaces the placeholders of a statement. Statements never contain a question
// mark in a literal.
func (d dialect) text(statement string) string {
	if !d.numbered {
		return statement
	}
	if cached, ok := numberedTexts.Load(statement); ok {
		return cached.(string)
	}
	var b strings.Builder
	n := 0
	for i := range len(statement) {
		if statement[i] != '?' {
			b.WriteByte(statement[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	if len(statement) <= maxKeptText {
		numberedTexts.Store(statement, b.String())
	}
	return b.String()
}

// plain converts the string types of package catalog to string, which every driver
// accepts.
func plain(args []any) []any {
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.IsValid() && v.Kind() == reflect.String {
			args[i] = v.String()
		}
	}
	return args
}

// Marks returns n placeholders separated by commas.
func Marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}
