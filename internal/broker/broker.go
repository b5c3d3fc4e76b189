// Package broker publishes events to NATS JetStream, for webhooks whose URL is nats:<subject>. The acknowledgement of
// a stream counts as a 2xx response. So order, retries, logs and recovery are the same as for deliveries over HTTP.
package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
)

// Scheme is the scheme of the URLs of webhooks whose events are published.
const Scheme = "nats"

// DefaultSubjects is the pattern of the subjects that webhooks may use by default.
const DefaultSubjects = "contactbase.>"

const (
	connectTimeout = 5 * time.Second
	reconnectWait  = time.Second
)

// Options are the options of a broker.
type Options struct {
	URL         string   // of one or more servers, separated by commas; "" for none
	Credentials string   // path of a credentials file; "" for none
	Subjects    []string // patterns of the subjects that webhooks may use, with the wildcards * and >
}

// Check returns the name of an invalid setting, and an error that completes a sentence that begins with that name.
func (o Options) Check() (setting string, err error) {
	for server := range strings.SplitSeq(o.URL, ",") {
		if o.URL != "" && !isServer(strings.TrimSpace(server)) {
			return "nats", errors.New("must be the URL of a server, such as nats://127.0.0.1:4222")
		}
	}
	if o.Credentials != "" {
		if _, err := os.ReadFile(o.Credentials); err != nil {
			return "natsCreds", fmt.Errorf("names a file that cannot be read: %w", err)
		}
	}
	for _, pattern := range o.Subjects {
		if err := checkPattern(pattern); err != nil {
			return "natsSubjects", err
		}
	}
	return "", nil
}

// isServer reports whether the URL can be that of a NATS server.
func isServer(raw string) bool {
	target, err := url.Parse(raw)
	return err == nil && target.Host != "" && slices.Contains([]string{"nats", "tls", "ws", "wss"}, target.Scheme)
}

// Broker is the transport of webhooks whose events are published.
type Broker struct {
	options Options
	name    string // of the connection, for servers

	mu         sync.Mutex
	connection *nats.Conn // nil before the first event
	dialing    *dialing   // the current attempt to connect; nil for none
	closed     bool
}

var _ delivery.Transport = (*Broker)(nil)

// New returns a broker that connects with the first event. The name of its connections is Contactbase/<version>.
func New(options Options, version string) *Broker {
	return &Broker{options: options, name: "Contactbase/" + version}
}

// CheckURL implements delivery.Transport.
func (b *Broker) CheckURL(target *url.URL) error {
	if b.options.URL == "" {
		return errors.New("is for NATS, but the server runs without --nats; set --nats to the URL of a NATS server")
	}
	subject := target.Opaque
	if target.String() != Scheme+":"+subject || strings.ContainsAny(subject, "*>") || checkPattern(subject) != nil {
		return errors.New("must be nats: followed by a subject without wildcards, such as nats:contactbase.contacts")
	}
	if !slices.ContainsFunc(b.options.Subjects, func(pattern string) bool { return matches(pattern, subject) }) {
		return fmt.Errorf("names a subject that --natsSubjects does not allow; it allows %s",
			strings.Join(b.options.Subjects, " and "))
	}
	return nil
}

// Deliver implements delivery.Transport. It returns nil once a stream has acknowledged the event.
func (b *Broker) Deliver(ctx context.Context, job *delivery.Job, header http.Header) error {
	target, err := url.Parse(job.Endpoint.URL)
	if err != nil {
		return err
	}
	if err := b.CheckURL(target); err != nil { // the settings may have changed since the webhook was saved
		return fmt.Errorf("the URL %w", err)
	}
	connection, err := b.connect(ctx)
	if err != nil {
		return fmt.Errorf("cannot connect to NATS: %w", err)
	}
	message := &nats.Msg{Subject: target.Opaque, Data: job.Payload, Header: nats.Header(header.Clone())}
	message.Header.Set(nats.MsgIdHdr, event.IDPrefix+job.EventID)
	reply, err := connection.RequestMsgWithContext(ctx, message)
	if err != nil {
		return explain(err, target.Opaque)
	}
	return readAck(reply.Data)
}

