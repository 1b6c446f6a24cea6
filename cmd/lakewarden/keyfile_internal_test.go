package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
)

// TestALostKeyFileIsNotReplaced: beside credentials that only it opens, a new one
// would hide the loss until it is too late.
func TestALostKeyFileIsNotReplaced(t *testing.T) {
	s := startServer(t, nil)
	s.stop()
	require.NoError(t, os.Remove(s.config.KeyFile))
	s.start()
	s.stop()
	require.FileExists(t, s.config.KeyFile, "without credentials a new one does")

	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	_, err = store.CreateStorageConfig(t.Context(), catalog.NewStorageConfig{
		Org: catalog.OrgID(s.boot.OrganisationID), Name: "remote", Kind: catalog.KindS3, Owner: catalog.UserID(s.boot.UserID),
		Location: catalog.NewLocation("s3", "endpoint", "bucket"), Settings: json.RawMessage(`{}`), AuthMode: "access_key",
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	s.start()
	s.stop()
	require.NoError(t, os.Remove(s.config.KeyFile))
	_, err = app.New(t.Context(), s.config.Settings, slog.New(slog.DiscardHandler), app.Options{})
	require.ErrorContains(t, err, "key_file")
	require.NoFileExists(t, s.config.KeyFile)
}
