package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// runPython runs a script in a process of its own and decodes what it prints.
func (r *runner) runPython(ctx context.Context, into any, script string, args ...string) error {
	cmd := exec.CommandContext(ctx, r.cfg.Python, append([]string{"-c", script}, args...)...) //nolint:gosec // the programs of the run's configuration
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
