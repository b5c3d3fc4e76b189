// Package settings reads settings from environment variables and a file, besides the command line, and knows where
// each value comes from.
//
// A setting is a flag. The variable CONTACTBASE_RETENTION_DAYS and the file's key retentionDays set --retentionDays.
// The flag overrides the variable, which overrides the file.
package settings

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// FileFlag is the name of the flag that names the file.
const FileFlag = "config"

// prefix starts the names of the environment variables.
const prefix = "CONTACTBASE_"

// foreign matches variables with our prefix that are not settings: those of the examples for integrators, and those
// that Kubernetes sets for services with our name.
var foreign = regexp.MustCompile(
	`^CONTACTBASE_(URL|KEY|WEBHOOK_SECRET|(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|` +
		`PORT|PORT_\d+_(TCP|UDP|SCTP)(_.+)?))$`,
)

// Settings holds the values of an environment and a file.
type Settings struct {
	environment map[string]given // by variable name
	file        map[string]given // by key, which is the name of the flag
	known       map[string]bool  // the flags that Apply has seen
}

// given is a value and where it comes from.
type given struct {
	value  string // a list is separated by commas
	name   string // of the setting, for errors
	source string // for people
}

// None returns settings without values.
func None() *Settings { return &Settings{known: map[string]bool{}} }

// Read returns the settings of an environment, as from os.Environ, and of the file that the arguments or the
// environment name. An empty variable counts as unset.
func Read(args, environment []string) (*Settings, error) {
	s := None()
	s.environment = map[string]given{}
	for _, entry := range environment {
		variable, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(variable, prefix) && value != "" {
			s.environment[variable] = given{value: value, name: variable, source: "environment variable " + variable}
		}
	}
	path := cmp.Or(fileOf(args), s.environment[Variable(FileFlag)].value)
	if path == "" {
		return s, nil
	}
	var err error
	s.file, err = readFile(path)
	return s, err
}

// fileOf returns the file that the arguments name, "" for none. Other invalid arguments are reported later.
func fileOf(args []string) string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	path := flags.String(FileFlag, "", "")
	_ = flags.Parse(args)
	return *path
}

// Variable returns the name of the environment variable that sets a flag.
func Variable(flag string) string {
	var name strings.Builder
	name.WriteString(prefix)
	for _, letter := range flag {
		if unicode.IsUpper(letter) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(letter))
	}
	return name.String()
}

// Value returns a flag's value from the environment or else the file, "" if neither has one.
func (s *Settings) Value(flag string) string { return s.look(flag).value }

func (s *Settings) look(flag string) given {
	if found, isSet := s.environment[Variable(flag)]; isSet {
		return found
	}
	return s.file[flag]
}

// Apply sets flags from the environment and the file. Call it before the command line, which overrides them, is parsed.
func (s *Settings) Apply(flags *pflag.FlagSet) error {
	var failure error
	flags.VisitAll(func(flag *pflag.Flag) {
		s.known[flag.Name] = true
		found := s.look(flag.Name)
		if flag.Changed || found.name == "" || failure != nil {
			return
		}
		if err := set(flag.Value, found.value); err != nil {
			failure = wrongValue(found, flag.Value.Type(), err)
		}
	})
	return failure
}

// Follow sets flags that are set nowhere to the values of the server, by name. Call it after the command line is
// parsed.
func (s *Settings) Follow(flags *pflag.FlagSet, values map[string]string) {
	for name, value := range values {
		if flag := flags.Lookup(name); flag != nil && !flag.Changed && s.look(name).name == "" {
			_ = set(flag.Value, value) // the same flag has printed it
		}
	}
}

// Text returns the value of a flag as an environment variable would hold it.
func Text(flag *pflag.Flag) string {
	if list, isList := flag.Value.(pflag.SliceValue); isList {
		return strings.Join(list.GetSlice(), ",")
	}
	return flag.Value.String()
}

func set(value pflag.Value, text string) error {
	if list, isList := value.(pflag.SliceValue); isList { // its Set would make the command line append
		return list.Replace(strings.Split(text, ","))
	}
	return value.Set(text)
}

func wrongValue(found given, kind string, err error) error {
	if takes := Takes(kind); takes != "" {
		return fmt.Errorf("%s must be %s, not %q", found.name, takes, found.value)
	}
	return fmt.Errorf("%s: %w", found.name, err)
}

// Takes describes the values of a pflag type, "" for any text.
func Takes(kind string) string {
	return map[string]string{"int": "a whole number", "bool": "true or false"}[kind]
}

// Check returns an error for variables and keys that name none of the flags given to Apply. It accepts
// those named in others.
func (s *Settings) Check(others ...string) error {
	variables := map[string]bool{}
	for name := range s.known {
		variables[Variable(name)] = true
	}
	for _, variable := range slices.Sorted(maps.Keys(s.environment)) {
		if !variables[variable] && !slices.Contains(others, variable) && !foreign.MatchString(variable) {
			return fmt.Errorf("the environment variable %s is not a setting; %s",
				variable, advice(variable, maps.Keys(variables)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.file)) {
		if !s.known[key] {
			return fmt.Errorf("%s is not a setting; %s", s.file[key].name, advice(key, maps.Keys(s.known)))
		}
	}
	return nil
}

// advice says which of the names was meant: the one that differs only in case, _ and -, if any.
func advice(given string, names iter.Seq[string]) string {
	plain := func(name string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) }
	for name := range names {
		if plain(name) == plain(given) {
			return "did you mean " + name + "?"
		}
	}
	return "contactbase config --help lists them"
}

// Source returns where the value of a flag comes from.
func (s *Settings) Source(flag *pflag.Flag) string {
	found := s.look(flag.Name)
	switch {
	case flag.Changed:
		return "flag --" + flag.Name
	case found.source != "":
		return found.source
	default:
		return "default"
	}
}

// Name returns the name of the setting where its value is given, for errors.
func (s *Settings) Name(flag *pflag.Flag) string {
	if found := s.look(flag.Name); !flag.Changed && found.name != "" {
		return found.name
	}
	return "--" + flag.Name
}
