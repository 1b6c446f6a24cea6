package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestColumnPoliciesChangeBetweenStatements switches policies that hide and mask
// a column while statements run: an answer fits a state that was in force while
// its statement ran, and the statement after a change fits the new one.
func TestColumnPoliciesChangeBetweenStatements(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Memory, c.Lease, c.Threads = 6, 1536, 256, 1 })
	s.Table("people", `SELECT i AS id, 'SECRET-' || lpad(i::VARCHAR, 4, '0') AS ssn FROM range(500) t(i)`, nil, column{"id", "long"},
		column{"ssn", "string"})
	ana, ben := s.Member("ana@acme.example", "viewer", nil), s.Member("ben@acme.example", "editor", nil)
	// The switches: hidden, masked. A bit of a state each.
	switches := []map[string]any{
		s.Rule("cls", "people", "ssn", harness.ViewersNot), s.Rule("mask", "people", "ssn",
			`{"effect":"forbid","subject":{"role":"viewer"},"mask":"last4"}`),
	}
	expected := func(state int) string {
		switch {
		case state&1 != 0:
			return "[[499]] id column_not_found"
		case state&2 != 0:
			return "[[****0499 499]] id ssn"
		}
		return "[[SECRET-0499 499]] id ssn"
	}
	var mu sync.Mutex // guards states: those from settled on may be in force
	states, settled := []int{3}, 0
	window := func() (from, to int) {
		mu.Lock()
		defer mu.Unlock()
		return settled, len(states)
	}
	fits := func(got string, from, to int) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, state := range states[from:to] {
			if expected(state) == got {
				return true
			}
		}
		return false
	}
	// look is one statement: what of the columns it returns, or its refusal.
	look := func(c *harness.Client, sql string) (string, error) {
		got, err := c.Answer(0, harness.SQLAsk(sql))
		if err != nil {
			return "", err
		}
		var body struct {
			Code    string
			Columns []struct{ Name string }
			Rows    [][]any
		}
		if at := strings.LastIndex(got.Body, `,"row_count"`); got.Status == http.StatusOK {
			got.Body = got.Body[:at] + "}" // times and ids were cut out of the rest
		}
		if err := json.Unmarshal([]byte(got.Body), &body); err != nil || got.Status >= 500 {
			return "", errors.Join(err, fmt.Errorf("%d %s", got.Status, got.Body))
		}
		if got.Status != http.StatusOK {
			return "id " + body.Code, nil
		}
		if len(body.Columns) == 1 {
			return fmt.Sprintf("%v id column_not_found", body.Rows), nil
		}
		return fmt.Sprintf("%v id ssn", [][]any{{body.Rows[0][1], body.Rows[0][0]}}), nil
	}
	star := "SELECT * FROM " + s.Schema + ".people WHERE id = 499"
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var background atomic.Int64
	errs := make([]error, 3)
	for i, c := range []*harness.Client{ana, ana, ben} {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				from, _ := window()
				got, err := look(c, star)
				_, to := window()
				background.Add(1)
				switch {
				case to-from > 1 && (harness.Cancelled(err) || got == "id query_cancelled"): // a policy changed while it ran
				case err != nil:
					errs[i] = err
				case c == ana && !fits(got, from, to):
					errs[i] = fmt.Errorf("%s fits no state from %d to %d", got, from, to)
				case c == ben && got != expected(0):
					errs[i] = fmt.Errorf("another user sees %s", got)
				}
			}
		})
	}
	versions := []int{1, 1}
	current := 3
	for i := range 150 {
		which := i * 7 / 3 % 2
		next := current ^ 1<<which
		mu.Lock()
		states = append(states, next)
		mu.Unlock()
		s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+switches[which]["id"].(string),
			map[string]any{"enabled": next&(1<<which) != 0, "expectedVersion": versions[which]})
		versions[which]++
		mu.Lock()
		settled = len(states) - 1
		mu.Unlock()
		current = next
		got, err := look(ana, star)
		require.NoError(t, err)
		require.Equal(t, expected(current), got, "change %d was not in force for the next statement", i)
		named, err := look(ana, "SELECT id, ssn FROM "+s.Schema+".people WHERE id = 499")
		require.NoError(t, err)
		if current&1 != 0 {
			require.Equal(t, "id column_not_found", named)
		} else {
			require.Equal(t, expected(current), named)
		}
		for background.Load() < int64(i/3) { // others run during the changes
			harness.Pause(t.Context(), time.Millisecond)
		}
	}
	stop()
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Logf("%d statements ran beside 150 changes", background.Load())
}
