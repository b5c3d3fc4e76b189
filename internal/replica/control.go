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

// controlName is the file in which commands find the address of the server. Only the owner of the data directory can read it.
const controlName = "control.json"

// ErrNotServed means that no server with a replica has the data directory open.
var ErrNotServed = errors.New("no server with --replica has this data directory open")

// control is the server for commands on this machine.
type control struct {
	server *http.Server
	path   string
}

type controlAddress struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

// listen serves commands that can read the data directory.
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
		test, err := r.TestRestore(request.Context())
		respond(w, test, err)
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
	_ = os.Remove(c.path) // the next server replaces it
}

func respond(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(value) // the command may have ended
}

// callServer posts a request to the server of the data directory. The error is ErrNotServed if there is none.
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
		return ErrNotServed // the server was killed, and its file is left
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusUnauthorized:
		return ErrNotServed // another program has the address now
	case response.StatusCode != http.StatusOK:
		return errors.New(string(bytes.TrimSpace(body)))
	}
	return json.Unmarshal(body, into)
}

// RequestStatus returns the status of the replica from the server of the data directory.
func RequestStatus(ctx context.Context, dataDir string) (found Status, err error) {
	return found, callServer(ctx, dataDir, "status", &found)
}

// RequestRestoreTest makes the server of the data directory run a restore test, and returns the result.
func RequestRestoreTest(ctx context.Context, dataDir string) (found RestoreTest, err error) {
	return found, callServer(ctx, dataDir, "drill", &found)
}

// Flush returns once the store has what a command has written to the data directory. It does nothing unless a server with
// --replicaMode=sync has that open.
func Flush(ctx context.Context, dataDir string) error {
	err := callServer(ctx, dataDir, "flush", &struct{}{})
	if errors.Is(err, ErrNotServed) {
		return nil
	}
	return err
}
