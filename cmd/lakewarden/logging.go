package main

import (
	"fmt"
	"log/slog"
	"os"
)

func (c *Config) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("log_level: must be debug, info, warn or error, is %q", c.LogLevel)
	}
	return level, nil
}

// newLogger writes JSON lines to stderr; stdout belongs to the commands' output.
func newLogger(c Config) *slog.Logger {
	level, _ := c.level()
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
