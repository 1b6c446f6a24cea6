package delegated_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/azure"
	"github.com/lakewarden/lakewarden/engine/storage/kind/delegated"
	"github.com/lakewarden/lakewarden/engine/storage/kind/gcs"
)

// TestRootsAreThoseOfTheProvidersStores: the same root has one location, whichever kind opens it.
func TestRootsAreThoseOfTheProvidersStores(t *testing.T) {
	egress := storage.Egress{AllowPrivate: true}
	unlinked := errors.New("not linked")
	owner := kind.Owner{Org: "org", User: "user"}
	k := delegated.Kind{
		Google: gcs.Kind{Egress: egress}, Microsoft: azure.Kind{Egress: egress},
		Tokens: func(_ context.Context, by kind.Owner, provider string) (string, error) {
			require.Equal(t, owner, by)
			require.Equal(t, delegated.Google, provider)
			return "planted", unlinked
		},
	}.OwnedBy(owner)
	for fields, want := range map[string]kind.Location{
		`{"provider":"provider_one","bucket":"lake","prefix":"/a/b/"}`: {
			Scheme: kind.GoogleScheme, Store: kind.GoogleStore, Container: "lake", Prefix: "a/b",
		},
		`{"provider":"provider_three","account":"lakeone","container":"raw"}`: {
			Scheme: "az", Store: "core.windows.net/lakeone", Container: "raw",
		},
	} {
		access, err := k.New(kind.Secret(fields))
		require.NoError(t, err)
		r, err := access.Record()
		require.NoError(t, err)
		require.Equal(t, want, r.Location)
		require.Equal(t, "delegated", r.Mode)
		require.Nil(t, r.Ambient)
		secret, err := access.Secret()
		require.NoError(t, err)
		require.Empty(t, secret)
		again, err := k.Access(r.Settings, nil)
		require.NoError(t, err)
		same, err := again.Record()
		require.NoError(t, err)
		require.Equal(t, r, same, "as stored")
	}

	access, err := k.New(kind.Secret(`{"provider":"provider_one","bucket":"lake"}`))
	require.NoError(t, err)
	require.ErrorIs(t, access.Check(t.Context()), unlinked)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", access, access, access), "planted")

	var fields kind.FieldErrors
	for _, wrong := range []string{
		`{}`, `{"provider":"provider_two","bucket":"lake"}`, `{"provider":"provider_one","bucket":"lake","account":"x"}`,
		`{"provider":"provider_three","bucket":"lake"}`, `{"provider":"provider_one","bucket":"lake","endpoint":"https://evil.example"}`,
	} {
		_, err := k.New(kind.Secret(wrong))
		require.ErrorAs(t, err, &fields, wrong)
	}
}
