package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// Answers each line with the same line.
func echoServer(t *testing.T) string {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(connection, connection)
				connection.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// Says a line, and returns the answer or an error when none came in time.
func echo(connection net.Conn, timeout time.Duration) (string, error) {
	fmt.Fprintln(connection, "hello")
	connection.SetReadDeadline(time.Now().Add(timeout))
	return bufio.NewReader(connection).ReadString('\n')
}

func isTimeout(err error) bool {
	failure, is := err.(net.Error)
	return is && failure.Timeout()
}

func TestProxyDelaysWhatTheServerSays(t *testing.T) {
	proxy := NewTCPProxy(t, echoServer(t))
	proxy.SetDelay(300 * time.Millisecond)
	started := time.Now()
	_, err := echo(dial(t, proxy.Address()), 10*time.Second)
	if took := time.Since(started); err != nil || took < 300*time.Millisecond {
		t.Errorf("answered after %v: %v", took, err)
	}
}

// Mute, not closed: a read runs into its deadline and gets no end of file.
func TestProxySilencesPresentConnectionsAndServesNewOnes(t *testing.T) {
	proxy := NewTCPProxy(t, echoServer(t))
	old := dial(t, proxy.Address())
	if _, err := echo(old, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	proxy.Silence()
	for range 20 {
		if answer, err := echo(old, 10*time.Millisecond); !isTimeout(err) {
			t.Fatalf("a mute connection said %q: %v", answer, err)
		}
	}
	if _, err := echo(dial(t, proxy.Address()), 10*time.Second); err != nil {
		t.Errorf("new connection: %v", err)
	}
}

func TestProxyThatRefusesBreaksConnectionsUntilItIsRestored(t *testing.T) {
	proxy := NewTCPProxy(t, echoServer(t))
	old := dial(t, proxy.Address())
	if _, err := echo(old, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	proxy.Refuse()
	for _, connection := range []net.Conn{old, dial(t, proxy.Address())} {
		if _, err := echo(connection, 10*time.Second); err == nil || isTimeout(err) {
			t.Errorf("connection lives on: %v", err)
		}
	}
	proxy.Restore()
	if _, err := echo(dial(t, proxy.Address()), 10*time.Second); err != nil {
		t.Errorf("after Restore: %v", err)
	}
}
