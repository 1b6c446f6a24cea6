package catalogtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func policies(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	spec := catalog.PolicySpec{
		Table: w.delta(), Column: "région", Kind: catalog.PolicyRows, Text: "permit (principal, action, resource);",
		Definition: json.RawMessage(`{"effect": "permit"}`), BuilderManaged: true, Enabled: true,
	}
	created := w.policy(org, owner, spec)
	require.Equal(t, int64(1), created.Version)
	require.Equal(t, owner, created.CreatedBy)
	w.same(spec, created.PolicySpec)
	found, err := w.Policy(w.ctx, org, created.ID)
	require.NoError(t, err)
	w.same(created, found)
	_, err = w.Policy(w.ctx, other, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	editor := w.member(org, catalog.RoleAdmin)
	spec.Enabled, spec.Definition, spec.BuilderManaged = false, nil, false
	changed, err := w.UpdatePolicy(w.ctx, org, created.ID, 1, spec, editor)
	require.NoError(t, err)
	require.Equal(t, int64(2), changed.Version)
	require.Equal(t, owner, changed.CreatedBy)
	require.Equal(t, editor, changed.UpdatedBy)
	w.same(spec, changed.PolicySpec)

	_, err = w.UpdatePolicy(w.ctx, org, created.ID, 1, spec, editor)
	stale(w, err, 2)
	stale(w, w.DeletePolicy(w.ctx, org, created.ID, 1, editor), 2)
	_, err = w.UpdatePolicy(w.ctx, org, created.ID, catalog.AnyVersion, spec, editor)
	require.Equal(t, []string{"expected_version"}, fieldsOf(w, err))
	require.Equal(t, []string{"expected_version"}, fieldsOf(w, w.DeletePolicy(w.ctx, org, created.ID, catalog.AnyVersion, editor)))
	_, err = w.UpdatePolicy(w.ctx, other, created.ID, 2, spec, editor)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.DeletePolicy(w.ctx, other, created.ID, 2, editor), catalog.ErrNotFound)

	for field, broken := range map[string]func(*catalog.PolicySpec){
		"kind":        func(s *catalog.PolicySpec) { s.Kind = "x" },
		"column_name": func(s *catalog.PolicySpec) { s.Kind, s.Column = catalog.PolicyMask, "" },
		"policy_text": func(s *catalog.PolicySpec) { s.Text = strings.Repeat("x", catalog.MaxPolicyTextBytes+1) },
		"definition":  func(s *catalog.PolicySpec) { s.Definition = json.RawMessage(`"text"`) },
	} {
		bad := spec
		broken(&bad)
		_, err = w.UpdatePolicy(w.ctx, org, created.ID, 2, bad, editor)
		require.Equal(t, []string{field}, fieldsOf(w, err))
		_, err = w.CreatePolicy(w.ctx, catalog.NewPolicy{Org: org, PolicySpec: bad, By: owner})
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}

	onAll := w.policy(org, owner, rowPolicy(""))
	list, err := w.ListPolicies(w.ctx, org, catalog.PolicyFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Equal(t, []catalog.PolicyID{created.ID, onAll.ID}, []catalog.PolicyID{list.Items[0].ID, list.Items[1].ID})
	list, err = w.ListPolicies(w.ctx, org, catalog.PolicyFilter{Table: spec.Table}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	list, err = w.ListPolicies(w.ctx, other, catalog.PolicyFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func policyHistory(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	editor := w.member(org, catalog.RoleAdmin)
	first := rowPolicy(w.delta())
	second := first
	second.Enabled, second.Definition = false, json.RawMessage(`{"effect":"forbid"}`)
	p := w.policy(org, owner, first)
	_, err := w.UpdatePolicy(w.ctx, org, p.ID, 1, second, editor)
	require.NoError(t, err)
	require.NoError(t, w.DeletePolicy(w.ctx, org, p.ID, 2, owner))
	_, err = w.Policy(w.ctx, org, p.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	history := all(w, 2, func(page catalog.Page) (catalog.List[catalog.PolicyRevision], error) {
		return w.PolicyHistory(w.ctx, org, p.ID, page)
	})
	require.Len(t, history, 3)
	for i, want := range []catalog.PolicyRevision{
		{Policy: p.ID, Org: org, Version: 3, Action: catalog.PolicyDeleted, PolicySpec: second, By: owner},
		{Policy: p.ID, Org: org, Version: 2, Action: catalog.PolicyUpdated, PolicySpec: second, By: editor},
		{Policy: p.ID, Org: org, Version: 1, Action: catalog.PolicyCreated, PolicySpec: first, By: owner},
	} {
		want.At = history[i].At
		w.same(want, history[i])
	}
	require.True(t, history[0].At.After(history[1].At))
	_, err = w.PolicyHistory(w.ctx, other, p.ID, catalog.Page{})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.PolicyHistory(w.ctx, org, catalog.NewID[catalog.PolicyID](), catalog.Page{})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func enabledPolicies(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	one, two := w.delta(), w.delta()
	off := rowPolicy(one)
	off.Enabled = false
	onOne, onTwo, onAll := w.policy(org, owner, rowPolicy(one)), w.policy(org, owner, rowPolicy(two)), w.policy(org, owner, rowPolicy(""))
	w.policy(org, owner, off)
	w.policy(other, stranger, rowPolicy(one))
	w.policy(other, stranger, rowPolicy(""))

	for _, c := range []struct {
		tables []catalog.DeltaID
		want   []catalog.Policy
	}{
		{nil, []catalog.Policy{onAll}},
		{[]catalog.DeltaID{one}, []catalog.Policy{onOne, onAll}},
		{[]catalog.DeltaID{one, two, one}, []catalog.Policy{onOne, onTwo, onAll}},
		{[]catalog.DeltaID{w.delta()}, []catalog.Policy{onAll}},
	} {
		got, err := w.EnabledPolicies(w.ctx, org, c.tables)
		require.NoError(t, err)
		require.ElementsMatch(t, c.want, got)
		for i := 1; i < len(got); i++ {
			require.Less(t, got[i-1].ID, got[i].ID)
		}
	}
}

func deletedPolicies(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	one, two := w.delta(), w.delta()
	remove := func(org catalog.OrgID, by catalog.UserID, p catalog.Policy) {
		require.NoError(t, w.DeletePolicy(w.ctx, org, p.ID, p.Version, by))
	}
	off := rowPolicy(one)
	off.Enabled = false
	first, second := w.policy(org, owner, rowPolicy(one)), w.policy(org, owner, rowPolicy(one))
	w.policy(org, owner, rowPolicy(one))
	moved := w.policy(org, owner, rowPolicy(one))
	moved, err := w.UpdatePolicy(w.ctx, org, moved.ID, 1, rowPolicy(two), owner)
	require.NoError(t, err)
	for _, p := range []catalog.Policy{second, first, moved, w.policy(org, owner, off), w.policy(org, owner, rowPolicy(""))} {
		remove(org, owner, p)
	}
	remove(other, stranger, w.policy(other, stranger, rowPolicy(one)))
	var back catalog.Policy
	for _, route := range [][]catalog.PolicySpec{{rowPolicy("")}, {rowPolicy(two), rowPolicy(one)}, {off, rowPolicy(two)}} {
		p := w.policy(org, owner, rowPolicy(one))
		if len(route) == 2 && route[1].Table == one {
			back = p
		}
		for _, spec := range route {
			p, err = w.UpdatePolicy(w.ctx, org, p.ID, p.Version, spec, owner)
			require.NoError(t, err)
		}
	}

	deleted := func(p catalog.Policy) catalog.PolicyRevision {
		return catalog.PolicyRevision{Policy: p.ID, Org: org, Version: p.Version + 1, Action: catalog.PolicyDeleted, PolicySpec: p.PolicySpec,
			By: owner}
	}
	away := catalog.PolicyRevision{Policy: moved.ID, Org: org, Version: 1, Action: catalog.PolicyCreated, PolicySpec: rowPolicy(one),
		By: owner}
	returned := catalog.PolicyRevision{Policy: back.ID, Org: org, Version: 2, Action: catalog.PolicyUpdated, PolicySpec: rowPolicy(two),
		By: owner}
	for table, want := range map[catalog.DeltaID][]catalog.PolicyRevision{one: {away, deleted(second), deleted(first)},
		two: {deleted(moved), returned}, w.delta(): {}} {
		got, err := w.DeletedPolicies(w.ctx, org, table)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i, r := range want {
			r.At = got[i].At
			w.same(r, got[i])
		}
	}
	got, err := w.DeletedPolicies(w.ctx, org, one)
	require.NoError(t, err)
	require.False(t, got[0].At.Before(moved.UpdatedAt), "it was given away then: %v", got[0].At)
}
