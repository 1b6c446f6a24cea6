package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/bench"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// load loads a snapshot once and prints what it cost this process.
func load(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("load takes the directory of a table")
	}
	bucket, err := file.New(args[0])
	if err != nil {
		return fmt.Errorf("open %s: %w", args[0], err)
	}
	before, err := memoryOf("VmRSS")
	if err != nil {
		return err
	}
	start := time.Now()
	snap, err := delta.Load(ctx, bucket, delta.Options{})
	if err != nil {
		return err
	}
	loaded := bench.LogLoad{Files: snap.NumFiles(), Seconds: time.Since(start).Seconds()}
	peak, err := memoryOf("VmHWM")
	if err != nil {
		return err
	}
	loaded.Grown = peak - before
	return json.NewEncoder(out).Encode(loaded)
}

// memoryOf reads a value of the status of this process, in bytes.
func memoryOf(figure string) (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read memory of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, figure+": %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("no %s of this process: %w", figure, os.ErrNotExist)
}
