package worker

import (
	"os/exec"
	"runtime"
)

// spawner starts all children from one thread, which lives as long as the engine: the signal that
// ends a child with its parent is bound to the thread that started it, and the child inherits from
// that thread that it cannot gain privileges.
type spawner struct {
	jobs chan spawnJob
	done chan struct{}
}

type spawnJob struct {
	cmd    *exec.Cmd
	result chan error
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan spawnJob), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.done)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	confineThread()
	for job := range s.jobs {
		confine(job.cmd)
		job.result <- job.cmd.Start()
	}
}

func (s *spawner) start(cmd *exec.Cmd) error {
	job := spawnJob{cmd, make(chan error)}
	s.jobs <- job
	return <-job.result
}

// close ends the thread. All children must have ended.
func (s *spawner) close() {
	close(s.jobs)
	<-s.done
}
