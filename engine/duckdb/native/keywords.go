package native

import (
	"strings"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

var keywordSet struct {
	once  sync.Once
	words map[string]bool
}

// isKeyword reports whether DuckDB quotes the word when it prints it as an identifier. DuckDB
// itself is the source, once per process.
func isKeyword(word string) bool {
	keywordSet.once.Do(func() {
		keywordSet.words = map[string]bool{}
		in, err := Open(BaseConfig())
		if err != nil {
			return
		}
		defer in.Close()
		// Without the list some field names are not quoted, which only changes how they look.
		_ = in.Each(`SELECT keyword_name FROM duckdb_keywords()`, engine.Args{}, func(r engine.Row) error {
			keywordSet.words[r.Text(0)] = true
			return nil
		})
	})
	return keywordSet.words[strings.ToLower(word)]
}
