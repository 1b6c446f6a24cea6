package wording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// maxEvidence bounds the encoded evidence in bytes.
	maxEvidence = 48 << 10
	// maxSummary bounds the built-in text in characters.
	maxSummary = 3000
)

// shown is what a model sees of an answer. The changes of proposals are not among it.
type shown struct {
	Action     analysis.Action  `json:"action"`
	Summary    string           `json:"summary"`
	Confidence float64          `json:"confidence"`
	Sampled    bool             `json:"sampled"`
	Warnings   []string         `json:"warnings"`
	Result     any              `json:"result"`
	Proposals  []shownProposal  `json:"proposals"`
	References []shownReference `json:"references"`
}

type shownProposal struct {
	Title      string   `json:"title"`
	Columns    []string `json:"columns"`
	Confidence float64  `json:"confidence"`
	Rows       *int64   `json:"rows,omitempty"`
	Violations *int64   `json:"violations,omitempty"`
}

type shownReference struct {
	Tag   string  `json:"tag"`
	Value *string `json:"value"`
}

// budget bounds the items of each kind in the evidence.
type budget struct {
	// objects bounds the items of a list of objects, rows those of a list of cited rows, and
	// values those of other lists.
	objects, rows, values int
	// characters bounds a text.
	characters int
}

// budgets are tried in order, until the evidence is small enough.
var budgets = []budget{
	{100, 10, 10, analysis.MaxText}, {50, 10, 10, analysis.MaxText}, {25, 5, 5, analysis.MaxText}, {12, 3, 5, 100}, {6, 2, 3, 60},
	{3, 1, 2, 40},
}

// minMembers is the number of members that an object may always have. It exceeds that of all
// types of results, so that only objects whose members are named by columns are cut.
const minMembers = 40

// spare lists the members that are left out, one after the other, if no budget suffices.
var spare = []string{"result", "references", "warnings", "proposals"}

// evidence encodes what a model sees of an answer, in at most maxEvidence bytes. Later items
// of lists are left out first. Equal answers have equal evidence.
func evidence(action analysis.Action, answer analysis.Answer) ([]byte, error) {
	e := shown{Action: action, Confidence: answer.Confidence, Sampled: answer.Sampled, Warnings: answer.Warnings, Result: answer.Result}
	for _, p := range answer.Proposals {
		e.Proposals = append(e.Proposals, shownProposal{p.Title, p.Columns, p.Confidence, p.Effect.Rows, p.Effect.Violations})
	}
	for _, r := range answer.References {
		// A tag that would be cut is left out, because it would cite nothing.
		if tag := r.Tag(); utf8.RuneCountInString(tag) <= analysis.MaxText && clean(tag) == tag {
			e.References = append(e.References, shownReference{tag, r.Value})
		}
	}
	encoded, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the answer of %s: %w", action, err)
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode the answer of %s: %w", action, err)
	}
	summary := excerpt(answer.Text, maxSummary)
	for _, b := range budgets {
		if data, err := encode(tree, b, summary); err != nil || len(data) <= maxEvidence {
			return data, err
		}
	}
	for _, name := range spare {
		tree[name] = nil
		if data, err := encode(tree, budgets[len(budgets)-1], summary); err != nil || len(data) <= maxEvidence {
			return data, err
		}
	}
	return nil, fmt.Errorf("evidence of %s is too large", action)
}

// encode cuts a tree to a budget and encodes it.
func encode(tree map[string]any, b budget, summary string) ([]byte, error) {
	c := cutter{budget: b}
	cut := c.object(tree)
	cut["summary"] = summary
	if c.omitted > 0 {
		cut["omittedItems"] = c.omitted
	}
	return json.Marshal(cut)
}

// cutter cuts values and counts the items that it leaves out.
type cutter struct {
	budget
	omitted int
}

func (c *cutter) cut(value any) any {
	switch v := value.(type) {
	case string:
		return excerpt(v, c.characters)
	case map[string]any:
		return c.object(v)
	case []any:
		return c.list(v)
	}
	return value
}

func (c *cutter) object(members map[string]any) map[string]any {
	names := slices.Sorted(maps.Keys(members))
	if limit := max(c.objects, minMembers); len(names) > limit {
		c.omitted += len(names) - limit
		names = names[:limit]
	}
	out := make(map[string]any, len(names))
	for _, name := range names {
		out[excerpt(name, c.characters)] = c.cut(members[name])
	}
	return out
}

func (c *cutter) list(items []any) []any {
	limit := c.values
	if len(items) > 0 {
		if object, ok := items[0].(map[string]any); ok {
			limit = c.objects
			if _, cited := object["values"].(map[string]any); cited {
				limit = c.rows // an analysis.CitedRow
			}
		}
	}
	if len(items) > limit {
		c.omitted += len(items) - limit
		items = items[:limit]
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = c.cut(item)
	}
	return out
}

// excerpt returns the first characters of a text, cleaned.
func excerpt(text string, characters int) string {
	n := 0
	for i := range text {
		if n == characters {
			return clean(text[:i]) + "…"
		}
		n++
	}
	return clean(text)
}
