package testkit

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// MailServer is a small SMTP server.
type MailServer struct {
	Port int // on 127.0.0.1

	mu    sync.Mutex
	mode  string // "accept", "refuse" or "hang"
	mails []Mail
}

// Mail is a mail that a MailServer has accepted.
type Mail struct {
	To      string
	Subject string
	ID      string // of the message
	Text    string // all of it, as it was sent
}

// NewMailServer starts an SMTP server, which the app then uses. It stops when the test ends.
func NewMailServer(tb testing.TB, app core.App) *MailServer {
	tb.Helper()
	s := ListenForMail(tb)
	settings := app.Settings()
	settings.SMTP.Enabled, settings.SMTP.Host, settings.SMTP.Port = true, "127.0.0.1", s.Port
	if err := app.Save(settings); err != nil {
		tb.Fatal(err)
	}
	return s
}

// ListenForMail starts an SMTP server. It stops when the test ends.
func ListenForMail(tb testing.TB) *MailServer {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &MailServer{Port: listener.Addr().(*net.TCPAddr).Port, mode: "accept"}
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
	tb.Cleanup(func() {
		close(stop)
		_ = listener.Close()
		open.Wait()
	})
	return s
}

// Set makes the server "accept" or "refuse" mails, or "hang".
func (s *MailServer) Set(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

func (s *MailServer) serve(conn net.Conn, stop chan struct{}) {
	defer func() { _ = conn.Close() }()
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

func (s *MailServer) receive(reader *bufio.Reader, to string) {
	var raw strings.Builder
	for {
		line, err := reader.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		raw.WriteString(line)
	}
	sent := Mail{To: to, Text: raw.String()}
	if message, err := mail.ReadMessage(strings.NewReader(sent.Text)); err == nil {
		sent.Subject, sent.ID = message.Header.Get("Subject"), message.Header.Get("Message-ID")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, sent)
}

// Mails returns the mails that the server has accepted, the oldest first.
func (s *MailServer) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}
