package operation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// The bounds of what one request body may cost the server, whatever it holds.
const (
	costlyBody  = 1 << 20
	smallBody   = costlyBody / 8
	costAllowed = 32 << 20
)

// repeated returns text of about n bytes between two ends: item(0), item(1), …
// with commas between them.
func repeated(n int, begin string, item func(i int) string, end string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 0; ; i++ {
		next := item(i)
		if b.Len()+len(next)+len(end)+1 > n {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(next)
	}
	b.WriteString(end)
	return b.String()
}

func constant(text string) func(int) string { return func(int) string { return text } }

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

// bodyShape makes a body of about n bytes.
type bodyShape func(n int) string

// bodyShapes are bodies that any operation may get.
var bodyShapes = map[string]bodyShape{
	"many unknown members":       func(n int) string { return repeated(n, `{`, numbered(`"%x":1`), `}`) },
	"unknown members of objects": func(n int) string { return repeated(n, `{`, numbered(`"k%x":{"a":[{}]}`), `}`) },
	"a long name":                func(n int) string { return `{"` + strings.Repeat("n", n-8) + `":1}` },
	"many long names": func(n int) string {
		return repeated(n, `{`, func(i int) string { return fmt.Sprintf(`"%s%d":1`, strings.Repeat("n", 900), i) }, `}`)
	},
	"one name many times": func(n int) string { return repeated(n, `{`, constant(`"a":1`), `}`) },
	"deep lists":          func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"deep objects":        func(n int) string { return strings.Repeat(`{"a":`, n/6) + "1" + strings.Repeat("}", n/6) },
	"deep and open":       func(n int) string { return `{"a":` + strings.Repeat("[", n-5) },
	"a long list":         func(n int) string { return repeated(n, `[`, constant(`1`), `]`) },
	"a list of objects":   func(n int) string { return repeated(n, `[`, constant(`{}`), `]`) },
	"a long text":         func(n int) string { return `"` + strings.Repeat("t", n-2) + `"` },
	"escapes":             func(n int) string { return `{"a":"` + strings.Repeat(`\u0000`, n/6-2) + `"}` },
	"a long number":       func(n int) string { return `{"a":` + strings.Repeat("9", n-6) + `}` },
	"no JSON":             func(n int) string { return strings.Repeat(":", n) },
}

// withMember puts a long value in the place of one member of a body that is valid
// otherwise.
func withMember(base map[string]json.RawMessage, member string, value bodyShape) bodyShape {
	return func(n int) string {
		rest := maps.Clone(base)
		delete(rest, member)
		text, _ := json.Marshal(rest) // JSON already: cannot fail
		text = text[:len(text)-1]
		if len(rest) > 0 {
			text = append(text, ',')
		}
		return fmt.Sprintf(`%s%q:%s}`, text, member, value(n-len(text)-len(member)-4))
	}
}

// valuesOf are long values for a member, some of its type and some not.
func (d description) valuesOf(s schema) map[string]bodyShape {
	s = d.resolve(s)
	out := map[string]bodyShape{
		"long text":    func(n int) string { return `"` + strings.Repeat("é", (n-2)/2) + `"` },
		"many members": func(n int) string { return repeated(n, `{`, numbered(`"k%x":"v"`), `}`) },
		"long list":    func(n int) string { return repeated(n, `[`, numbered(`"%x"`), `]`) },
	}
	if s.Items == nil {
		return out
	}
	item := d.resolve(*s.Items)
	if len(item.Properties) > 0 {
		out["empty objects"] = func(n int) string { return repeated(n, `[`, constant(`{}`), `]`) }
		out["unknown members"] = func(n int) string { return repeated(n, `[`, constant(`{"a":1,"b":2,"c":3}`), `]`) }
	}
	out["numbers"] = func(n int) string { return repeated(n, `[`, constant(`1`), `]`) }
	// The first would fit the bound on values alone, the second fits all bounds.
	out["long numbers"] = func(n int) string { return repeated(n, `[`, constant(`1111111111`), `]`) }
	out["longest numbers"] = func(n int) string { return repeated(n, `[`, constant(strings.Repeat("1", 110)), `]`) }
	return out
}

// bodiesFor are the shapes for one operation, by name.
func bodiesFor(t *testing.T, d description, op operation, body schema) map[string]bodyShape {
	out := maps.Clone(bodyShapes)
	base := map[string]json.RawMessage{}
	if text := operationAccess[op.OperationID].body; text != "" {
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "%s", "tables:read")), &base), op.OperationID)
	}
	for name, property := range body.Properties {
		for kind, value := range d.valuesOf(property) {
			out[name+": "+kind] = withMember(base, name, value)
		}
	}
	return out
}

