package e2e

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// delivery is a delivery as the receiver got it.
type delivery struct {
	ID       string `json:"id"` // of the header webhook-id
	BodyID   string `json:"bodyId"`
	Type     string `json:"type"`
	Contact  string `json:"contact"`
	Name     string `json:"name"`
	Attempt  string `json:"attempt"`
	Delivery string `json:"delivery"`
	Digest   string `json:"digest"` // SHA-256 of the body
	Error    string `json:"error"`  // why it was refused
}

// tally collects the deliveries of a receiver.
type tally struct {
	mu      sync.Mutex
	all     []delivery
	changed chan struct{} // closed with the next one
}

func newTally() *tally { return &tally{changed: make(chan struct{})} }

func (y *tally) add(d delivery) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.all = append(y.all, d)
	close(y.changed)
	y.changed = make(chan struct{})
}

// look returns a copy of the deliveries if there are enough. Otherwise it returns how many there are, and a channel
// that is closed when more arrive.
func (y *tally) look(enough func([]delivery) bool) (all []delivery, count int, changed <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if enough(y.all) {
		all = slices.Clone(y.all)
	}
	return all, len(y.all), y.changed
}

// await waits until there are enough deliveries, and returns all. It checks whenever one arrives.
func (y *tally) await(t *testing.T, what string, enough func([]delivery) bool) []delivery {
	t.Helper()
	deadline := time.After(timeout)
	for {
		all, count, changed := y.look(enough)
		if all != nil {
			return all
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s: only %d deliveries came", what, count)
		}
	}
}

// atLeast is enough when that many have arrived.
func atLeast(n int) func([]delivery) bool {
	return func(all []delivery) bool { return len(all) >= n }
}

// contacts is enough when deliveries of n contacts have arrived.
func contacts(n int) func([]delivery) bool {
	return func(all []delivery) bool {
		if len(all) < n {
			return false
		}
		ids := map[string]bool{}
		for _, d := range all {
			ids[d.Contact] = true
		}
		return len(ids) >= n
	}
}

// receiver is an endpoint that recomputes X-Signature, like an integrator without a library.
type receiver struct {
	*tally
	URL string

	mu     sync.Mutex
	secret string
	answer http.HandlerFunc // in place of 204; it can read the body
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{tally: newTally()}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// set sets the secret that signs deliveries, and the handler of verified ones; nil responds with 204.
func (r *receiver) set(secret string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret, r.answer = secret, answer
}

// about responds to events about the contact with that name with one handler, and to others with another one; nil
// responds with 204.
func about(name string, its, others http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		answer := others
		if body, err := io.ReadAll(request.Body); err == nil && strings.Contains(string(body), `"name":"`+name+`"`) {
			answer = its
		}
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, request)
	}
}

// ServeHTTP receives a delivery.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	secret, answer := r.secret, r.answer
	r.mu.Unlock()
	d := inspect(request, body, secret)
	request.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case d.Error != "":
		http.Error(w, d.Error, http.StatusUnauthorized)
	case answer != nil:
		answer(w, request)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
	r.add(d)
}

// inspect verifies the X-Signature of a delivery, and decodes it.
func inspect(request *http.Request, body []byte, secret string) delivery {
	digest := sha256.Sum256(body)
	d := delivery{
		ID:       request.Header.Get("webhook-id"),
		Attempt:  request.Header.Get("X-Attempt"),
		Delivery: request.Header.Get("X-Delivery"),
		Digest:   hex.EncodeToString(digest[:]),
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"data"`
	}
	switch {
	case request.Method != http.MethodPost:
		d.Error = "the method is " + request.Method
	case !hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(request.Header.Get("X-Signature"))):
		d.Error = "the signature is wrong"
	case json.Unmarshal(body, &event) != nil:
		d.Error = "the body is not JSON"
	case request.Header.Get("Content-Type") != "application/json":
		d.Error = "the content type is " + request.Header.Get("Content-Type")
	case request.Header.Get("X-Event") != event.Type:
		d.Error = "X-Event is " + request.Header.Get("X-Event")
	}
	d.BodyID, d.Type, d.Contact, d.Name = event.ID, event.Type, event.Data.ID, event.Data.Name
	return d
}

// nodeReceiver is the receiver in JavaScript.
type nodeReceiver struct {
	*tally
	URL   string
	stdin io.WriteCloser
	lines *bufio.Scanner
	ready chan struct{} // closed when it has its secret
	ended chan struct{} // closed when it has ended
}

// errNoNode means that Node.js is not installed.
var errNoNode = errors.New("the JavaScript receiver needs node, and `npm ci` in e2e/receiver")

// startNodeReceiver starts the receiver, or returns errNoNode.
func startNodeReceiver(t *testing.T) (*nodeReceiver, error) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errNoNode
	}
	if _, err := os.Stat("receiver/node_modules/standardwebhooks"); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoNode
	}
	command := exec.Command(node, "receiver.mjs")
	command.Dir = "receiver"
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	r := &nodeReceiver{
		tally: newTally(), stdin: stdin, lines: bufio.NewScanner(stdout),
		ready: make(chan struct{}), ended: make(chan struct{}),
	}
	var hello struct {
		Port int `json:"port"`
	}
	if !r.lines.Scan() || json.Unmarshal(r.lines.Bytes(), &hello) != nil || hello.Port == 0 {
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, fmt.Errorf("the JavaScript receiver says %q", r.lines.Text())
	}
	r.URL = fmt.Sprintf("http://127.0.0.1:%d", hello.Port)
	t.Cleanup(func() {
		stdin.Close() // which ends it
		<-r.ended
		_ = command.Wait()
	})
	go r.read()
	return r, nil
}

// read reads the output of the receiver until it ends.
func (r *nodeReceiver) read() {
	defer close(r.ended)
	for r.lines.Scan() {
		if r.lines.Text() == `{"ready":true}` {
			close(r.ready)
			continue
		}
		var d delivery
		if err := json.Unmarshal(r.lines.Bytes(), &d); err != nil {
			d.Error = err.Error() + ": " + r.lines.Text()
		}
		r.add(d)
	}
}

// set sets the secret that signs deliveries.
func (r *nodeReceiver) set(secret string) error {
	if _, err := io.WriteString(r.stdin, secret+"\n"); err != nil {
		return err
	}
	select {
	case <-r.ready:
		return nil
	case <-r.ended:
		return errors.New("the JavaScript receiver has ended")
	case <-time.After(timeout):
		return errors.New("the JavaScript receiver does not take its secret")
	}
}
