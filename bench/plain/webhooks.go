package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// sender is what a user would write instead of webhooks: a hook that posts each new contact.
type sender struct {
	urls  []string
	keeps bool // whether a row for each delivery is kept
	http  *http.Client
}

const (
	deliveriesName = "deliveries"
	secret         = "a secret that the receivers know"
)

// bindWebhooks sends new contacts as PLAIN_WEBHOOKS says: "rows" keeps a row for each delivery, and "posts" keeps
// nothing, so that a kill loses what has not been sent. PLAIN_URLS are the receivers, separated by spaces.
func bindWebhooks(app core.App) {
	way := os.Getenv("PLAIN_WEBHOOKS")
	if way == "" {
		return
	}
	s := &sender{
		urls:  strings.Fields(os.Getenv("PLAIN_URLS")),
		keeps: way == "rows",
		// as many connections to a receiver as ours has at a time
		http: &http.Client{
			Timeout: 15 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 10, MaxIdleConnsPerHost: 10},
		},
	}
	if s.keeps {
		app.OnServe().BindFunc(func(e *core.ServeEvent) error {
			if _, err := e.App.FindCollectionByNameOrId(deliveriesName); err != nil {
				if err := e.App.Save(deliveries()); err != nil {
					return err
				}
			}
			return e.Next()
		})
	}
	app.OnRecordAfterCreateSuccess(contactsName).BindFunc(s.sendCreated)
}

func (s *sender) sendCreated(e *core.RecordEvent) error {
	body, err := json.Marshal(map[string]any{"type": "contact.created", "data": e.Record})
	if err != nil {
		return err
	}
	for _, url := range s.urls {
		var row *core.Record
		if s.keeps {
			if row, err = newDelivery(e.App, e.Record.Id, url, body); err != nil {
				return err
			}
		}
		go func() {
			if err := s.deliver(e.App, row, url, body); err != nil {
				e.App.Logger().Error("delivering a contact", "url", url, "error", err)
			}
		}()
	}
	return e.Next()
}

func newDelivery(app core.App, contact, url string, body []byte) (*core.Record, error) {
	collection, err := app.FindCachedCollectionByNameOrId(deliveriesName)
	if err != nil {
		return nil, err
	}
	row := core.NewRecord(collection)
	row.Load(map[string]any{"contact": contact, "url": url, "body": string(body), "status": "pending"})
	return row, app.Save(row)
}

// deliver posts a body, and stores the result in the row, if any.
func (s *sender) deliver(app core.App, row *core.Record, url string, body []byte) error {
	status, failed := s.post(url, body)
	if row == nil {
		return failed
	}
	row.Set("attempts", row.GetInt("attempts")+1)
	row.Set("response", status)
	if failed == nil {
		row.Set("status", "delivered")
	}
	return errors.Join(failed, app.Save(row))
}

func (s *sender) post(url string, body []byte) (status int, err error) {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := s.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return response.StatusCode, err
	}
	if response.StatusCode >= 300 {
		return response.StatusCode, fmt.Errorf("the receiver responded with %d", response.StatusCode)
	}
	return response.StatusCode, nil
}

// deliveries has what a repeated delivery needs, and the index that finds the pending ones.
func deliveries() *core.Collection {
	c := core.NewBaseCollection(deliveriesName)
	c.Fields.Add(
		&core.TextField{Name: "contact", Max: 15},
		&core.TextField{Name: "url", Max: 2048},
		&core.TextField{Name: "body", Max: 1 << 20},
		&core.TextField{Name: "status", Max: 20},
		&core.NumberField{Name: "attempts"},
		&core.NumberField{Name: "response"},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.AddIndex("idx_deliveries_status", false, "`status`, `created`", "")
	return c
}
