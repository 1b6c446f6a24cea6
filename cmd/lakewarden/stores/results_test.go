package stores_test

import (
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestAnUnusableResultsBucketIsRefusedAtStart(t *testing.T) {
	store := s3test.Start(t)
	inS3 := func(store s3test.Server, bucket string) func(*config.Settings) {
		return func(c *config.Settings) {
			c.ResultsURL = "s3://" + bucket + "/kept/rows?path_style=true&region=" + s3test.Region + "&endpoint=" + url.QueryEscape(store.Endpoint)
			c.ResultsAccessKeyID, c.ResultsSecretAccessKey = s3test.AccessKeyID, s3test.SecretAccessKey
			c.StoreTimeout = time.Second
		}
	}
	sound := config.Settings{DataDir: t.TempDir()}
	for name, change := range map[string]func(*config.Settings){
		"no such bucket": inS3(store, "nobody-made-this"),
		"wrong secret": func(c *config.Settings) {
			bucket := store.Bucket(t)
			inS3(store, bucket)(c)
			c.ResultsSecretAccessKey = "not the secret at all"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := sound
			change(&c)
			_, _, err := stores.OpenResults(t.Context(), c, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, "results_url: ")
			require.NotContains(t, err.Error(), c.ResultsSecretAccessKey)
		})
	}
}
