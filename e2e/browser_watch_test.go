package e2e

import (
	"context"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// exchange is a request of the browser and its response.
type exchange struct {
	url      string
	sent     string // headers and body
	received string // body
}

// listen handles the events of the page. It must not block.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "uncaught: "+describe(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			b.faults = append(b.faults, "console: "+arguments(e.Args))
		}
	case *log.EventEntryAdded:
		// the tests themselves check responses of 400 and more
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.faults = append(b.faults, "log: "+e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		sent := fmt.Sprint(e.Request.URL, e.Request.URLFragment, e.Request.Headers)
		for _, entry := range e.Request.PostDataEntries {
			sent += string(entry.Bytes)
		}
		b.exchanges[e.RequestID] = &exchange{url: e.Request.URL, sent: sent}
	case *network.EventLoadingFinished:
		if found := b.exchanges[e.RequestID]; found != nil && strings.Contains(found.url, "/api/") {
			b.pending.Go(func() { b.readBody(e.RequestID, found) })
		}
	}
}

func describe(details *runtime.ExceptionDetails) string {
	if details.Exception != nil {
		return details.Exception.Description
	}
	return details.Text
}

func arguments(list []*runtime.RemoteObject) string {
	var parts []string
	for _, argument := range list {
		parts = append(parts, string(argument.Value)+argument.Description)
	}
	return strings.Join(parts, " ")
}

func (b *browser) readBody(id network.RequestID, into *exchange) {
	answer, err := chromedp.Run(b.ctx, func(ctx context.Context, target *chromedp.Target) (network.GetResponseBodyResult, error) {
		return cdp.Call(ctx, target, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id})
	})
	if err != nil {
		return // a page that was left takes its answers along
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	into.received = string(answer.Body)
}

// traces returns the URLs of requests that sent the text, and of those whose responses contained it.
func (b *browser) traces(text string) (sent, received []string) {
	b.pending.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.exchanges {
		if strings.Contains(e.sent, text) {
			sent = append(sent, e.url)
		}
		if strings.Contains(e.received, text) {
			received = append(received, e.url)
		}
	}
	return sent, received
}

// foreign returns the URLs of other servers that the browser has requested.
func (b *browser) foreign() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []string
	for _, e := range b.exchanges {
		if !strings.HasPrefix(e.url, b.base+"/") && !strings.HasPrefix(e.url, "data:") && !strings.HasPrefix(e.url, "blob:") {
			found = append(found, e.url)
		}
	}
	return found
}

// largest returns the size of the largest response of the API, in bytes, and its URL.
func (b *browser) largest() (size int, address string) {
	b.pending.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.exchanges {
		if len(e.received) > size {
			size, address = len(e.received), e.url
		}
	}
	return size, address
}
