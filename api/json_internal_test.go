package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSONBounds(t *testing.T) {
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":1,`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	thousand := `[` + strings.Repeat("1,", 999) + `1]`
	for name, c := range map[string]struct {
		body string
		err  error
	}{
		"deepest":              {strings.Repeat("[", maxJSONDepth) + strings.Repeat("]", maxJSONDepth), nil},
		"too deep":             {strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1), errDepth},
		"too deep and open":    {strings.Repeat(`{"a":[`, maxJSONDepth), errDepth},
		"brackets in text":     {`{"a":"` + strings.Repeat("[", 1000) + `"}`, nil},
		"quotes in text":       {`{"a":"\"` + strings.Repeat("{", 1000) + `"}`, nil},
		"backslash at the end": {`{"a\\":[["` + strings.Repeat("[", 1000) + `"]]}`, nil},
		"longest name":         {`{"` + strings.Repeat("n", maxJSONName) + `":1}`, nil},
		"long name":            {`{"` + strings.Repeat("n", maxJSONName+1) + `":1}`, errName},
		"long text":            {`{"a":"` + strings.Repeat("n", 1<<20) + `"}`, nil},
		"most members":         {`{` + names(maxJSONMembers) + `}`, nil},
		"too many members":     {`{` + names(maxJSONMembers+1) + `}`, errMembers},
		"members elsewhere":    {`[{` + names(maxJSONMembers) + `},{` + names(maxJSONMembers) + `}]`, nil},
		"members around":       {`{` + names(maxJSONMembers-1) + `,"a":{"b":1},"c":{"d":{}},"e":1}`, errMembers},
		"most items":           {`[` + strings.Repeat("1,", maxJSONMembers-1) + `1]`, nil},
		"too many items":       {`[` + strings.Repeat("1,", maxJSONMembers) + `1]`, errMembers},
		"items around":         {`[` + strings.Repeat("1,", maxJSONMembers-2) + `[1,1],{"a":1},1]`, errMembers},
		"most values":          {`[` + strings.Repeat(thousand+",", 98) + thousand + `]`, nil},
		"too many values":      {`[` + strings.Repeat(thousand+",", 99) + thousand + `]`, errValues},
		"a member twice":       {`{"a":1,"a":2}`, errJSON},
		"a member twice below": {`{"a":{"b":1,"\u0062":2}}`, errJSON},
		"no UTF-8":             {"{\"a\":\"\xff\"}", errJSON},
		"half a pair":          {`{"a":"\ud800"}`, errJSON},
		"more behind":          {`{} {}`, errJSON},
		"cut off":              {`{"a":`, errJSON},
		"open text":            {`{"a":"\`, errJSON},
		"nothing":              {` `, errJSON},
		"closing only":         {strings.Repeat("}", 100), errJSON},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			require.ErrorIs(t, jsonFormat.Unmarshal([]byte(c.body), &value), c.err)
		})
	}
}

// Checking the bounds allocates nothing, whatever the body is.
func TestJSONBoundsAllocateNothing(t *testing.T) {
	for _, body := range []string{
		"[" + strings.Repeat(`{"a":1},`, 10_000) + "1]", strings.Repeat("[", 1<<20), `{"` + strings.Repeat("n", 1<<20) + `":1}`,
		strings.Repeat(`"`, 1<<20),
	} {
		data := []byte(body)
		require.Zero(t, testing.AllocsPerRun(10, func() { _ = withinBounds(data) }))
	}
}
