package cmd

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/secret"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// DemoName is the name of the demo command, which works in a temporary directory.
const DemoName = "demo"

// demoContacts are created over HTTP, as by an integrator.
var demoContacts = []string{
	`{"name":"Ada Lovelace","email":"ada@example.com","phone":"+44 20 7946 0001","company":"Analytical Engines"}`,
	`{"name":"Zoë Müller","email":"zoe@example.com","phone":"+49 (30) 901820","company":"Blüte GmbH"}`,
	`{"name":"Νίκος Παππάς","email":"nikos@example.com","company":"Αιγαίο"}`,
	`{"name":"Мария Иванова","email":"maria@example.com"}`,
	`{"name":"山田 太郎","email":"taro@example.com","phone":"+81 3-1234-5678"}`,
}

// NewDemoCommand returns the command that demonstrates the program in an empty temporary directory, which the caller deletes
// afterwards. It refuses any other directory.
func NewDemoCommand(app core.App, folder string) *cobra.Command {
	var address string
	command := &cobra.Command{
		Use:     DemoName,
		Short:   "Try it out: a server with a tenant, a key, contacts and a receiver that verifies signatures",
		Example: "  contactbase demo",
		Args:    exactArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if folder == "" || app.DataDir() != folder {
				return fmt.Errorf("the demo creates its own directory: run contactbase demo without --dir")
			}
			if err := app.RunAllMigrations(); err != nil {
				return fmt.Errorf("creating the database: %w", err)
			}
			d := &demo{app: app, out: command.OutOrStdout()}
			return d.serve(command.Context(), address)
		},
	}
	command.Flags().StringVar(&address, "http", "127.0.0.1:8090", "the address to listen on")
	return command
}

type demo struct {
	app      core.App
	out      io.Writer
	base     string
	password string
	key      string
	secret   string
}

