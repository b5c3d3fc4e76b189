// Package field_test tries files, bodies and requests of kinds that people have reported. README.md describes them.
package field_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// shape is one file of README.md's format.
type shape struct {
	name   string
	Source texts   `json:"source"`
	Report string  `json:"report"`
	Door   string  `json:"door"`
	Setup  setup   `json:"setup"`
	Input  rawJSON `json:"input"`
	Expect answers `json:"expect"`
	Fails  string  `json:"fails"`
	Manual *struct {
		Steps  []string `json:"steps"`
		Expect string   `json:"expect"`
	} `json:"manual"`

	file     fileInput   // for the door import
	export   exportInput // for the door export
	requests []request   // for the other doors
}

type setup struct {
	Country      string           `json:"country"`
	Fields       ownFields        `json:"fields"`
	Contacts     []map[string]any `json:"contacts"`
	Webhook      map[string]any   `json:"webhook"`
	Permissions  []string         `json:"permissions"`
	AppURL       string           `json:"appURL"`
	ProxyHeaders []string         `json:"proxyHeaders"`
}

type ownField struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Values  []string `json:"values"`
	Several bool     `json:"several"`
}

// standard are the own fields of that name.
var standard = ownFields{
	{Name: "birthday", Type: "date"}, {Name: "newsletter", Type: "bool"}, {Name: "score", Type: "number"},
	{Name: "tier", Type: "select", Values: []string{"Gold", "Silver"}},
	{Name: "tags", Type: "select", Values: []string{"vip", "early", "press"}, Several: true},
	{Name: "website", Type: "url"}, {Name: "notes", Type: "text"},
}

type ownFields []ownField

func (f *ownFields) UnmarshalJSON(data []byte) error {
	if string(data) == `"standard"` {
		*f = standard
		return nil
	}
	return strict(data, (*[]ownField)(f))
}

// answer is what is expected after all of the input.
type answer struct {
	Contacts *[]any         `json:"contacts"`
	Counts   map[string]int `json:"counts"`
	Warnings *[]texts       `json:"warnings"`
	Error    *refusal       `json:"error"`
	Contains []string       `json:"contains"`
	Lacks    []string       `json:"lacks"`
}

type refusal struct {
	Status   int      `json:"status"`
	Code     string   `json:"code"`
	Contains []string `json:"contains"`
}

// answers are alternatives.
type answers []answer

func (a *answers) UnmarshalJSON(data []byte) error { return oneOrMore(data, (*[]answer)(a)) }

// texts is one text or a list.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error { return oneOrMore(data, (*[]string)(t)) }

type rawJSON = json.RawMessage

func oneOrMore[T any](data []byte, to *[]T) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return strict(data, to)
	}
	*to = make([]T, 1)
	return strict(data, &(*to)[0])
}

// strict decodes JSON and refuses properties that the format does not have.
func strict(data []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has something after its end")
	}
	return nil
}

// load returns the shapes below a folder by their names.
func load(folder fs.FS) (shapes []*shape, err error) {
	err = fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		s, err := parse(strings.TrimSuffix(path, ".json"), text)
		shapes = append(shapes, s)
		return err
	})
	return shapes, err
}

func parse(name string, text []byte) (*shape, error) {
	s := &shape{name: name}
	err := strict(text, s)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *shape) check() error {
	switch {
	case len(s.Source) == 0 || s.Report == "":
		return errors.New("source and report are required")
	case s.Manual != nil:
		return nil
	case s.Door == "import":
		return strict(s.Input, &s.file)
	case s.Door == "export":
		return strict(s.Input, &s.export)
	case s.Door == "inbound", s.Door == "rest", s.Door == "operate":
		return strict(s.Input, &s.requests)
	}
	return fmt.Errorf("there is no door %q", s.Door)
}
