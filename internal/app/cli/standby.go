package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/health"
	"contactbase/internal/replica"
)

// runStandby waits until this machine may serve, if the command is serve and r has a lease. Until then it answers
// requests as a standby. Without a lease, it only checks that. It returns false if the program is to end instead.
func runStandby(command *cobra.Command, args []string, r *replica.Replica) (serve bool, err error) {
	if command.Name() != "serve" || r == nil {
		return true, nil
	}
	if err := command.ParseFlags(args); errors.Is(err, pflag.ErrHelp) {
		return true, nil
	} else if err != nil {
		return false, cmd.ExplainFlagError(err)
	}
	if !r.HasLease() {
		return true, r.Check(context.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	address, err := standbyAddress(command)
	if err != nil {
		return false, err
	}
	server := &http.Server{Handler: answerStandby(r), ReadHeaderTimeout: 10 * time.Second}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return false, cmd.ExplainListen(err, "--http")
	}
	go func() { _ = server.Serve(listener) }() // until it is closed
	err = errors.Join(r.RunStandby(ctx, func(format string, values ...any) {
		fmt.Fprintf(command.OutOrStdout(), "Contactbase: "+format+"\n", values...)
	}), server.Close())
	if ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// standbyAddress returns the address at which the command will serve, without a certificate.
func standbyAddress(command *cobra.Command) (string, error) {
	address, err := command.Flags().GetString("http")
	switch {
	case err != nil || address != "":
		return address, err
	case command.Flags().NArg() > 0:
		return "0.0.0.0:80", nil
	default:
		return "127.0.0.1:8090", nil
	}
}

// answerStandby answers liveness checks, and anything else with the reason why this machine does not serve.
func answerStandby(r *replica.Replica) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == health.LivePath {
			health.ServeLive(w, request)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		if request.URL.Path != health.ReadyPath {
			fmt.Fprintln(w, `{"error":{"code":"standby",`+
				`"message":"This machine is the standby of another machine. Retry shortly.","requestId":""}}`)
			return
		}
		why := "this machine is the standby of another machine"
		if err := r.Obstacle(); err != nil {
			why = err.Error()
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"status": "not ready", "reasons": []map[string]string{{"check": "standby", "message": why}},
		})
	}
}
