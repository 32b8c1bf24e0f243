// Package cluster starts a real control plane on loopback, with Offcut as its extender and a stub
// in the kubelets' place, and watches that no device is given twice.
package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Seconds that a server gets to end after SIGTERM.
const stopTimeout = 20 * time.Second

// Process is one child. It has a process group of its own, is ended by its own id, and the kernel
// kills it when the test binary dies in whatever way.
type Process struct {
	name   string
	cmd    *exec.Cmd
	ending atomic.Bool   // we asked it to end
	exited chan struct{} // closed once it has been waited for
	lines  lineHub
}

// The parent-death signal is sent when the *thread* that forked ends, so one thread that lives as
// long as the test binary starts every child.
var starter = sync.OnceValue(func() chan func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

// Start runs a program until the test ends. Both outputs go to LOGS/name.log; an end that nobody
// asked for fails the test.
func Start(t testing.TB, logs, name, program string, arguments ...string) *Process {
	t.Helper()
	return startWith(t, logs, name, nil, program, arguments...)
}

// The environment is what comes on top of ours.
func startWith(t testing.TB, logs, name string, environment []string, program string,
	arguments ...string) *Process {
	t.Helper()
	path := filepath.Join(logs, name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	process := &Process{
		name: name, cmd: exec.Command(program, arguments...), exited: make(chan struct{}),
	}
	process.cmd.Stderr = log
	process.cmd.Env = append(os.Environ(), environment...)
	process.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	output, err := process.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	starter() <- func() { started <- process.cmd.Start() }
	if err := <-started; err != nil {
		log.Close()
		t.Fatalf("starting %s: %v", name, err)
	}
	go process.wait(t, output, log)
	t.Cleanup(func() { process.Stop(t) })
	return process
}

func (p *Process) wait(t testing.TB, output io.Reader, log *os.File) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Fprintln(log, lines.Text())
		p.lines.add(lines.Text())
	}
	io.Copy(io.Discard, output) // a line over the scanner's limit must not block the child
	p.cmd.Wait()
	if !p.ending.Load() {
		t.Errorf("%s ended by itself: %v", p.name, p.cmd.ProcessState)
	}
	fmt.Fprintf(log, "ended: %v\n", p.cmd.ProcessState)
	log.Close()
	p.lines.close()
	close(p.exited)
}

// Stop asks the process to end, waits, and insists after its time; it may have ended already.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.ending.Store(true)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		t.Errorf("%s did not end within %v of SIGTERM", p.name, stopTimeout)
		p.Kill()
	}
}

// Kill ends the process at once, as a machine that loses power does, and waits until it is gone.
func (p *Process) Kill() {
	p.ending.Store(true)
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// Pause halts the process until Resume, as if it had no processor for a while.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Pid returns the process's id. It may have ended.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// The id stays ours until the child has been waited for, so no stranger is ever hit.
func (p *Process) signal(signal syscall.Signal) {
	select {
	case <-p.exited:
	default:
		p.cmd.Process.Signal(signal)
	}
}

// WaitLine returns what follows `prefix` on the first line of output that starts with it.
func (p *Process) WaitLine(t testing.TB, prefix string, timeout time.Duration) string {
	t.Helper()
	line, found := p.lines.wait(prefix, timeout)
	if !found {
		t.Fatalf("%s did not print %q within %v, or ended", p.name, prefix, timeout)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, prefix))
}

// The lines that a process printed, for those who wait for one.
type lineHub struct {
	mutex   sync.Mutex
	lines   []string
	closed  bool
	changed chan struct{}
}

func (h *lineHub) add(line string) { h.change(func() { h.lines = append(h.lines, line) }) }
func (h *lineHub) close()          { h.change(func() { h.closed = true }) }

func (h *lineHub) change(edit func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	edit()
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

func (h *lineHub) wait(prefix string, timeout time.Duration) (string, bool) {
	deadline := time.After(timeout)
	for {
		h.mutex.Lock()
		for _, line := range h.lines {
			if strings.HasPrefix(line, prefix) {
				h.mutex.Unlock()
				return line, true
			}
		}
		if h.closed {
			h.mutex.Unlock()
			return "", false
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
		h.mutex.Unlock()
		select {
		case <-changed:
		case <-deadline:
			return "", false
		}
	}
}

// Ports are handed out upwards from here, below the range from which the kernel takes the source
// ports of connections: a server that restarts must find its port free.
var nextPort atomic.Int32

func init() { nextPort.Store(20000 + int32(os.Getpid())%8000) }

// FreePort returns a loopback port on which nobody listens.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := int(nextPort.Add(1))
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
