package systemd

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// idlePatience is how long connections on which nothing is sent stay open when the server ends.
const idlePatience = time.Second

// beforeRefusals is when the socket is handed over: while the server still takes requests.
const beforeRefusals = -15000

// socket is a socket that systemd listens on. When the server ends, the connections that it has not accepted wait for the
// next server, and each connection that it has is closed with the next answer there: no request is refused or cut off.
type socket struct {
	*net.TCPListener
	file *os.File // as it was handed over

	ending chan struct{} // closed when no more connections are accepted
	empty  chan struct{} // closed after that, when the last connection is
	closed chan struct{} // closed when the server has ended
	close  func()        // closes closed

	accepting sync.Mutex // held from accepting a connection to counting it
	mu        sync.Mutex // guards what follows
	open      int        // connections
	isEnding  bool       // whether to close empty
}

// inherit returns the socket that systemd hands over, or nil.
func inherit() (*socket, error) {
	files := activation.Files(false) // the variables stay, for a restart of the process
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("systemd hands over %d sockets, and the server takes one", len(files))
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return nil, fmt.Errorf("taking over the socket of systemd: %w", err)
	}
	tcp, isTCP := listener.(*net.TCPListener)
	if !isTCP {
		return nil, errors.Join(fmt.Errorf("the socket of systemd listens on %s, and the server takes one of TCP", listener.Addr()), listener.Close())
	}
	return newSocket(tcp, files[0]), nil
}

func newSocket(listener *net.TCPListener, file *os.File) *socket {
	s := &socket{
		TCPListener: listener,
		file:        file,
		ending:      make(chan struct{}),
		empty:       make(chan struct{}),
		closed:      make(chan struct{}),
	}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// bind hands the socket over when the server ends.
func (s *socket) bind(e *core.ServeEvent) {
	e.Server.Handler = s.announce(e.Server.Handler)
	once := sync.OnceFunc(func() { s.handOver(idlePatience) }) // a restart that fails ends the program again
	e.App.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseSocket",
		Func: func(te *core.TerminateEvent) error {
			once()
			e.Server.SetKeepAlivesEnabled(false) // for answers that were begun before
			if te.IsRestart {
				if err := keepOpen(s.file); err != nil {
					te.App.Logger().Warn("keeping the socket of systemd", "error", err)
				}
			}
			return te.Next()
		},
		Priority: beforeRefusals,
	})
}

// announce closes each connection with the next answer there once the server ends.
func (s *socket) announce(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.ending:
			w.Header().Set("Connection", "close")
		default:
		}
		next.ServeHTTP(w, r)
	})
}

// handOver accepts no more connections, and waits for the end of those that are open.
func (s *socket) handOver(timeout time.Duration) {
	close(s.ending)
	_ = s.TCPListener.Close() // systemd's own stays open
	s.accepting.Lock()        // until the last connection that was accepted is counted
	s.mu.Lock()
	s.isEnding = true
	if s.open == 0 {
		close(s.empty)
	}
	s.mu.Unlock()
	s.accepting.Unlock()
	select {
	case <-s.empty:
	case <-time.After(timeout):
	}
}

// Accept returns the next connection. Once the server ends there is none, which it is told when it has been closed: it
// would stop too early otherwise.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &connection{accepted, sync.OnceFunc(s.leave)}, nil
}

// leave counts a connection that was closed.
func (s *socket) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.isEnding && s.open == 0 {
		close(s.empty)
	}
}

// Close ends Accept.
func (s *socket) Close() error {
	s.close()
	return s.TCPListener.Close()
}

// connection is one that the socket has accepted.
type connection struct {
	*net.TCPConn
	leave func() // runs once
}

// Close closes the connection.
func (c *connection) Close() error {
	c.leave()
	return c.TCPConn.Close()
}
