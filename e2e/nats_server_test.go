package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsPrograms builds the real server, and the program that makes its credentials, once for all tests.
var natsPrograms = sync.OnceValues(func() (folder string, err error) {
	if _, err := build(); err != nil { // which makes the folder
		return "", err
	}
	folder = filepath.Join(buildFolder, "nats-programs")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	for _, program := range []string{"github.com/nats-io/nats-server/v2", "contactbase/e2e/nats"} {
		command := exec.Command("go", "build", "-o", folder+string(filepath.Separator), program)
		command.Dir = "nats"
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", program, err, out)
		}
	}
	return folder, nil
})

func natsProgram(t *testing.T, name string) string {
	t.Helper()
	folder, err := natsPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

// natsServer is a real NATS server with JetStream, which can be restarted.
type natsServer struct {
	*process
	URL  string
	args []string
}

// startNATS starts a server on a free port, with additional arguments.
func startNATS(t *testing.T, args ...string) *natsServer {
	t.Helper()
	return startNATSAt(t, freeAddress(t), args...)
}

// startNATSCluster starts a cluster of servers with those names.
func startNATSCluster(t *testing.T, names ...string) map[string]*natsServer {
	t.Helper()
	addresses := freeAddresses(t, 2*len(names))
	clients, routes := addresses[:len(names)], addresses[len(names):]
	others := "nats://" + strings.Join(routes, ",nats://")
	nodes := map[string]*natsServer{}
	for n, name := range names {
		nodes[name] = startNATSAt(t, clients[n], "-n", name, "--cluster_name", "cluster", "--cluster", "nats://"+routes[n], "--routes", others)
	}
	return nodes
}

func startNATSAt(t *testing.T, address string, args ...string) *natsServer {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	n := &natsServer{URL: "nats://" + address, args: append([]string{"-a", "127.0.0.1", "-p", port, "-js", "-sd", t.TempDir()}, args...)}
	n.start(t)
	return n
}

// start starts or restarts the server, and waits until it accepts connections.
func (n *natsServer) start(t *testing.T) {
	t.Helper()
	n.process = launch(t, exec.Command(natsProgram(t, "nats-server"), n.args...))
	n.await("Server is ready")
}

// stream creates a stream of the events, and returns it with a connection for reading it.
func (n *natsServer) stream(t *testing.T, config jetstream.StreamConfig, options ...nats.Option) jetstream.Stream {
	t.Helper()
	connection, err := nats.Connect(n.URL, append(options, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	js, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	config.Name, config.Subjects = "CONTACTS", []string{"contactbase.>"}
	for deadline := time.Now().Add(timeout); ; { // a cluster has to choose its leader first
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		stream, err := js.CreateStream(ctx, config)
		cancel()
		if err == nil {
			return stream
		}
		if time.Now().After(deadline) {
			t.Fatalf("creating a stream: %v\n%s", err, n.output)
		}
	}
}

// published reads messages of the stream in order, until enough returns true.
func published(t *testing.T, stream jetstream.Stream, what string, enough func([]jetstream.Msg) bool) (messages []jetstream.Msg) {
	t.Helper()
	next := uint64(1)
	read := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a request is lost with the server that had it
		defer cancel()
		consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next, AckPolicy: jetstream.AckNonePolicy,
		})
		if err != nil {
			return err
		}
		for !enough(messages) {
			message, err := consumer.Next(jetstream.FetchContext(ctx))
			if err != nil {
				return err
			}
			position, err := message.Metadata()
			if err != nil {
				return err
			}
			messages, next = append(messages, message), position.Sequence.Stream+1
		}
		return nil
	}
	for deadline := time.Now().Add(timeout); ; {
		err := read()
		if err == nil {
			return messages
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d messages came: %v", what, len(messages), err)
		}
	}
}

// distinct returns a function that reports whether messages with that many ids have arrived.
func distinct(n int) func([]jetstream.Msg) bool {
	return func(messages []jetstream.Msg) bool {
		ids := map[string]bool{}
		for _, m := range messages {
			ids[m.Headers().Get(jetstream.MsgIDHeader)] = true
		}
		return len(ids) >= n
	}
}
