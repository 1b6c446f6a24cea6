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

// pair returns two connected sockets that no other process can inherit.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

// shield protects the calling process from other processes of its user, its children in particular:
// they can neither trace it nor read its memory, its environment and its files, and it dumps no
// core.
func shield() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// confineThread prepares the calling thread for starting children. They inherit that they can never
// gain privileges. If root starts them, they retain only its privileges over the files of others,
// because the data may belong to others.
func confineThread() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for privilege := uintptr(0); privilege < 64; privilege++ {
		if privilege != unix.CAP_DAC_OVERRIDE && privilege != unix.CAP_DAC_READ_SEARCH {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, privilege, 0, 0, 0) // only root can, and only root has the privileges
		}
	}
}

// confine makes cmd a process group of its own that is killed when the thread that starts it ends,
// and lets it inherit no descriptor of a library.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // not supported by older kernels
}

// maxFiles bounds a child's open files.
const maxFiles = 1 << 16

// harden limits the calling process. It ignores errors: each measure is independent, and the
// process can serve without it.
func harden() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		n := min(files.Max, maxFiles)
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
	}
	// If the machine is short of memory, this process is killed before the server.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	shield() // last: it removes access to /proc/self
}

// meter reads the memory of one process. The open file refers to the process, not to its number, so
// it never reports that of another one.
type meter struct{ statm *os.File }

func newMeter(pid int) meter {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return meter{}
	}
	return meter{f}
}

// resident returns the memory in bytes that belongs to the process alone, or 0 if it cannot be
// read.
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
