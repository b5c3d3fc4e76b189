package notice_test

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
)

// mailServer is a small SMTP server.
type mailServer struct {
	port int

	mu     sync.Mutex
	mode   string // "accept", "refuse" or "hang"
	mails  []*mail.Message
	bodies []string
	to     []string
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{mode: "accept", port: listener.Addr().(*net.TCPAddr).Port}
	var open sync.WaitGroup
	stop := make(chan struct{})
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(conn, stop) })
		}
	})
	t.Cleanup(func() {
		close(stop)
		_ = listener.Close()
		open.Wait()
	})
	return s
}

func (s *mailServer) set(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

func (s *mailServer) serve(conn net.Conn, stop chan struct{}) {
	defer conn.Close()
	s.mu.Lock()
	mode := s.mode
	s.mu.Unlock()
	if mode == "hang" {
		<-stop
		return
	}
	reader := bufio.NewReader(conn)
	fmt.Fprint(conn, "220 test\r\n")
	var to string
	for {
		command, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, _, _ := strings.Cut(strings.TrimSpace(command), " "); strings.ToUpper(verb) {
		case "RCPT":
			if mode == "refuse" {
				fmt.Fprint(conn, "451 later\r\n")
				continue
			}
			to = strings.Trim(command[strings.Index(command, ":")+1:], "<>\r\n ")
			fmt.Fprint(conn, "250 ok\r\n")
		case "DATA":
			fmt.Fprint(conn, "354 go on\r\n")
			s.receive(reader, to)
			fmt.Fprint(conn, "250 ok\r\n")
		case "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

func (s *mailServer) receive(reader *bufio.Reader, to string) {
	var raw strings.Builder
	for {
		line, err := reader.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		raw.WriteString(line)
	}
	message, _ := mail.ReadMessage(strings.NewReader(raw.String()))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails, s.bodies, s.to = append(s.mails, message), append(s.bodies, raw.String()), append(s.to, to)
}

// count returns how many mails the server has accepted.
func (s *mailServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mails)
}
