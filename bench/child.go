package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// child is a process that was started by, and ends with, this one.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait, valid once done is closed
}

// startChild runs a program with its output in a log file.
func startChild(name string, args, env []string, logFile string) (*child, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	defer log.Close()
	// No context: it would kill the process without a chance to end by itself.
	cmd := exec.Command(name, args...) //nolint:noctx // its end is Stop's business
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// PID is the process id.
func (c *child) PID() int { return c.cmd.Process.Pid }

// Stop asks the process to end, and kills it after ten seconds.
func (c *child) Stop() error {
	select {
	case <-c.done:
		return errors.Join(errors.New("process had ended before it was asked to"), c.err)
	default:
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process: %w", err)
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(10 * time.Second):
		if err := c.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("kill process: %w", err)
		}
		<-c.done
		return errors.New("process did not end when asked to")
	}
}

// awaitHTTP waits until url answers 200 or the process has ended.
func (c *child) awaitHTTP(ctx context.Context, url string) error {
	return c.await(ctx, url, func(ctx context.Context) bool { return answersOK(ctx, url) })
}

// await waits until the server at url is ready or the process has ended.
func (c *child) await(ctx context.Context, url string, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", url, ctx.Err())
		case <-c.done:
			return fmt.Errorf("process ended before %s answered: %w", url, c.err)
		case <-tick.C:
		}
	}
}

// answersOK reports whether url answers 200.
func answersOK(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddress returns a loopback address with an unused port.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
