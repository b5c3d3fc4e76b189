package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"contactbase/internal/settings"
)

// writeFile returns the path of a new settings file.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "contactbase.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads settings, and applies them and then the arguments to flags.
func read(args, environment []string) (*settings.Settings, *pflag.FlagSet, error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String(settings.FileFlag, "", "")
	flags.Int("retentionDays", 30, "")
	flags.Bool("dev", false, "")
	flags.String("metricsAddr", "", "")
	flags.StringSlice("origins", []string{"*"}, "")
	s, err := settings.Read(args, environment)
	if err == nil {
		err = s.Apply(flags)
	}
	if err == nil {
		err = s.Check("CONTACTBASE_ENCRYPTION")
	}
	if err == nil {
		err = flags.Parse(args)
	}
	return s, flags, err
}

// A flag overrides the environment, which overrides the file; other flags keep their defaults.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "# ours\nretentionDays: 1\nmetricsAddr: 127.0.0.1:1\norigins: [a.example, b.example]\n")
	for _, tc := range []struct {
		name              string
		args, environment []string
		flag              string
		value, source     string
		called            string // in errors
	}{
		{"nothing", nil, nil, "retentionDays", "30", "default", "--retentionDays"},
		{"an empty variable", nil, []string{"CONTACTBASE_RETENTION_DAYS="}, "retentionDays", "30", "default", "--retentionDays"},
		{"a file", []string{"--config", path}, nil, "retentionDays", "1", "file " + path + ", line 2", path + ", line 2: retentionDays"},
		{"a file that a variable names", nil, []string{"CONTACTBASE_CONFIG=" + path}, "metricsAddr", "127.0.0.1:1", "file " + path + ", line 3", path + ", line 3: metricsAddr"},
		{"a variable beside the file", []string{"--config=" + path}, []string{"CONTACTBASE_RETENTION_DAYS=2"}, "retentionDays", "2", "environment variable CONTACTBASE_RETENTION_DAYS", "CONTACTBASE_RETENTION_DAYS"},
		{"a flag beside both", []string{"--retentionDays=3", "--config", path}, []string{"CONTACTBASE_RETENTION_DAYS=2"}, "retentionDays", "3", "flag --retentionDays", "--retentionDays"},
		{"a list in the file", []string{"--config", path}, nil, "origins", "[a.example,b.example]", "file " + path + ", line 4", path + ", line 4: origins"},
		{"a list in a variable", nil, []string{"CONTACTBASE_ORIGINS=c.example,d.example"}, "origins", "[c.example,d.example]", "environment variable CONTACTBASE_ORIGINS", "CONTACTBASE_ORIGINS"},
		{"a flag instead of a list", []string{"--origins=e.example", "--config", path}, nil, "origins", "[e.example]", "flag --origins", "--origins"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, flags, err := read(tc.args, tc.environment)
			if err != nil {
				t.Fatal(err)
			}
			flag := flags.Lookup(tc.flag)
			if value, source, called := flag.Value.String(), s.Source(flag), s.Name(flag); value != tc.value || source != tc.source || called != tc.called {
				t.Errorf("--%s is %s from %s and called %s, not %s from %s and %s", tc.flag, value, source, called, tc.value, tc.source, tc.called)
			}
		})
	}
}

// An unknown setting or an invalid value is rejected with one sentence that says where it is.
func TestRefused(t *testing.T) {
	t.Parallel()
	for content, says := range map[string]string{
		"retentiondays: 7":                      "line 1: retentiondays is not a setting; did you mean retentionDays?",
		"retentions: 7":                         "line 1: retentions is not a setting; contactbase config --help lists them",
		"dev: true\nretentionDays: soon":        `line 2: retentionDays must be a whole number, not "soon"`,
		"dev: yes":                              `line 1: dev must be true or false, not "yes"`,
		"retentionDays: {days: 7}":              "line 1: retentionDays must be a value or a list of values",
		"retentionDays:":                        "line 1: retentionDays must be a value or a list of values",
		"origins: [[a]]":                        "line 1: origins must be a value or a list of values",
		"retentionDays: 7\nretentionDays: 8":    "line 2: retentionDays occurs twice",
		"config: other.yaml":                    "line 1: a settings file cannot name another one",
		"retentionDays":                         "write each setting on its own line as name: value",
		"retentionDays: 7\n---\nmetricsAddr: x": "must have a single YAML document",
		"retentionDays: [7":                     "is not valid YAML",
	} {
		path := writeFile(t, content)
		_, _, err := read([]string{"--config", path}, nil)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is answered %v, without %q", content, err, says)
		}
	}
	for variable, says := range map[string]string{
		"CONTACTBASE_RETENTION=7":         "the environment variable CONTACTBASE_RETENTION is not a setting; contactbase config --help lists them",
		"CONTACTBASE_RETENTIONDAYS=7":     "the environment variable CONTACTBASE_RETENTIONDAYS is not a setting; did you mean CONTACTBASE_RETENTION_DAYS?",
		"CONTACTBASE_RETENTION_DAYS=soon": `CONTACTBASE_RETENTION_DAYS must be a whole number, not "soon"`,
		"CONTACTBASE_CONFIG=/nowhere":     "reading the settings file: open /nowhere: no such file or directory",
	} {
		if _, _, err := read(nil, []string{variable}); err == nil || err.Error() != says {
			t.Errorf("%s is answered %v, not %s", variable, err, says)
		}
	}
}

// Other programs' variables with our prefix are accepted, and so is an empty file.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"CONTACTBASE_ENCRYPTION", "CONTACTBASE_KEY", "CONTACTBASE_URL", "CONTACTBASE_WEBHOOK_SECRET",
		"CONTACTBASE_SERVICE_HOST", "CONTACTBASE_SERVICE_PORT_HTTP", "CONTACTBASE_PORT", "CONTACTBASE_METRICS_PORT_9090_TCP_ADDR", "OTHER",
	} {
		if _, _, err := read(nil, []string{name + "=x"}); err != nil {
			t.Errorf("%s is answered %v", name, err)
		}
	}
	if _, _, err := read([]string{"--config", writeFile(t, "# nothing yet\n")}, nil); err != nil {
		t.Error(err)
	}
}
