// Package broker publishes events to NATS JetStream: a webhook whose URL is nats:<subject> gets its events there instead of
// by HTTP. A stream's acknowledgement is what an answer of 2xx is elsewhere, so that order, retries, the log and recovery
// are those of all deliveries.
package broker

import (
	"context"
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
	"github.com/nats-io/nats.go/jetstream"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
)

// Scheme is that of the URLs of webhooks whose events are published.
const Scheme = "nats"

// DefaultSubjects are the subjects that webhooks may name where nothing else is said.
const DefaultSubjects = "contactbase.>"

const (
	connectPatience = 5 * time.Second
	reconnectPause  = time.Second
)

// Options say where events are published.
type Options struct {
	URL         string   // of one or several servers, separated by commas; "" where there is no broker
	Credentials string   // the path of a file of credentials, "" for none
	Subjects    []string // those that webhooks may name, with * and > as NATS has them
}

// Check returns the name of a setting that makes no sense, and an error that completes a sentence that begins with it.
func (o Options) Check() (setting string, err error) {
	for server := range strings.SplitSeq(o.URL, ",") {
		if o.URL != "" && !isServer(strings.TrimSpace(server)) {
			return "nats", errors.New("takes the URL of a server, such as nats://127.0.0.1:4222")
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

// isServer reports whether NATS can be looked for at the URL.
func isServer(raw string) bool {
	target, err := url.Parse(raw)
	return err == nil && target.Host != "" && slices.Contains([]string{"nats", "tls", "ws", "wss"}, target.Scheme)
}

// Broker is the transport of webhooks whose events are published.
type Broker struct {
	options Options
	name    string // by which servers know the connection

	mu         sync.Mutex
	connection *nats.Conn // nil until something is to be published
	stream     jetstream.JetStream
	dialing    *dialing // nil while nobody connects
	closed     bool
}

var _ delivery.Transport = (*Broker)(nil)

// New returns a broker that connects when it has something to publish, and calls itself Contactbase/<version>.
func New(options Options, version string) *Broker {
	return &Broker{options: options, name: "Contactbase/" + version}
}

// CheckURL implements delivery.Transport.
func (b *Broker) CheckURL(target *url.URL) error {
	if b.options.URL == "" {
		return errors.New("leads to NATS, and the program runs without --nats; name the server there first")
	}
	subject := target.Opaque
	if target.String() != Scheme+":"+subject || checkSubject(subject) != nil {
		return errors.New("must be nats: and a subject without wildcards, such as nats:contactbase.contacts")
	}
	if !slices.ContainsFunc(b.options.Subjects, func(pattern string) bool { return matches(pattern, subject) }) {
		return fmt.Errorf("names a subject that --natsSubjects does not allow; it allows %s", strings.Join(b.options.Subjects, " and "))
	}
	return nil
}

// Deliver implements delivery.Transport. It returns nil once a stream has acknowledged the event.
func (b *Broker) Deliver(ctx context.Context, job *delivery.Job, header http.Header) error {
	target, err := url.Parse(job.Endpoint.URL)
	if err != nil {
		return err
	}
	if err := b.CheckURL(target); err != nil { // it was right when the webhook was saved
		return fmt.Errorf("the URL %w", err)
	}
	stream, err := b.connect(ctx)
	if err != nil {
		return fmt.Errorf("cannot connect to NATS: %w", err)
	}
	message := &nats.Msg{Subject: target.Opaque, Data: job.Payload, Header: messageHeader(header, job.EventID)}
	_, err = stream.PublishMsg(ctx, message)
	return explain(err, target.Opaque)
}

// messageHeader returns what a request would carry, with the event's id as that of the message.
func messageHeader(header http.Header, eventID string) nats.Header {
	carried := nats.Header(header.Clone())
	carried.Set(jetstream.MsgIDHeader, event.IDPrefix+eventID)
	return carried
}

// explain says what an admin can do.
func explain(err error, subject string) error {
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("no stream of NATS takes the subject %s; create one that does", subject)
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected):
		return errors.New("NATS is not connected; the program goes on trying")
	default:
		return err
	}
}

// dialing is an attempt to connect, which all who publish meanwhile wait for.
type dialing struct {
	ended  chan struct{} // closed when the rest is there
	stream jetstream.JetStream
	err    error
}

// connect returns the stream's side of the connection. One that was lost comes back by itself.
func (b *Broker) connect(ctx context.Context) (jetstream.JetStream, error) {
	b.mu.Lock()
	if b.connection != nil && (b.closed || !b.connection.IsClosed()) {
		defer b.mu.Unlock()
		return b.stream, nil
	}
	if b.dialing == nil {
		b.dialing = &dialing{ended: make(chan struct{})}
		go b.dial(b.dialing)
	}
	d := b.dialing
	b.mu.Unlock()
	select {
	case <-d.ended:
		return d.stream, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dial connects, however long that takes.
func (b *Broker) dial(d *dialing) {
	defer close(d.ended)
	connection, err := nats.Connect(b.options.URL, b.connectOptions()...)
	if err == nil {
		d.stream, err = jetstream.New(connection)
	}
	d.err = err
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dialing = nil
	if err == nil {
		b.connection, b.stream = connection, d.stream
	}
	if connection != nil && (err != nil || b.closed) {
		connection.Close()
	}
}

func (b *Broker) connectOptions() []nats.Option {
	options := []nats.Option{
		nats.Name(b.name),
		nats.Timeout(connectPatience),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectPause),
		nats.ReconnectBufSize(-1), // an attempt fails at once instead of waiting for a connection
	}
	if b.options.Credentials != "" {
		options = append(options, nats.UserCredentials(b.options.Credentials))
	}
	return options
}

// Start connects, and has the log tell where that fails: deliveries try again by themselves.
func (b *Broker) Start(log *slog.Logger) {
	if b.options.URL == "" {
		return
	}
	go func() {
		if _, err := b.connect(context.Background()); err != nil {
			log.Warn("NATS cannot be reached; what webhooks publish waits", "error", err)
		}
	}()
}

// Close ends the connection, where there is one or will be.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.connection != nil {
		b.connection.Close()
	}
}

// checkSubject checks a subject that is published to.
func checkSubject(subject string) error {
	if strings.ContainsAny(subject, "*>") {
		return errors.New("has a wildcard")
	}
	return checkPattern(subject)
}

// checkPattern checks a subject that may have wildcards.
func checkPattern(pattern string) error {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		switch {
		case token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			return fmt.Errorf("takes subjects such as %s, not %q", DefaultSubjects, pattern)
		case token == ">" && i < len(tokens)-1, len(token) > 1 && strings.ContainsAny(token, "*>"):
			return fmt.Errorf("takes * for a whole part of a subject and > for the rest of it, not %q", pattern)
		}
	}
	if strings.HasPrefix(pattern, "$") {
		return errors.New("cannot name subjects that begin with $: those are the server's own")
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
