package worker

// Pids are the processes of e.
func Pids(e *Engine) []int {
	var out []int
	for _, p := range e.processes.all() {
		out = append(out, p.cmd.Process.Pid)
	}
	return out
}

// Resident is the memory of all processes of e.
func Resident(e *Engine) int64 {
	var sum int64
	for _, p := range e.processes.all() {
		sum += p.resident()
	}
	return sum
}
