package cmd_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"contactbase/cmd"
)

// A port that only root may use names the ways to use it as another user.
func TestExplainListen(t *testing.T) {
	t.Parallel()
	of := func(cause error) string {
		bind := &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", cause)}
		err := cmd.ExplainListen(bind, "--https")
		if !errors.Is(err, cause) {
			t.Errorf("%v does not have its cause", err)
		}
		return err.Error()
	}
	if got := of(syscall.EACCES); !strings.Contains(got, "sudo setcap cap_net_bind_service=+ep /") || !strings.Contains(got, "package") ||
		!strings.Contains(got, "--https") {
		t.Errorf("a low port: %s", got)
	}
	_, wrong := net.Listen("tcp", "::1:8090")
	if got := cmd.ExplainListen(wrong, "--http"); !strings.HasSuffix(got.Error(), "in square brackets: --http [::1]:8090") {
		t.Errorf("an IPv6 address: %v", got)
	}
	if got := of(syscall.EADDRINUSE); strings.Contains(got, "setcap") || !strings.HasSuffix(got, "choose another address with --https") {
		t.Errorf("a port in use: %s", got)
	}
}
