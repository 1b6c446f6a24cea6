package storage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestEndingCredentialsAreReported reads the warning about a credential from its record
// and from the metrics.
func TestEndingCredentialsAreReported(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, nil))
	require.Equal(t, []any{nil, bucket, s3test.Region, true},
		[]any{made["credentialState"], made["bucket"], made["region"], made["pathStyle"]}, "the record is flat")
	require.NotContains(t, made, "prefix")
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	for after, state := range map[time.Duration]string{time.Hour: "expiring", 30 * 24 * time.Hour: "valid"} {
		s.Admin.OK("PUT", path+"/credentials/s3", map[string]any{
			"accessKeyId": s3test.AccessKeyID, "secretAccessKey": s3test.SecretAccessKey,
			"expiresAt": time.Now().Add(after).UTC().Format(time.RFC3339),
		})
		require.Equal(t, state, s.Admin.OK("GET", path, nil)["credentialState"])
		s.Restart()
		want := map[string]float64{"expiring": 1, "valid": 0}[state]
		require.Eventually(t, func() bool {
			return s.Metric(t, `lakewarden_storage_credentials_ending{kind="s3",state="expiring"}`) == want
		}, time.Minute, 10*time.Millisecond)
		require.Zero(t, s.Metric(t, `lakewarden_storage_credentials_ending{kind="s3",state="expired"}`))
	}
}
