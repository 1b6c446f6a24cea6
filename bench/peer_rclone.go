package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

// peerRclone is the name of rclone in reports.
const peerRclone = "rclone"

// runRclone runs rclone and returns its output. Its remotes are the stores, by their index;
// see [remotePath].
func runRclone(ctx context.Context, cfg Config, stores []*objectStore, args ...string) ([]byte, error) {
	if _, err := os.Stat(cfg.Rclone); err != nil {
		return nil, fmt.Errorf("find rclone, which `make bench` gets: %w", err)
	}
	cmd := exec.CommandContext(ctx, cfg.Rclone, args...)
	// The remotes are in the environment, and no file is read. Its client of S3 refuses to start
	// with a bundle of authorities.
	cmd.Env = append(append([]string{}, cfg.Env...), "RCLONE_CONFIG=", "RCLONE_LOG_LEVEL=ERROR", "AWS_CA_BUNDLE=")
	for i, store := range stores {
		for name, value := range store.program.remote(store.endpoint) {
			cmd.Env = append(cmd.Env, fmt.Sprintf("RCLONE_CONFIG_STORE%d_%s=%s", i, strings.ToUpper(name), value))
		}
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rclone %s: %w", args[0], withStderr(err))
	}
	return out, nil
}

// remotePath returns rclone's name of a folder of the bucket of a store.
func remotePath(store int, folder string) string {
	return fmt.Sprintf("STORE%d:%s", store, path.Join(storeBucket, folder))
}

// contents are the number of objects and their size.
type contents struct {
	Objects int   `json:"count"`
	Bytes   int64 `json:"bytes"`
}

// contentsOf lists a folder with rclone.
func contentsOf(ctx context.Context, cfg Config, stores []*objectStore, store int, folder string) (c contents, err error) {
	out, err := runRclone(ctx, cfg, stores, "size", "--json", remotePath(store, folder))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == rcloneNoFolder {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(out, &c)
}

// rcloneNoFolder is the exit status of rclone for a folder that does not exist.
const rcloneNoFolder = 3
