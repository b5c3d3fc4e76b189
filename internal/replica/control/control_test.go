package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"contactbase/internal/replica/control"
)

// listen serves functions, and returns the file for commands.
func listen(t *testing.T, functions map[string]control.Function) (*control.Server, string) {
	t.Helper()
	server, err := control.Listen(functions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	file := filepath.Join(t.TempDir(), "control.json")
	save(t, file, server.Address)
	return server, file
}

func save(t *testing.T, file string, address control.Address) {
	t.Helper()
	content, err := json.Marshal(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	_, file := listen(t, map[string]control.Function{
		"double": func(context.Context) (any, error) { return []int{2, 4}, nil },
		"fail":   func(context.Context) (any, error) { return nil, errors.New("the store is full") },
	})
	var doubled []int
	if err := control.Call(t.Context(), file, "double", &doubled); err != nil || len(doubled) != 2 || doubled[1] != 4 {
		t.Errorf("got %v (%v)", doubled, err)
	}
	if err := control.Call(t.Context(), file, "fail", &doubled); err == nil || err.Error() != "the store is full" {
		t.Errorf("a function that fails: %v", err)
	}
}

func TestCallWithoutServer(t *testing.T) {
	t.Parallel()
	server, file := listen(t, map[string]control.Function{
		"call": func(context.Context) (any, error) { t.Error("called with an invalid token"); return 0, nil },
	})
	var result int
	if err := control.Call(t.Context(), file+".missing", "call", &result); !errors.Is(err, control.ErrNotServed) {
		t.Errorf("without a file: %v", err)
	}
	save(t, file, control.Address{Address: server.Address.Address, Token: "invalid"})
	if err := control.Call(t.Context(), file, "call", &result); !errors.Is(err, control.ErrNotServed) {
		t.Errorf("with an invalid token: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := control.Call(t.Context(), file, "call", &result); !errors.Is(err, control.ErrNotServed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, file := listen(t, map[string]control.Function{
		"wait": func(ctx context.Context) (any, error) {
			cancel()
			<-ctx.Done() // the connection is closed
			return nil, ctx.Err()
		},
	})
	if err := control.Call(ctx, file, "wait", new(int)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}
