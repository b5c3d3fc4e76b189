package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

func ids(t *target, path string) ([]string, error) {
	var list struct {
		Data, Items []struct{ ID string }
	}
	if err := fetch(t, path, &list); err != nil {
		return nil, err
	}
	var found []string
	for _, item := range append(list.Data, list.Items...) {
		found = append(found, item.ID)
	}
	return found, nil
}

func count(t *target) int64 {
	if t.name == "plain" {
		var list struct{ TotalItems int64 }
		_ = fetch(t, plainContacts+"?perPage=1", &list)
		return list.TotalItems
	}
	// ours does not count: look for the end
	low, high := int64(0), int64(20_000_000)
	for low < high {
		middle := (low + high) / 2
		found, err := ids(t, fmt.Sprintf("%s?limit=1&offset=%d", ourContacts, middle))
		if err == nil && len(found) > 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// cursorAt returns the address of the page that begins at that depth.
func cursorAt(t *target, depth int) (string, error) {
	r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s%s?limit=50&offset=%d", t.base, ourContacts, depth-50), nil)
	if err != nil {
		return "", err
	}
	r.Header = t.header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	address, _, found := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !found {
		return "", fmt.Errorf("no next page at depth %d", depth)
	}
	return address, nil
}

func fetch(t *target, path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, t.base+path, nil)
	if err != nil {
		return err
	}
	r.Header = t.header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}
