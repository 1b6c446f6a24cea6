package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The credentials of S3 servers.
const (
	s3KeyID  = "bench"
	s3Secret = "bench-secret"
)

// versitygw is an S3 server whose buckets are folders.
type versitygw struct{}

func (versitygw) buckets(dir string) string { return filepath.Join(dir, "buckets") }

func (v versitygw) command(cfg Config, dir, address string) (program string, args, env []string, err error) {
	users := filepath.Join(dir, "iam")
	for _, folder := range []string{users, v.buckets(dir)} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return "", nil, nil, fmt.Errorf("make folder: %w", err)
		}
	}
	// Files that the server did not write have an ETag only with --default-etag. They
	// never change.
	args = []string{
		"--port", address, "--quiet", "--keep-alive", "--iam-dir", users, "--health", versityHealth,
		"posix", "--default-etag", "unchanged", v.buckets(dir),
	}
	return cfg.Versitygw, args, []string{"ROOT_ACCESS_KEY=" + s3KeyID, "ROOT_SECRET_KEY=" + s3Secret, "VGW_REGION=" + storeRegion}, nil
}

func (versitygw) url(address string) string { return "http://" + address }

const versityHealth = "/health"

func (v versitygw) ready(ctx context.Context, address string) bool {
	return answersOK(ctx, v.url(address)+versityHealth)
}

func (versitygw) settings(endpoint string) (map[string]any, error) {
	return map[string]any{
		"endpoint": endpoint, "region": storeRegion, "bucket": storeBucket, "accessKeyId": s3KeyID, "secretAccessKey": s3Secret,
	}, nil
}

func (versitygw) remote(endpoint string) map[string]string {
	return map[string]string{
		"type": "s3", "provider": "Other", "endpoint": endpoint, "region": storeRegion, "access_key_id": s3KeyID,
		"secret_access_key": s3Secret, "no_check_bucket": "true",
		"chunk_size": "64M", // versitygw lists the parts in an attribute, which ext4 limits to 4 KiB
	}
}
