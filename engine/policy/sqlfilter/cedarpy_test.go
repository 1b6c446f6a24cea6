package sqlfilter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// judge reads cases from standard input and answers with Cedar's decisions.
const judgeScript = `
import json, sys, cedarpy
out = []
for case in json.load(sys.stdin):
    requests = [{"principal": 'User::"u1"', "action": 'Action::"read"', "resource": 'Row::"%d"' % i, "context": {}}
                for i in range(case["rows"])]
    results = cedarpy.is_authorized_batch(requests, case["policies"], case["entities"])
    out.append([[r.decision.value, len(r.diagnostics.errors)] for r in results])
json.dump(out, sys.stdout)
`

type judgeCase struct {
	Policies string `json:"policies"`
	Entities []any  `json:"entities"`
	Rows     int    `json:"rows"`
	want     []bool
}

// The reference implementation of Cedar decides rendered texts as the oracle
// does, without an error.
func TestReferenceCedarMatchesOracle(t *testing.T) {
	interpreter := oracletest.Python(t)
	all := rows()[:24]
	var cases []judgeCase
	sample := rapid.Custom(func(rt *rapid.T) judgeCase {
		defs, w := cedarCase(rt)
		c := judgeCase{Rows: len(all)}
		for _, d := range defs {
			text, err := policy.Render(d.def, d.column, policy.KindRLS, columns)
			require.NoError(t, err)
			c.Policies += text + "\n"
		}
		user := map[string]any{
			"uid": uid("User", "u1"), "parents": []any{uid("Role", w.role)}, "attrs": cedarUser(w.attrs),
		}
		c.Entities = []any{user, map[string]any{"uid": uid("Role", w.role), "parents": []any{}, "attrs": types.NewRecord(nil)}}
		for i, r := range all {
			c.Entities = append(c.Entities, map[string]any{"uid": uid("Row", fmt.Sprint(i)), "parents": []any{}, "attrs": cedarRow(r)})
			c.want = append(c.want, w.visible(defs, r))
		}
		return c
	})
	for seed := range 150 {
		cases = append(cases, sample.Example(seed))
	}
	input, err := json.Marshal(cases)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-c", judgeScript)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var got [][][2]any
	require.NoError(t, json.Unmarshal(output, &got))
	require.Len(t, got, len(cases))
	allowed := 0
	for i, c := range cases {
		require.Len(t, got[i], len(c.want))
		for j, want := range c.want {
			require.Equal(t, map[bool]any{true: "Allow", false: "Deny"}[want], got[i][j][0], "%s\nrow %v", c.Policies, all[j])
			require.EqualValues(t, 0, got[i][j][1], c.Policies)
			if want {
				allowed++
			}
		}
	}
	require.Greater(t, allowed, 100)
}

func uid(typ, id string) map[string]any { return map[string]any{"type": typ, "id": id} }
