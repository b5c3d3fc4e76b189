// Package demo shows the program to someone who tries it out: a server with sample data and a receiver of its webhook.
package demo

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
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/address"
	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/secret"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// contacts are created over HTTP, as by an integrator.
var contacts = []string{
	`{"name":"Ada Lovelace","email":"ada@example.com","phone":"+44 20 7946 0001","company":"Analytical Engines"}`,
	`{"name":"Zoë Müller","email":"zoe@example.com","phone":"+49 (30) 901820","company":"Blüte GmbH"}`,
	`{"name":"Νίκος Παππάς","email":"nikos@example.com","company":"Αιγαίο"}`,
	`{"name":"Мария Иванова","email":"maria@example.com"}`,
	`{"name":"山田 太郎","email":"taro@example.com","phone":"+81 3-1234-5678"}`,
}

type demo struct {
	app      core.App
	out      io.Writer
	base     string
	password string
	key      string
	secret   string
}

// Serve serves the app with sample data, on another port if the address is in use. It prints what it shows, and
// returns when the server has stopped.
func Serve(ctx context.Context, app core.App, listening string, out io.Writer) error {
	defer endOnHangup()()
	d := &demo{app: app, out: out}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", listening)
	if errors.Is(err, syscall.EADDRINUSE) {
		fmt.Fprintf(out, "%s is in use; using another port.\n", listening)
		listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if d.base, err = address.Local(listener.Addr().String()); err != nil {
		return err
	}
	receiver := httptest.NewServer(http.HandlerFunc(d.receive))
	defer receiver.Close()
	if err := d.prepare(receiver.URL); err != nil {
		return err
	}
	failed := make(chan error, 1)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
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
	if err := apis.Serve(app, apis.ServeConfig{HttpAddr: listener.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// endOnHangup stops the program in order if its terminal closes or its output pipe breaks, so that the directory is
// deleted. The returned function undoes this.
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
	// letters and digits, which a double click in a terminal selects as a whole
	d.password, d.secret = security.RandomString(14), secret.New()
	owner, err := d.create(tenant.CollectionName, map[string]any{"name": "Demo", "apiEnabled": true})
	if err != nil {
		return err
	}
	key, err := d.create(credential.CollectionName, map[string]any{"tenant": owner.Id, "name": "demo"})
	if err != nil {
		return err
	}
	d.key = credential.Minted(key)
	for collection, values := range map[string]map[string]any{
		core.CollectionNameSuperusers: {"email": "admin@example.com", "password": d.password},
		member.CollectionName: {
			"tenant": owner.Id, "role": member.RoleAdmin, "name": "Ada Lovelace",
			"email": "ada@example.com", "password": d.password,
		},
		webhook.CollectionName: {"tenant": owner.Id, "name": "demo receiver", "url": receiver, "secret": d.secret},
	} {
		if _, err := d.create(collection, values); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) create(collection string, values map[string]any) (*core.Record, error) {
	found, err := d.app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return nil, err
	}
	record := core.NewRecord(found)
	record.Load(values)
	if err := d.app.Save(record); err != nil {
		return nil, fmt.Errorf("creating a record of %s: %w", collection, err)
	}
	return record, nil
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
  curl -s -H "X-API-Key: $KEY" -H "Content-Type: application/json" `+
		`-d '{"name":"Grace Hopper","phone":"+1 (212) 555-0100"}' "$CB/contacts"

A webhook receiver is also running. Deliveries whose signature it has verified appear here:

`, d.base, d.key, d.password)
	for _, contact := range contacts {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost,
			d.base+"/api/ext/v1/contacts", strings.NewReader(contact))
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
