package worker

// Pids are the processes of e.
func Pids(e *Engine) []int {
	var out []int
	for _, p := range e.alive() {
		out = append(out, p.cmd.Process.Pid)
	}
	return out
}
