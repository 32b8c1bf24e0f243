package cluster

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TCPProxy stands between Offcut and the API server, and can be slow, mute or gone.
type TCPProxy struct {
	target   string
	listener net.Listener
	delay    atomic.Int64 // nanoseconds on everything that the server says
	mutex    sync.Mutex
	refusing bool
	links    map[*link]bool
}

// One connection through the proxy.
type link struct {
	client, server net.Conn
	silent         chan struct{} // closed: nothing passes any more, and nobody hangs up
	silence        sync.Once
}

// NewTCPProxy listens on a port of its own until the test ends.
func NewTCPProxy(t testing.TB, target string) *TCPProxy {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &TCPProxy{target: target, listener: listener, links: map[*link]bool{}}
	go proxy.accept()
	t.Cleanup(func() {
		listener.Close()
		proxy.closeLinks()
	})
	return proxy
}

// Address returns the IP:PORT to connect to.
func (p *TCPProxy) Address() string { return p.listener.Addr().String() }

// SetDelay makes everything that the server says arrive that much later, from now on.
func (p *TCPProxy) SetDelay(delay time.Duration) { p.delay.Store(int64(delay)) }

// Silence makes the present connections mute for good, without closing them, as a peer does that
// lost its power. New connections are served.
func (p *TCPProxy) Silence() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for link := range p.links {
		link.silence.Do(func() { close(link.silent) })
	}
}

// Refuse closes all connections, and new ones at once.
func (p *TCPProxy) Refuse() {
	p.mutex.Lock()
	p.refusing = true
	p.mutex.Unlock()
	p.closeLinks()
}

// Restore ends Refuse.
func (p *TCPProxy) Restore() {
	p.mutex.Lock()
	p.refusing = false
	p.mutex.Unlock()
}

func (p *TCPProxy) closeLinks() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for link := range p.links {
		link.client.Close()
		link.server.Close()
	}
}

func (p *TCPProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *TCPProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp4", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	link := &link{client: client, server: server, silent: make(chan struct{})}
	p.mutex.Lock()
	if p.refusing {
		p.mutex.Unlock()
		return
	}
	p.links[link] = true
	p.mutex.Unlock()
	defer func() {
		p.mutex.Lock()
		delete(p.links, link)
		p.mutex.Unlock()
	}()
	var group sync.WaitGroup
	atOnce := func() time.Duration { return 0 }
	late := func() time.Duration { return time.Duration(p.delay.Load()) }
	group.Go(func() { link.pass(client, server, atOnce) })
	group.Go(func() { link.pass(server, client, late) })
	group.Wait()
}

type chunk struct {
	bytes []byte
	due   time.Time
}

// Passes bytes on, each when its time has come; a delay costs no throughput. When one side hangs
// up, so does the other, unless the connection is mute.
func (l *link) pass(from, to net.Conn, delay func() time.Duration) {
	const chunksInFlight = 4096
	queue := make(chan chunk, chunksInFlight)
	go func() {
		defer close(queue)
		for {
			buffer := make([]byte, 32<<10)
			count, err := from.Read(buffer)
			if count > 0 {
				queue <- chunk{buffer[:count], time.Now().Add(delay())}
			}
			if err != nil {
				return
			}
		}
	}()
	for chunk := range queue {
		select {
		case <-l.silent:
		case <-time.After(time.Until(chunk.due)):
		}
		if l.isSilent() {
			continue // read on, so that the sender notices nothing
		}
		if _, err := to.Write(chunk.bytes); err != nil {
			break
		}
	}
	l.hangUp(from, to)
	for range queue { // until the reader has ended
	}
}

func (l *link) hangUp(from, to net.Conn) {
	if l.isSilent() { // the other side must not learn that this one is gone
		io.Copy(io.Discard, to)
	}
	from.Close()
	to.Close()
}

func (l *link) isSilent() bool {
	select {
	case <-l.silent:
		return true
	default:
		return false
	}
}
