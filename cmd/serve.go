package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	pbcmd "github.com/pocketbase/pocketbase/cmd"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/address"
	"contactbase/internal/backup"
	"contactbase/internal/delivery"
	"contactbase/internal/order"
	"contactbase/internal/systemd"
	"contactbase/internal/upgrade"
	"contactbase/internal/version"
)

// LogFlag is the name of the flag that sets the format of the log.
const LogFlag = "log"

// NewServeCommand returns PocketBase's command, extended: it prints the addresses, upgrades an older data directory,
// and stops when awaitLoss returns an error, because another machine serves or should.
func NewServeCommand(app core.App, upgrade *upgrade.Upgrade, awaitLoss func(context.Context) error) *cobra.Command {
	command := pbcmd.NewServeCommand(upgrade.Deferred(), false)
	command.Short = "Serve the API and the dashboard, by default on 127.0.0.1:8090"
	command.Example = "  contactbase serve\n  contactbase serve --http 0.0.0.0:8090\n  contactbase serve crm.example.com"
	command.PersistentFlags().Lookup("origins").Usage = "origins whose pages may call PocketBase's API; " +
		"/api/ext/v1 allows none"
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
		fenced := watch(app, func(ctx context.Context, _ string) error { return awaitLoss(ctx) })
		return errors.Join(work(command, domains), replaced(), fenced(), upgrade.Err())
	}
	return loading(command, Hooks)
}

// watch stops the server when look returns an error. The function that it returns returns this error once the
// server has stopped.
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
				_ = e.Server.Close() // the server stops because of found; an error of Close adds nothing
			}
		})
		return nil
	})
	order.OnStop(app, "", order.WaitsEnd, cancel)
	return func() error {
		cancel()
		watching.Wait()
		return found
	}
}

// served is what the command line says about the address to serve.
type served struct {
	out    io.Writer
	flag   string // the flag with the address: --http or --https
	domain string // "" for none
	inLog  bool   // whether to write to the log only, because a program reads it as JSON
}

// listen opens the port, unless systemd has, then stores and prints the address.
func (s *served) listen(e *core.ServeEvent) error {
	if e.Listener == nil {
		var config net.ListenConfig
		listener, err := config.Listen(context.Background(), "tcp", e.Server.Addr)
		if err != nil {
			return ExplainListen(err, s.flag)
		}
		e.Listener = listener
	}
	base := address.Of(e.Listener.Addr(), s.flag == "--https", s.domain)
	if installer := e.InstallerFunc; installer != nil {
		e.InstallerFunc = func(app core.App, superuser *core.Record, _ string) error {
			return installer(app, superuser, base)
		}
	}
	s.show(e.App, base)
	alone := !delivery.IsSending(e.App.DataDir())
	if err := e.Next(); err != nil || !alone {
		return err // the stored address may be another server's
	}
	return address.Store(e.App, base)
}

// ExplainListen says what to do about an address that cannot be listened on. The flag is the one that sets it.
func ExplainListen(err error, flag string) error {
	if listen, ok := errors.AsType[*net.AddrError](err); ok {
		if at := strings.LastIndexByte(listen.Addr, ':'); at > 0 && net.ParseIP(listen.Addr[:at]) != nil {
			return fmt.Errorf("%w; put an IPv6 address in square brackets: %s [%s]%s",
				err, flag, listen.Addr[:at], listen.Addr[at:])
		}
	}
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; choose another address with %s", err, flag)
	}
	program, unknown := os.Executable()
	if unknown != nil {
		program = "contactbase"
	}
	return fmt.Errorf("%w; only root may use ports below 1024: install the Debian or RPM package, where systemd opens "+
		"the port; or allow this program to use them: sudo setcap cap_net_bind_service=+ep %s; or choose another "+
		"address with %s",
		err, program, flag)
}

func (s *served) show(app core.App, base string) {
	folder := absolute(app.DataDir())
	unrestored, _ := app.Store().Get(unrestoredKey).(*Unrestored)
	if unrestored != nil {
		app.Logger().Warn("the data directory is new, but has backups",
			"data", folder, "backups", unrestored.Count, "restore", unrestored.Command)
	}
	isNew := app.Store().Has(newFolderKey)
	if s.inLog {
		if isNew {
			app.Logger().Info("the data directory is new", "data", folder)
		}
		app.Logger().Info("serving", "address", base, "data", folder)
		return
	}
	fmt.Fprintf(s.out, `Contactbase serves %[1]s

  API        %[1]s/api/ext/v1
  reference  %[1]s/docs/reference
  dashboard  %[1]s/_/
  portal     %[1]s/portal/
  data       %[2]s

`, base, folder)
	if unrestored != nil {
		fmt.Fprintf(s.out, "%s\n\n", unrestored.Notice)
	}
	if isNew {
		fmt.Fprintf(s.out, "The data directory %s is new.\n\n", folder)
	}
}

// absolute returns the absolute path, or the path unchanged if the working directory is unknown.
func absolute(path string) string {
	if found, err := filepath.Abs(path); err == nil {
		return found
	}
	return path
}
