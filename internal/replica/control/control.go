// Package control lets commands call the server that has a data directory open. The server listens on a loopback
// address. Commands find the address and a token in a file that only the owner of the data directory can read.
package control

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
	"time"
)

// ErrNotServed means that no server runs.
var ErrNotServed = errors.New("no server with --replica has this data directory open")

// maxResponse is the maximum size of a result, in bytes.
const maxResponse = 1 << 20

// Server is a server for commands on this machine.
type Server struct {
	Address // for commands

	server *http.Server
}

// Address is the address of a server, the content of the file for commands.
type Address struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

// Function is a function that commands can call. Its result is encoded as JSON.
type Function func(ctx context.Context) (any, error)

// Listen serves functions by their names, until Close.
func Listen(functions map[string]Function) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	s := &Server{Address: Address{listener.Addr().String(), rand.Text()}}
	mux := http.NewServeMux()
	for name, function := range functions {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, request *http.Request) {
			result, err := function(request.Context())
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_ = json.NewEncoder(w).Encode(result) // the command may have ended
		})
	}
	authenticated := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if subtle.ConstantTimeCompare([]byte(request.Header.Get("Authorization")), []byte("Bearer "+s.Token)) != 1 {
			http.Error(w, "the token is invalid", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, request)
	})
	s.server = &http.Server{Handler: authenticated, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // until Close
	return s, nil
}

// Close ends the server and its calls.
func (s *Server) Close() error { return s.server.Close() }

// Call calls a function of the server whose address is in a file, and decodes the result. The error is ErrNotServed
// if there is no server.
func Call(ctx context.Context, file, function string, result any) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotServed
	}
	if err != nil {
		return err
	}
	var at Address
	if err := json.Unmarshal(content, &at); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Address+"/"+function, http.NoBody)
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
		return ErrNotServed // the server was killed and has left its file
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusUnauthorized:
		return ErrNotServed // another program uses the address now
	case response.StatusCode != http.StatusOK:
		return errors.New(string(bytes.TrimSpace(body)))
	}
	return json.Unmarshal(body, result)
}
