package systemd

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"contactbase/internal/order"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// idleTimeout is how long idle connections stay open when the server stops.
const idleTimeout = time.Second

// socket is a socket on which systemd listens. When the server stops, connections that it has not accepted wait for
// the next server. Each of its own is closed after its next response: no request is refused or cut off.
type socket struct {
	*net.TCPListener
	file *os.File // as systemd passed it

	ending chan struct{} // closed when no more connections are accepted
	closed chan struct{} // closed when the server has stopped
	close  func()        // closes closed

	accepting sync.Mutex     // held from accepting a connection to counting it
	open      sync.WaitGroup // counts the connections
}

// activatedSocket returns the socket that systemd passes, or nil.
func activatedSocket() (*socket, error) {
	files := activation.Files(false) // the variables stay, for a restart of the process
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("systemd passes %d sockets, but the server accepts one: set a single ListenStream", len(files))
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return nil, fmt.Errorf("using the socket of systemd: %w", err)
	}
	tcp, isTCP := listener.(*net.TCPListener)
	if !isTCP {
		return nil, errors.Join(fmt.Errorf("the socket of systemd listens on %s, "+
			"but the server needs a TCP address: correct ListenStream", listener.Addr()), listener.Close())
	}
	return newSocket(tcp, files[0]), nil
}

func newSocket(listener *net.TCPListener, file *os.File) *socket {
	s := &socket{
		TCPListener: listener,
		file:        file,
		ending:      make(chan struct{}),
		closed:      make(chan struct{}),
	}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// bind hands the socket over when the server stops.
func (s *socket) bind(e *core.ServeEvent) {
	e.Server.Handler = s.closeAfterResponse(e.Server.Handler)
	once := sync.OnceFunc(func() { s.handOver(idleTimeout) }) // after a failed restart, the program stops again
	e.App.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseSocket",
		Func: func(te *core.TerminateEvent) error {
			once()
			e.Server.SetKeepAlivesEnabled(false) // for responses that have already begun
			if te.IsRestart {
				if err := keepOpen(s.file); err != nil {
					te.App.Logger().Warn("keeping the socket of systemd", "error", err)
				}
			}
			return te.Next()
		},
		Priority: order.SocketHandedOver,
	})
}

// closeAfterResponse closes each connection after its next response once the server is stopping.
func (s *socket) closeAfterResponse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.ending:
			w.Header().Set("Connection", "close")
		default:
		}
		next.ServeHTTP(w, r)
	})
}

// handOver accepts no more connections, and waits until the open ones are closed.
func (s *socket) handOver(timeout time.Duration) {
	close(s.ending)
	_ = s.TCPListener.Close() // systemd's own stays open
	empty := make(chan struct{})
	s.accepting.Lock() // until the last accepted connection is counted
	go func() {
		s.open.Wait()
		close(empty)
	}()
	s.accepting.Unlock()
	select {
	case <-empty:
	case <-time.After(timeout):
	}
}

// Accept returns the next connection. Once the server is stopping, it blocks until the socket is closed: with an
// error, the server would stop too early.
func (s *socket) Accept() (net.Conn, error) {
	c, err := s.accept()
	if err == nil {
		return c, nil
	}
	select {
	case <-s.ending:
		<-s.closed
	default:
	}
	return nil, err
}

func (s *socket) accept() (*connection, error) {
	s.accepting.Lock()
	defer s.accepting.Unlock()
	accepted, err := s.AcceptTCP()
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &connection{accepted, sync.OnceFunc(s.open.Done)}, nil
}

func (s *socket) Close() error {
	s.close()
	return s.TCPListener.Close()
}

// connection is a connection that the socket has accepted.
type connection struct {
	*net.TCPConn
	countClosed func() // runs once
}

func (c *connection) Close() error {
	c.countClosed()
	return c.TCPConn.Close()
}
