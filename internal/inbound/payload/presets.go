package payload

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed presets
var presetFiles embed.FS

// PresetInfo describes a mapping preset. To add one, add a file and a folder with its sample to presets/, and other
// recorded payloads to testdata/.
type PresetInfo struct {
	Name  string `json:"name"` // the value of a mapping's "preset"; the file's name
	Title string `json:"title"`
	About string `json:"about"` // what to set up at the sender and what to know, one or two sentences
	Docs  string `json:"docs"`  // the sender's documentation of the payload
	// how the sender signs, see inbound.Schemes; "" if it does not, or in another way
	Scheme  string          `json:"scheme"`
	Mapping json.RawMessage `json:"mapping"`

	// The header that names the kind of event and, by the longest beginning of its value, the path of the items instead of
	// the mapping's.
	topicHeader string
	topics      map[string]path

	Sample     string `json:"sample"`     // a payload to try the mapping with; in the file the name of one in the folder
	SampleType string `json:"sampleType"` // its content type
}

// recordedType returns the content type of a recorded payload by the end of its name.
func recordedType(name, payload string) string {
	switch filepath.Ext(name) {
	case ".json":
		return "application/json"
	case ".form":
		return "application/x-www-form-urlencoded"
	}
	boundary, _, _ := strings.Cut(payload, "\r\n")
	return "multipart/form-data; boundary=" + strings.TrimPrefix(boundary, "--")
}

// presets reads the files once. They are part of the program, so an invalid one panics; a test reads them all.
var presets = sync.OnceValue(func() map[string]PresetInfo {
	files, err := fs.Glob(presetFiles, "presets/*.json")
	if err != nil {
		panic(err)
	}
	all := make(map[string]PresetInfo, len(files))
	for _, file := range files {
		raw, err := presetFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var p PresetInfo
		var by struct {
			TopicHeader string            `json:"topicHeader"`
			Topics      map[string]string `json:"topics"`
		}
		if err := errors.Join(json.Unmarshal(raw, &p), json.Unmarshal(raw, &by)); err != nil {
			panic("payload: " + file + ": " + err.Error())
		}
		p.topicHeader, p.topics = by.TopicHeader, map[string]path{}
		for topic, items := range by.Topics {
			p.topics[topic], _ = parsePath(items)
		}
		p.Name = strings.TrimSuffix(filepath.Base(file), ".json")
		sample, err := presetFiles.ReadFile("presets/" + p.Name + "/" + p.Sample)
		if err != nil {
			panic(err)
		}
		p.Sample, p.SampleType = string(sample), recordedType(p.Sample, string(sample))
		all[p.Name] = p
	}
	return all
})

// topicParameter is the parameter of a content type with the kind of an event, which a header of the request has.
const topicParameter = "topic"

// WithTopic adds to a content type of which kind an event is, as far as the sender of the mapping's preset says so in a
// header: its bodies may differ by what they lack only. m may be nil.
func (m *Mapping) WithTopic(contentType string, header func(name string) string) string {
	name := presets()[m.Preset()].topicHeader
	media, params, err := mime.ParseMediaType(contentType)
	if name == "" || header(name) == "" || err != nil {
		return contentType
	}
	params[topicParameter] = header(name)
	return cmp.Or(mime.FormatMediaType(media, params), contentType)
}

// byTopic returns the mapping for a content type from WithTopic. m may be nil.
func (m *Mapping) byTopic(contentType string) *Mapping {
	preset := presets()[m.Preset()]
	_, params, _ := mime.ParseMediaType(contentType)
	topic := params[topicParameter]
	if topic == "" || preset.topicHeader == "" || m.ownItems {
		return m
	}
	longest := ""
	for beginning := range preset.topics {
		if strings.HasPrefix(topic, beginning) && len(beginning) > len(longest) {
			longest = beginning
		}
	}
	own := *m
	own.items = preset.topics[longest]
	return &own
}

func presetNames() []string { return slices.Sorted(maps.Keys(presets())) }

// Presets returns the mapping presets by name.
func Presets() []PresetInfo {
	all := presets()
	list := make([]PresetInfo, 0, len(all))
	for _, name := range presetNames() {
		p := all[name]
		p.Mapping = slices.Clone(p.Mapping)
		list = append(list, p)
	}
	return list
}