func (d *demo) serve(ctx context.Context, address string) error {
	defer endOnHangup()()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		fmt.Fprintf(d.out, "%s is in use; using another port.\n", address)
		listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if d.base, err = baseURL(listener.Addr().String()); err != nil {
		return err
	}
	receiver := httptest.NewServer(http.HandlerFunc(d.receive))
	defer receiver.Close()
	if err := d.prepare(receiver.URL); err != nil {
		return err
	}
	failed := make(chan error, 1)
	d.app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Listener = listener
		e.InstallerFunc = nil
		if err := e.Next(); err != nil {
			return err
		}
		go func() {
			if err := d.show(ctx); err != nil {
				failed <- err
				_ = e.Server.Close()
			}
		}()
		return nil
	})
	if err := apis.Serve(d.app, apis.ServeConfig{HttpAddr: listener.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// endOnHangup stops the program in order if its terminal closes or its output pipe breaks, so that the directory is deleted. The
// returned function undoes this.
func endOnHangup() (stop func()) {
	gone, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(gone, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		select {
		case <-gone:
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(syscall.SIGTERM) // PocketBase handles it
			}
		case <-ended:
		}
	}()
	return func() {
		signal.Stop(gone)
		close(ended)
	}
}

// prepare creates what an admin would create in the dashboard.
func (d *demo) prepare(receiver string) error {
	d.app.Settings().Meta.AppURL = d.base
	if err := d.app.Save(d.app.Settings()); err != nil {
		return fmt.Errorf("saving the settings: %w", err)
	}
	superusers, err := d.app.FindCollectionByNameOrId(core.CollectionNameSuperusers)
	if err != nil {
		return err
	}
	superuser := core.NewRecord(superusers)
	d.password = secret.New()[len("whsec_"):][:12]
	superuser.SetEmail("admin@example.com")
	superuser.SetPassword(d.password)
	if err := d.app.Save(superuser); err != nil {
		return fmt.Errorf("creating a superuser: %w", err)
	}
	tenantID, err := d.prepareTenant()
	if err != nil {
		return err
	}
	webhooks, err := d.app.FindCollectionByNameOrId(webhook.CollectionName)
	if err != nil {
		return err
	}
	webhook := core.NewRecord(webhooks)
	d.secret = secret.New()
	webhook.Load(map[string]any{"tenant": tenantID, "name": "demo receiver", "url": receiver, "secret": d.secret})
	if err := d.app.Save(webhook); err != nil {
		return fmt.Errorf("creating a webhook: %w", err)
	}
	return nil
}

// prepareTenant creates the tenant and its key, and returns the tenant's id.
func (d *demo) prepareTenant() (string, error) {
	t, err := tenant.New(d.app)
	if err != nil {
		return "", err
	}
	t.SetName("Demo")
	t.SetAPIEnabled(true)
	if err := d.app.Save(t); err != nil {
		return "", fmt.Errorf("creating a tenant: %w", err)
	}
	key, err := credential.NewKey(d.app)
	if err != nil {
		return "", err
	}
	key.SetTenant(t.Id)
	key.SetName("demo")
	if err := d.app.Save(key); err != nil {
		return "", fmt.Errorf("creating a key: %w", err)
	}
	d.key = credential.Minted(key.ProxyRecord())
	return t.Id, d.prepareMember(t.Id)
}

// prepareMember creates a member of the tenant, who can sign in to the portal.
func (d *demo) prepareMember(tenantID string) error {
	members, err := d.app.FindCollectionByNameOrId(member.CollectionName)
	if err != nil {
		return err
	}
	ada := core.NewRecord(members)
	ada.Load(map[string]any{"tenant": tenantID, "role": member.RoleAdmin, "name": "Ada Lovelace", "email": "ada@example.com", "password": d.password})
	if err := d.app.Save(ada); err != nil {
		return fmt.Errorf("creating a member: %w", err)
	}
	return nil
}

// receive verifies signatures as an integrator's receiver would, over the raw body.
func (d *demo) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	mac := hmac.New(sha256.New, []byte(d.secret))
	mac.Write(body)
	if !hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(r.Header.Get("X-Signature"))) {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		fmt.Fprintln(d.out, "received a delivery with an invalid signature")
		return
	}
	var event struct {
		Type string `json:"type"`
		Data struct {
			Name string `json:"name"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	fmt.Fprintf(d.out, "received and verified: %s %s\n", event.Type, event.Data.Name)
}

func (d *demo) show(ctx context.Context) error {
	fmt.Fprintf(d.out, `
Contactbase is running at %[1]s, in a temporary directory that is deleted when you press Ctrl+C.

  API key     %[2]s
  dashboard   %[1]s/_/    (admin@example.com, password %[3]s)
  portal      %[1]s/portal/    (ada@example.com, the same password)
  reference   %[1]s/docs/reference

Paste these into another shell:

  export CB=%[1]s/api/ext/v1 KEY=%[2]s
  curl -s -H "X-API-Key: $KEY" "$CB/contacts?limit=2"
  curl -s -H "X-API-Key: $KEY" "$CB/contacts?q=muller"
  curl -s -H "X-API-Key: $KEY" -H "Content-Type: application/json" -d '{"name":"Grace Hopper","phone":"+1 (212) 555-0100"}' "$CB/contacts"

A webhook receiver is also running. Deliveries whose signature it has verified appear here:

`, d.base, d.key, d.password)
	for _, contact := range demoContacts {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/api/ext/v1/contacts", strings.NewReader(contact))
		if err != nil {
			return err
		}
		request.Header.Set("X-API-Key", d.key)
		request.Header.Set("Content-Type", "application/json")
		response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
		if err != nil {
			return fmt.Errorf("creating a contact: %w", err)
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusCreated {
			return fmt.Errorf("creating a contact: status %d: %s", response.StatusCode, bytes.TrimSpace(answer))
		}
	}
	return nil
}
