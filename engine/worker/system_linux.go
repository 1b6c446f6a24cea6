package worker

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pair makes two connected sockets that no other process can inherit.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

// shield keeps the calling process from others of its user, its children first:
// they can neither trace it nor read its memory, its environment and its files,
// and it leaves no core.
func shield() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// confineThread prepares the calling thread for starting children: they inherit
// that they never gain privileges, and where root starts them, of its privileges
// only those over the files of others, which the data may be.
func confineThread() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for privilege := uintptr(0); privilege < 64; privilege++ {
		if privilege != unix.CAP_DAC_OVERRIDE && privilege != unix.CAP_DAC_READ_SEARCH {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, privilege, 0, 0, 0) // only root can, and only root needs to
		}
	}
}

// confine makes cmd a process group of its own that dies with the thread that
// starts it, and lets no descriptor of a library through to it.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // older kernels have it not
}

// maxFiles bounds a child's open files.
const maxFiles = 1 << 16

// harden limits the calling process. What the system refuses is no reason not to
// serve: each measure stands for itself.
func harden() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		n := min(files.Max, maxFiles)
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
	}
	// When the machine is short of memory, this process goes before the server.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	shield() // last: it takes away what /proc gives
}

// meter reads the memory of one process. The open file belongs to the process
// and not to its number, so it never shows another one.
type meter struct{ statm *os.File }

func newMeter(pid int) meter {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return meter{}
	}
	return meter{f}
}

// resident is the memory in bytes that belongs to the process alone. It is 0
// when it cannot be told.
func (m meter) resident() int64 {
	if m.statm == nil {
		return 0
	}
	var b [128]byte
	n, _ := m.statm.ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n])
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

func (m meter) close() {
	if m.statm != nil {
		_ = m.statm.Close()
	}
}
