package analysis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// errAddress is the refusal of an address.
var errAddress = errors.New("address refused")

// providers returns use cases that record in checked which addresses were looked up.
func (w *world) providers(checked *[]string) analysis.Providers {
	return analysis.Providers{
		Store: w.store, Keys: w.keys,
		CheckURL: func(_ context.Context, field, address string) error {
			*checked = append(*checked, field+" "+address)
			if strings.Contains(address, "private") {
				return errAddress
			}
			return nil
		},
		Operator: map[catalog.ModelFamily]analysis.Access{
			catalog.FamilyB: {Key: "operator's", BaseURL: "http://gateway.internal"},
			catalog.FamilyC: {BaseURL: "http://gateway.internal/c"},
		},
		Models: func() []analysis.Model {
			return []analysis.Model{{ID: "familyA-x", Family: catalog.FamilyA, Default: true}, {ID: "familyB-x", Family: catalog.FamilyB},
				{ID: "familyC-x", Family: catalog.FamilyC}}
		},
	}
}

func TestProviderIsStoredWithoutItsKeyInSight(t *testing.T) {
	w := newWorld(t)
	var checked []string
	o := w.providers(&checked)
	admin := as(t, w.org, auth.RoleAdmin)
	stored, err := o.Put(admin, w.org, analysis.NewProvider{Family: "familyA", Key: "hush-0123456789", BaseURL: "https://models.example/v1"})
	require.NoError(t, err)
	require.Equal(t, []string{"baseUrl https://models.example/v1"}, checked)
	_, err = o.Put(admin, w.org, analysis.NewProvider{Family: "familyC", Key: "hush-c"})
	require.NoError(t, err)
	require.Len(t, checked, 1, "nothing to look up")
	found, err := o.Get(admin, w.org, "familyA")
	require.NoError(t, err)
	require.Equal(t, stored, found)
	list, err := o.List(admin, w.org)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.NotContains(t, fmt.Sprintf("%+v", list), "hush")
	_, sealed, err := w.store.AnalysisProviderKey(authz.System(t.Context(), "test"), w.org, catalog.FamilyA)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "hush")
	for _, b := range []secret.Binding{
		{Kind: catalog.SealedAnalysisKey, Org: w.org, Subject: "familyC"},
		{Kind: catalog.SealedAnalysisKey, Org: w.organisation(t, "owner@globex.example"), Subject: "familyA"},
	} {
		_, err = w.keys.Open(b, sealed)
		require.ErrorIs(t, err, secret.ErrSealed, "the key opens for its organisation and family only")
	}

	require.NoError(t, o.Delete(admin, w.org, "familyA"))
	require.ErrorIs(t, o.Delete(admin, w.org, "familyA"), catalog.ErrNotFound)
	_, err = o.Get(admin, w.org, "familyA")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func TestProviderIsForAdministratorsOfTheOrganisation(t *testing.T) {
	w := newWorld(t)
	var checked []string
	o := w.providers(&checked)
	for who, want := range map[string]struct {
		ctx context.Context
		err error
	}{
		"a builder":  {as(t, w.org, auth.RoleBuilder), catalog.ErrDenied},
		"a stranger": {as(t, w.organisation(t, "owner@globex.example"), auth.RoleAdmin), catalog.ErrNotFound},
		"nobody":     {t.Context(), auth.ErrNoPrincipal},
	} {
		_, err := o.Put(want.ctx, w.org, analysis.NewProvider{Family: "familyA", Key: "k", BaseURL: "https://models.example"})
		require.ErrorIs(t, err, want.err, who)
		_, err = o.Get(want.ctx, w.org, "familyA")
		require.ErrorIs(t, err, want.err, who)
		_, err = o.List(want.ctx, w.org)
		require.ErrorIs(t, err, want.err, who)
		require.ErrorIs(t, o.Delete(want.ctx, w.org, "familyA"), want.err, who)
	}
	require.Empty(t, checked, "they have the server look nothing up")
}

func TestWrongProvidersAreRefused(t *testing.T) {
	w := newWorld(t)
	var checked []string
	o := w.providers(&checked)
	admin := as(t, w.org, auth.RoleAdmin)
	for _, family := range []string{"familyD", "", "FAMILYA"} {
		_, err := o.Put(admin, w.org, analysis.NewProvider{Family: family, Key: "k"})
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
	for _, key := range []string{"", "two words", "line\n", "caf\u00e9", strings.Repeat("k", 4097)} {
		_, err := o.Put(admin, w.org, analysis.NewProvider{Family: "familyA", Key: key, BaseURL: "https://models.example"})
		var fields catalog.FieldErrors
		require.ErrorAs(t, err, &fields)
		require.Equal(t, "key", fields[0].Field)
	}
	_, err := o.Put(admin, w.org, analysis.NewProvider{Family: "familyA", Key: "k", BaseURL: "https://u:p@models.example"})
	require.ErrorIs(t, err, catalog.ErrInvalid)
	require.Empty(t, checked)
	_, err = o.Put(admin, w.org, analysis.NewProvider{Family: "familyA", Key: "k", BaseURL: "https://private.example"})
	require.ErrorIs(t, err, errAddress)
	list, err := o.List(admin, w.org)
	require.NoError(t, err)
	require.Empty(t, list)
}

// TestOperatorsKeyStaysWithTheOperatorsAddress checks which key goes where.
func TestOperatorsKeyStaysWithTheOperatorsAddress(t *testing.T) {
	w := newWorld(t)
	var checked []string
	o := w.providers(&checked)
	access := func(family catalog.ModelFamily) analysis.Access {
		t.Helper()
		found, err := o.Access(t.Context(), w.org, family)
		require.NoError(t, err)
		return found
	}
	available := func() []bool {
		t.Helper()
		models, err := o.ListModels(as(t, w.org, auth.RoleViewer))
		require.NoError(t, err)
		out := []bool{}
		for _, m := range models {
			out = append(out, m.Available)
		}
		return out
	}
	_, err := o.Access(t.Context(), w.org, catalog.FamilyA)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = o.Access(t.Context(), w.org, catalog.FamilyC)
	require.ErrorIs(t, err, catalog.ErrNotFound, "an address is not a key")
	require.Equal(t, analysis.Access{Key: "operator's", BaseURL: "http://gateway.internal"}, access(catalog.FamilyB))
	require.Equal(t, []bool{false, true, false}, available())

	admin := as(t, w.org, auth.RoleAdmin)
	for _, family := range catalog.ModelFamilies() {
		_, err := o.Put(admin, w.org, analysis.NewProvider{Family: string(family), Key: "own"})
		require.NoError(t, err)
	}
	require.Equal(t, analysis.Access{Key: "own"}, access(catalog.FamilyA))
	require.Equal(t, analysis.Access{Key: "own", BaseURL: "http://gateway.internal/c"}, access(catalog.FamilyC))
	require.Equal(t, []bool{true, true, true}, available())
	_, err = o.Put(admin, w.org, analysis.NewProvider{Family: "familyB", Key: "own", BaseURL: "https://models.example"})
	require.NoError(t, err)
	require.Equal(t, analysis.Access{Key: "own", BaseURL: "https://models.example", Confined: true}, access(catalog.FamilyB))
	require.NoError(t, o.Delete(admin, w.org, "familyB"))
	require.Equal(t, analysis.Access{Key: "operator's", BaseURL: "http://gateway.internal"}, access(catalog.FamilyB))

	_, err = o.ListModels(t.Context())
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	require.False(t, o.Models()[0].Available, "the list of all organisations stays as it is")
}
