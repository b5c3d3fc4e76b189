package replica

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// controlName is the file by which commands find the process that serves. Only the owner of the folder can read it.
const controlName = "control.json"

// ErrNotServed means that nobody serves the folder with a replica.
var ErrNotServed = errors.New("no server with --replica has this data folder open")

// control is where commands ask the process that serves.
type control struct {
	server *http.Server
	path   string
}

type controlAddress struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

// listen answers commands on this machine that can read the data folder.
func (r *Replica) listen() (*control, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	address := controlAddress{Address: listener.Addr().String(), Token: rand.Text()}
	if err := r.save(controlName, address); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, _ *http.Request) { respond(w, r.Status(), nil) })
	mux.HandleFunc("POST /drill", func(w http.ResponseWriter, request *http.Request) {
		note, err := r.TestRestore(request.Context())
		respond(w, note, err)
	})
	mux.HandleFunc("POST /flush", func(w http.ResponseWriter, request *http.Request) {
		respond(w, struct{}{}, r.AcknowledgeAll(request.Context()))
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if subtle.ConstantTimeCompare([]byte(request.Header.Get("Authorization")), []byte("Bearer "+address.Token)) != 1 {
			http.Error(w, "the token is wrong", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, request)
	})
	c := &control{server: &http.Server{Handler: guarded, ReadHeaderTimeout: 10 * time.Second}, path: r.path(controlName)}
	go func() { _ = c.server.Serve(listener) }() // until close
	return c, nil
}

func (c *control) close() {
	_ = c.server.Close()
	_ = os.Remove(c.path) // the next one writes it anew
}

func respond(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(value) // who has gone needs no answer
}

// callServer queries the process that serves the data folder. The error is ErrNotServed where there is none.
func callServer(ctx context.Context, dataDir, what string, into any) error {
	content, err := os.ReadFile(filepath.Join(dataDir, folderName, controlName))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotServed
	}
	if err != nil {
		return err
	}
	var at controlAddress
	if err := json.Unmarshal(content, &at); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Address+"/"+what, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+at.Token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without the environment's proxy
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return ErrNotServed // it was killed, and left its file
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusUnauthorized:
		return ErrNotServed // somebody else has its address now
	case response.StatusCode != http.StatusOK:
		return errors.New(string(bytes.TrimSpace(body)))
	}
	return json.Unmarshal(body, into)
}

// RequestStatus asks the process that serves the data folder how its replica is.
func RequestStatus(ctx context.Context, dataDir string) (found Status, err error) {
	return found, callServer(ctx, dataDir, "status", &found)
}

// RequestRestoreTest has the process that serves the data folder make a restore test.
func RequestRestoreTest(ctx context.Context, dataDir string) (found RestoreTest, err error) {
	return found, callServer(ctx, dataDir, "drill", &found)
}

// Flush returns once the store has what a command has written to the data folder, if a server with --replicaMode=sync has that
// open.
func Flush(ctx context.Context, dataDir string) error {
	err := callServer(ctx, dataDir, "flush", &struct{}{})
	if errors.Is(err, ErrNotServed) {
		return nil
	}
	return err
}
