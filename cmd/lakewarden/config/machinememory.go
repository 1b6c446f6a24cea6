package config

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// defaultMemoryMiB returns half the memory of the machine or container in MiB, or
// 4 GiB if its size is unknown.
func defaultMemoryMiB() int64 {
	const fallback = 4096
	total := machineMemory()
	if limit := cgroupLimit(); limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	if total == 0 {
		return fallback
	}
	return max(total/2>>20, 128)
}

func machineMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func cgroupLimit() int64 {
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return n
		}
	}
	return 0
}
