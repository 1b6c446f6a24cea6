//go:build !linux

package worker

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// pair returns two connected sockets that no other process can inherit.
func pair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

func shield() {}

func confineThread() {}

// confine makes cmd a process group of its own. On this system it ends with its parent because its
// control socket is closed.
func confine(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// harden limits the calling process.
func harden() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }

// meter cannot read the memory of another process on this system: only the engine's own limit
// enforces leases.
type meter struct{}

func newMeter(int) meter      { return meter{} }
func (meter) resident() int64 { return 0 }
func (meter) close()          {}
