package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/catalog"
)

func TestRolesIncludeTheWeakerOnes(t *testing.T) {
	roles := catalog.Roles()
	for i, a := range roles {
		for j, b := range roles {
			require.Equal(t, i >= j, a.Includes(b), "%s %s", a, b)
			require.Equal(t, roles[max(i, j)], a.Higher(b))
		}
		for _, none := range []catalog.Role{"", "owner", "Admin"} {
			require.False(t, a.Includes(none))
			require.False(t, none.Includes(a))
			require.False(t, none.Valid())
			require.Equal(t, a, none.Higher(a))
			require.Equal(t, a, a.Higher(none))
		}
	}
	require.False(t, catalog.Role("").Includes(""))
}

func TestParseID(t *testing.T) {
	const text = "0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11"
	id, err := catalog.ParseID[catalog.OrgID](strings.ToUpper(text))
	require.NoError(t, err)
	require.Equal(t, catalog.OrgID(text), id)
	for _, bad := range []string{"", "x", "{" + text + "}", strings.ReplaceAll(text, "-", ""), text + "0", "urn:uuid:" + text,
		"zb9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11"} {
		_, err := catalog.ParseID[catalog.OrgID](bad)
		require.ErrorIs(t, err, catalog.ErrNotFound, bad)
	}
}

func TestKeyUsable(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key := catalog.APIKey{ExpiresAt: now.Add(time.Second)}
	require.True(t, key.Usable(now))
	require.False(t, key.Usable(now.Add(time.Second)))
	key.RevokedAt = now
	require.False(t, key.Usable(now))
	require.False(t, catalog.APIKey{}.Usable(now), "a key without expiry does not exist")
}

func TestFeatures(t *testing.T) {
	var none catalog.OrganisationConfig
	require.Len(t, none.FeatureList(), 6)
	for _, f := range none.FeatureList() {
		require.Equal(t, f.DefaultEnabled, f.Enabled)
		require.Equal(t, f.Enabled, none.Enabled(f.Key))
		require.Contains(t, []string{"alpha", "beta", "ga"}, f.Phase)
		turned := catalog.OrganisationConfig{Features: map[string]bool{f.Key: !f.DefaultEnabled}}
		require.Equal(t, !f.DefaultEnabled, turned.Enabled(f.Key))
	}
	require.False(t, none.Enabled("unknown"))
}

// TestErrorsNeverRepeatValues checks that errors name the fault and never the input.
func TestErrorsNeverRepeatValues(t *testing.T) {
	const canary = "SECRET-canary\x00"
	for name, err := range map[string]error{
		"organisation": catalog.NewOrganisation{Name: canary, Config: catalog.OrganisationConfig{
			Features:         map[string]bool{canary: true},
			TableConstraints: &catalog.TableConstraints{NamePattern: "(" + canary},
		}}.Validate(),
		"user":      catalog.NewUser{Email: canary, DisplayName: canary}.Validate(),
		"workspace": catalog.NewWorkspace{Name: canary}.Validate(),
		"config": catalog.NewStorageConfig{Name: canary, Kind: canary, Location: canary, Settings: json.RawMessage(canary),
			AuthMode: canary}.Validate(),
		"table": catalog.NewTable{Path: canary, Name: canary, DeltaID: canary}.Validate(),
		"policy": catalog.PolicySpec{Table: canary, Column: canary, Kind: canary, Text: canary,
			Definition: json.RawMessage(canary)}.Validate(),
		"key": catalog.NewAPIKey{Name: canary, Prefix: canary, Scopes: []string{canary}}.Validate(time.Now()),
		"audit": catalog.AuditEntry{Action: canary, Resource: canary, Outcome: canary, RequestID: canary, Remote: canary,
			Details: json.RawMessage(canary)}.Validate(),
		"attributes": catalog.ValidateAttributes(map[string]string{canary: canary, "a": canary}),
		"discovery":  catalog.Discovery{Found: []catalog.FoundTable{{Path: canary}}}.Validate(),
	} {
		require.ErrorIs(t, err, catalog.ErrInvalid, name)
		require.NotContains(t, err.Error(), "canary", name)
	}
}

// TestCursor checks that a token restores the cursor it was made from, in its own list
// only, and that any other text is refused.
func TestCursor(t *testing.T) {
	text := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
	rapid.Check(t, func(t *rapid.T) {
		c := catalog.Cursor{List: text.Draw(t, "list"), Key: text.Draw(t, "key"), ID: text.Draw(t, "id")}
		page := catalog.Page{Token: c.Token()}
		got, ok, err := page.Cursor(c.List)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, c, got)
		_, ok, err = page.Cursor(c.List + "x")
		require.ErrorIs(t, err, catalog.ErrInvalid)
		require.False(t, ok)
	})
	_, ok, err := catalog.Page{}.Cursor("x")
	require.NoError(t, err)
	require.False(t, ok)
}

func FuzzPageToken(f *testing.F) {
	f.Add(catalog.Cursor{List: "tables", Key: "a", ID: "b"}.Token())
	f.Add("W10")
	f.Fuzz(func(t *testing.T, token string) {
		c, ok, err := catalog.Page{Token: token}.Cursor("tables")
		if err != nil && !errors.Is(err, catalog.ErrInvalid) || ok != (err == nil && token != "") {
			t.Fatalf("%q: %v %v", token, ok, err)
		}
		if ok && c.List != "tables" {
			t.Fatalf("%q: a cursor of %q", token, c.List)
		}
	})
}

func TestMailboxes(t *testing.T) {
	require.Equal(t, "ada@example.com", catalog.NormaliseEmail(" Ada@EXAMPLE.com "))
	require.NotEqual(t, "kate@example.com", catalog.NormaliseEmail("\u212Aate@example.com"), "a Kelvin sign is another mailbox")
	for _, address := range []string{"Ada@example.com", "a.b+c@xn--exmple-4ve.com"} {
		require.NoError(t, catalog.ValidateMailbox("email", address), address)
	}
	for _, address := range []string{"\u212Aate@example.com", "\u0430da@example.com", "ada@ex\u00e4mple.com", "ada", "x@service.invalid"} {
		require.ErrorIs(t, catalog.ValidateMailbox("email", address), catalog.ErrInvalid, "%q", address)
	}
}
