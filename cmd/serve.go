package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	pbcmd "github.com/pocketbase/pocketbase/cmd"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/spf13/cobra"

	"contactbase/internal/backup"
	"contactbase/internal/delivery"
	"contactbase/internal/replica"
	"contactbase/internal/systemd"
	"contactbase/internal/upgrade"
	"contactbase/internal/version"
)

// LogFlag is the name of the flag that says how the log is printed.
const LogFlag = "log"

// NewServeCommand returns PocketBase's command, which here also tells where everything is. It brings an older data directory up to
// date while it serves. It ends where lost returns a channel that is closed: another machine serves then.
func NewServeCommand(app core.App, upgrade *upgrade.Upgrade, lost func() <-chan struct{}) *cobra.Command {
	command := pbcmd.NewServeCommand(upgrade.Deferred(), false)
	command.Short = "Serve the API and the dashboard, on 127.0.0.1:8090 where no domain is given"
	command.Example = "  contactbase serve\n  contactbase serve --http 0.0.0.0:8090\n  contactbase serve crm.example.com"
	work := command.RunE
	command.RunE = func(command *cobra.Command, domains []string) error {
		s := &served{out: command.OutOrStdout(), flag: "--http"}
		if log, err := command.Flags().GetString(LogFlag); err == nil {
			s.inLog = log == "json"
		}
		if https, err := command.Flags().GetString("https"); err == nil && https != "" || len(domains) > 0 {
			s.flag = "--https"
		}
		if len(domains) > 0 {
			s.domain = domains[0]
		}
		systemd.Bind(app, version.Path)
		app.OnServe().BindFunc(offerSuperuser(s))
		app.OnServe().BindFunc(s.listen)
		replaced := watch(app, backup.Watch)
		fenced := watch(app, func(ctx context.Context, _ string) error {
			select {
			case <-lost():
				return replica.ErrFenced
			case <-ctx.Done():
				return nil
			}
		})
		return errors.Join(work(command, domains), replaced(), fenced(), upgrade.Err())
	}
	return command
}

// watch ends the server where look returns an error. The function that it returns returns that, once the server has ended.
func watch(app core.App, look func(ctx context.Context, dataDir string) error) func() error {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	var found error
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		watching.Go(func() {
			if found = look(ctx, e.App.DataDir()); found != nil {
				_ = e.Server.Close() // it has nothing to tell: nobody can be answered
			}
		})
		return nil
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Func: func(e *core.TerminateEvent) error {
			cancel()
			return e.Next()
		},
		Priority: -20000, // before a restart takes away the mark of a restore
	})
	return func() error {
		cancel()
		watching.Wait()
		return found
	}
}

// served is what the command line says about the address.
type served struct {
	out    io.Writer
	flag   string // that names the address: --http or --https
	domain string // "" for none
	inLog  bool   // whether to write to the log: a program that reads it as JSON reads nothing else
}

// listen opens the port, unless systemd has, and then has the settings and the shell know the address.
func (s *served) listen(e *core.ServeEvent) error {
	if e.Listener == nil {
		var config net.ListenConfig
		listener, err := config.Listen(context.Background(), "tcp", e.Server.Addr)
		if err != nil {
			return fmt.Errorf("%w; %s chooses another address", err, s.flag)
		}
		e.Listener = listener
	}
	base := s.address(e.Listener.Addr())
	if installer := e.InstallerFunc; installer != nil {
		e.InstallerFunc = func(app core.App, superuser *core.Record, _ string) error { return installer(app, superuser, base) }
	}
	s.show(e.App, base)
	alone := !delivery.IsSending(e.App.DataDir())
	if err := e.Next(); err != nil || !alone {
		return err // another server is reached by the address that is set
	}
	return keepAppURL(e.App, base)
}

// address is where the listener is reached: by its domain, or else from this machine.
func (s *served) address(listening net.Addr) string {
	scheme, usual := "http", "80"
	if s.flag == "--https" {
		scheme, usual = "https", "443"
	}
	if s.domain != "" {
		return scheme + "://" + s.domain
	}
	host, port, _ := net.SplitHostPort(listening.String()) // a listener's address always has both
	host = loopbackFor(host)
	if port != usual {
		return scheme + "://" + net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host
}

// loopbackFor returns the host by which this machine reaches a server that listens on host.
func loopbackFor(host string) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

func (s *served) show(app core.App, base string) {
	folder := absolute(app.DataDir())
	if s.inLog {
		app.Logger().Info("serving", "address", base, "data", folder)
		return
	}
	fmt.Fprintf(s.out, `Contactbase serves %[1]s

  API        %[1]s/api/ext/v1
  reference  %[1]s/docs
  dashboard  %[1]s/_/
  data       %[2]s

`, base, folder)
}

// absolute is the path from the root, and as it is where that is unknown.
func absolute(path string) string {
	if found, err := filepath.Abs(path); err == nil {
		return found
	}
	return path
}

// keepAppURL sets PocketBase's setting Application URL, of which the addresses of inbound webhooks are made, to the
// address that is served, for as long as nobody has entered another: one of this machine was set here, or is the
// default.
func keepAppURL(app core.App, base string) error {
	settings := app.Settings()
	if settings.Meta.AppURL == base || !isLocal(settings.Meta.AppURL) {
		return nil
	}
	settings.Meta.AppURL = base
	if err := app.Save(settings); err != nil {
		return fmt.Errorf("setting the application URL: %w", err)
	}
	return nil
}

func isLocal(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(parsed.Hostname())
	return parsed.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