// rowBodies are bodies of rows in the formats of text, for a table of the columns
// id and name.
var rowBodies = map[string]map[string]bodyShape{
	"application/json": {
		"unknown columns":       func(n int) string { return repeated(n, `{"rows":[`, numbered(`{"k%x":1}`), `]}`) },
		"a row of many columns": func(n int) string { return `{"rows":[` + repeated(n-12, `{`, numbered(`"k%x":1`), `}`) + `]}` },
		"a column many times":   func(n int) string { return `{"rows":[` + repeated(n-12, `{`, constant(`"id":1`), `}`) + `]}` },
		"empty rows":            func(n int) string { return repeated(n, `{"rows":[`, constant(`{}`), `]}`) },
		"numbers for rows":      func(n int) string { return repeated(n, `{"rows":[`, constant(`1`), `]}`) },
		"a row of many values":  func(n int) string { return `{"rows":[` + repeated(n-12, `[`, constant(`1`), `]`) + `]}` },
		"deep values": func(n int) string {
			return `{"rows":[{"id":` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `}]}`
		},
		"long names":             func(n int) string { return `{"rows":[{"` + strings.Repeat("n", n-20) + `":1}]}` },
		"members beside rows":    func(n int) string { return repeated(n, `{"rows":[],`, numbered(`"k%x":1`), `}`) },
		"a long list beside":     func(n int) string { return `{"rows":[],"on":` + repeated(n-20, `[`, constant(`"id"`), `]`) + `}` },
		"a list of other things": func(n int) string { return `{"rows":[],"on":` + repeated(n-20, `[`, constant(`{}`), `]`) + `}` },
	},
	"application/x-ndjson": {
		"unknown columns": func(n int) string { return strings.Repeat(`{"k":1}`+"\n", n/8) },
		"numbers":         func(n int) string { return strings.Repeat("1\n", n/2) },
	},
	"text/csv": {
		"many columns":     func(n int) string { return repeated(n, ``, numbered(`k%x`), "\n") },
		"no column names":  func(n int) string { return strings.Repeat(",", n) },
		"many problems":    func(n int) string { return "id\n" + strings.Repeat("x\n", n/2) },
		"many short lines": func(n int) string { return "id,name\n" + strings.Repeat("1\n", n/2) },
		"open quote":       func(n int) string { return "id\n\"" + strings.Repeat("x", n) },
	},
}

// costs measures what requests allocate in this process, which is that of the
// server and, with little, of the client.
type costs struct {
	t *testing.T
	s *harness.Server
	// The most that one request took.
	bytes   uint64
	elapsed time.Duration
	most    string
}

// of sends a body and returns the bytes that were allocated meanwhile.
func (m *costs) of(c *harness.Client, name, method, path, contentType, body string) uint64 {
	m.t.Helper()
	var before, after runtime.MemStats
	logged := m.s.Log.Len()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	r := c.Call(method, path, body, "Content-Type", contentType)
	elapsed := time.Since(begun)
	runtime.ReadMemStats(&after)
	require.Less(m.t, r.Status, 500, "%s: %s", name, r.Body)
	require.Less(m.t, len(r.Body), 256<<10, "%s: the reply repeats the body", name)
	if r.Status >= 400 && r.Status != http.StatusRequestEntityTooLarge {
		_, fields := r.Problem(m.t, r.Status)
		require.LessOrEqual(m.t, len(fields), 100, name)
	}
	require.Eventually(m.t, func() bool { return m.s.Log.Len() > logged }, time.Minute, time.Millisecond, "no line in the log")
	require.Less(m.t, m.s.Log.Len()-logged, 16<<10, "%s: the log repeats the body", name)
	took := after.TotalAlloc - before.TotalAlloc
	if len(body) > costlyBody/2 {
		if took > m.bytes {
			m.bytes, m.most = took, name
		}
		m.elapsed = max(m.elapsed, elapsed)
	}
	return took
}

// grow sends a shape: it must cost no more than the bound, and eight times the body
// no more than eight times as much.
func (m *costs) grow(c *harness.Client, name, method, path, contentType string, shape bodyShape) {
	m.t.Helper()
	large := m.of(c, name, method, path, contentType, shape(costlyBody))
	if large > costAllowed {
		m.t.Errorf("%s: %d bytes", name, large)
	}
	const slack = 6 << 20 // what bodies of any size cost, and what else the process does meanwhile
	if large <= slack {
		return
	}
	small := m.of(c, name, method, path, contentType, shape(smallBody))
	if large > small*costlyBody/smallBody*3/2+slack {
		m.t.Errorf("%s: %d bytes, and %d for an eighth of the body", name, large, small)
	}
}

// TestNoBodyCostsMuchMoreThanItsSize sends every operation bodies that are made to
// be costly. What they may cost is counted in bytes, not in time: that is the same
// on every machine.
func TestNoBodyCostsMuchMoreThanItsSize(t *testing.T) {
	s := harness.Start(t, nil)
	s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	stranger, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"org:read"}})
	d, m := readDescription(t), &costs{t: t, s: s}
	for n, op := range d.operations() {
		body, ok := op.body(d)
		if !ok {
			continue
		}
		path := strings.NewReplacer("{catalog}", "lake", "{schema}", s.Schema, "{table_name}", "t", "{organisation_id}", s.Boot.OrganisationID,
			"{org_id}", s.Boot.OrganisationID, "{user_id}", s.Boot.UserID, "{column}", "name").Replace(op.path)
		op.path = path
		path = op.fill("", "")
		shapes := bodiesFor(t, d, op, body)
		for i, kind := range slices.Sorted(maps.Keys(shapes)) {
			// Operations read bodies alike, so each general shape is sent to some of them.
			if bodyShapes[kind] != nil && os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" && (i+n)%3 != 0 {
				continue
			}
			m.grow(s.Admin, op.OperationID+": "+kind, op.method, path, "application/json", shapes[kind])
		}
		if op.streamsRows() {
			for contentType, shapes := range rowBodies {
				for _, kind := range slices.Sorted(maps.Keys(shapes)) {
					m.grow(s.Admin, op.OperationID+": "+contentType+": "+kind, op.method, path, contentType, shapes[kind])
				}
			}
		}
		m.grow(stranger, op.OperationID+" without the scope", op.method, path, "application/json", bodyShapes["many unknown members"])
	}
	t.Logf("at most %d bytes (%s) and %s for a body of %d bytes", m.bytes, m.most, m.elapsed, costlyBody)
}
