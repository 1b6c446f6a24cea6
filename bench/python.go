package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// runPython runs a script in a Python process and decodes its output.
func (r *runner) runPython(ctx context.Context, into any, script string, args ...string) error {
	//nolint:gosec // a program of the run's configuration
	cmd := exec.CommandContext(ctx, r.cfg.Python, append([]string{"-c", script}, args...)...)
	cmd.Env, cmd.Stderr = r.cfg.Env, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode %q: %w", text, err)
	}
	return nil
}
