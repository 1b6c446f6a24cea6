package analysis

import (
	"crypto/sha256"
	"encoding/json"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// The bounds of a [Cache]: at most 128 MiB.
const (
	cachedAnswers   = 256
	maxCachedAnswer = 512 << 10
	cachedTexts     = 1024
)

// digest identifies an answer.
type digest [sha256.Size]byte

// Cache remembers answers, and the texts that models wrote for them. It is safe for
// concurrent use.
//
// Invariant: an answer is found only for the caller that it was made for, and under the
// rules, the version of the table and the request that it was made for.
type Cache struct {
	answers *lru.Cache[digest, analysis.Answer]
	texts   *lru.Cache[digest, string]
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	answers, err := lru.New[digest, analysis.Answer](cachedAnswers)
	if err != nil {
		panic(err) // the size is a constant
	}
	texts, err := lru.New[digest, string](cachedTexts)
	if err != nil {
		panic(err)
	}
	return &Cache{answers: answers, texts: texts}
}

// answerKey returns the key of the answer to a request. The state covers the caller and the
// policies. t adds what the catalog knows about the version: domains, constraints, visible
// columns.
func answerKey(state query.State, t analysis.Table, r Request) digest {
	r.Model = ""
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = c.Type.String()
	}
	text, err := json.Marshal([]any{state, t.Relation, t.Version, t.PrimaryKey, t.Checks, withoutTypes(t.Columns), columns, r})
	if err != nil {
		panic(err) // all of it is plain data
	}
	return sha256.Sum256(text)
}

// withoutTypes returns the columns without their types, which are interfaces.
func withoutTypes(columns []analysis.Column) []analysis.Column {
	out := make([]analysis.Column, len(columns))
	for i, c := range columns {
		c.Type = nil
		out[i] = c
	}
	return out
}

// textKey returns the key of a text that a model wrote for an answer.
func (d digest) textKey(model string) digest {
	return sha256.Sum256(append(d[:], model...))
}

func (c *Cache) get(key digest) (analysis.Answer, bool) { return c.answers.Get(key) }

// put remembers an answer, unless it is large.
func (c *Cache) put(key digest, answer analysis.Answer) {
	text, err := json.Marshal(answer)
	if err == nil && len(text) <= maxCachedAnswer {
		c.answers.Add(key, answer)
	}
}

// Empty forgets everything.
func (c *Cache) Empty() {
	c.answers.Purge()
	c.texts.Purge()
}
