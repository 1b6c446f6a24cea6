package bench

import (
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine of a report. Absolute metrics are comparable only
// between equal machines.
type Machine struct {
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Go     string `json:"go"`
}

// ThisMachine describes this machine. Unknown fields stay empty.
func ThisMachine() Machine {
	return Machine{
		OS:     runtime.GOOS + "/" + runtime.GOARCH,
		Kernel: firstLine("/proc/sys/kernel/osrelease", ""),
		CPU:    firstLine("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: firstLine("/proc/meminfo", "MemTotal"),
		Go:     runtime.Version(),
	}
}

// firstLine returns the first line of a file, or the value of the first line
// with a key.
func firstLine(name, key string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