// readAck returns nil if a reply acknowledges a message, as a stream does. The client's package jetstream would do it
// too, and adds 0.6 MB to the executable. See https://docs.nats.io/reference/reference-protocols/nats_api_reference.
func readAck(reply []byte) error {
	var ack struct {
		Stream string
		Error  *struct{ Description string }
	}
	err := json.Unmarshal(reply, &ack)
	switch {
	case err == nil && ack.Error != nil:
		return fmt.Errorf("NATS rejected the event: %s", ack.Error.Description)
	case err != nil || ack.Stream == "":
		return errors.New("the subject has a subscriber that responds in place of a stream")
	}
	return nil
}

// explain replaces some errors by messages that say what an admin can do.
func explain(err error, subject string) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("NATS has no stream for the subject %s; create one", subject)
	case errors.Is(err, nats.ErrReconnectBufExceeded),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected):
		return errors.New("not connected to NATS; reconnecting")
	default:
		return err
	}
}

// dialing is an attempt to connect. All deliveries wait for it.
type dialing struct {
	ended      chan struct{} // closed once connection and err are set
	connection *nats.Conn
	err        error
}

// connect returns the connection, which reconnects by itself.
func (b *Broker) connect(ctx context.Context) (*nats.Conn, error) {
	b.mu.Lock()
	if b.connection != nil && (b.closed || !b.connection.IsClosed()) {
		defer b.mu.Unlock()
		return b.connection, nil
	}
	if b.dialing == nil {
		b.dialing = &dialing{ended: make(chan struct{})}
		go b.dial(b.dialing)
	}
	d := b.dialing
	b.mu.Unlock()
	select {
	case <-d.ended:
		return d.connection, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dial connects. It does not depend on the context of a delivery.
func (b *Broker) dial(d *dialing) {
	defer close(d.ended)
	d.connection, d.err = nats.Connect(b.options.URL, b.connectOptions()...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dialing = nil
	if d.err != nil {
		return
	}
	if b.connection = d.connection; b.closed {
		b.connection.Close()
	}
}

func (b *Broker) connectOptions() []nats.Option {
	options := []nats.Option{
		nats.Name(b.name),
		nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // publishing fails at once while there is no connection
	}
	if b.options.Credentials != "" {
		options = append(options, nats.UserCredentials(b.options.Credentials))
	}
	return options
}

// Start connects in the background, and logs an error. Deliveries connect again later.
func (b *Broker) Start(log *slog.Logger) {
	if b.options.URL == "" {
		return
	}
	go func() {
		if _, err := b.connect(context.Background()); err != nil {
			log.Warn("cannot connect to NATS; deliveries to it are retried", "error", err)
		}
	}()
}

// Close closes the connection, even one that is being dialled.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.connection != nil {
		b.connection.Close()
	}
}

// checkPattern checks a subject with or without wildcards.
func checkPattern(pattern string) error {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		switch {
		case token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			return fmt.Errorf("must have subjects such as %s, not %q", DefaultSubjects, pattern)
		case token == ">" && i < len(tokens)-1, len(token) > 1 && strings.ContainsAny(token, "*>"):
			return fmt.Errorf("allows * only for a whole token and > only at the end, not %q", pattern)
		}
	}
	if strings.HasPrefix(pattern, "$") {
		return errors.New("cannot have subjects that begin with $, which NATS reserves")
	}
	return nil
}

// matches reports whether the pattern allows the subject.
func matches(pattern, subject string) bool {
	wanted, tokens := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range wanted {
		if token == ">" {
			return len(tokens) > i
		}
		if i >= len(tokens) || token != "*" && token != tokens[i] {
			return false
		}
	}
	return len(wanted) == len(tokens)
}
