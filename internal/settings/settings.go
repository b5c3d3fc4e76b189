// Package settings reads the settings that the program has beside its command line, from environment variables and a file, and
// knows where each value comes from.
//
// A setting is a flag. The variable CONTACTBASE_RETENTION_DAYS and the key retentionDays of the file set --retentionDays.
// The flag counts before the variable, and the variable before the file.
package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// FileFlag is the name of the flag that names the file.
const FileFlag = "config"

// prefix is what the names of the environment variables begin with.
const prefix = "CONTACTBASE_"

// foreign matches variables that begin with our prefix and are no settings: those that the examples for integrators have,
// and those that Kubernetes makes for services of our name.
var foreign = regexp.MustCompile(`^CONTACTBASE_(URL|KEY|WEBHOOK_SECRET|(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_.+)?))$`)

// Settings are the values of an environment and a file.
type Settings struct {
	environment map[string]given // by the name of the variable
	file        map[string]given // by the key, which is the name of the flag
	known       map[string]bool  // the names of the flags that Apply has seen
}

// given is a value with the place where it is given.
type given struct {
	value  string // those of a list are separated by commas
	name   string // as an error calls the setting there
	source string // where it comes from, as shown to people
}

// None returns settings without any value.
func None() *Settings { return &Settings{known: map[string]bool{}} }

// Read returns the settings of an environment, as os.Environ returns it, and of the file that the arguments or the
// environment name. A variable that is empty counts as one that is not set.
func Read(args, environment []string) (*Settings, error) {
	s := None()
	s.environment = map[string]given{}
	for _, entry := range environment {
		variable, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(variable, prefix) && value != "" {
			s.environment[variable] = given{value: value, name: variable, source: "environment variable " + variable}
		}
	}
	path := s.environment[Variable(FileFlag)].value
	if named := fileOf(args); named != "" {
		path = named
	}
	if path == "" {
		return s, nil
	}
	var err error
	s.file, err = readFile(path)
	return s, err
}

// fileOf returns the file that the arguments name, "" for none. What is wrong with the other arguments shows later.
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

// Value returns what the environment or else the file says about a flag, "" where neither does.
func (s *Settings) Value(flag string) string { return s.look(flag).value }

func (s *Settings) look(flag string) given {
	if found, isSet := s.environment[Variable(flag)]; isSet {
		return found
	}
	return s.file[flag]
}

// Apply sets the flags that the command line has not set. Call it before the command line is parsed for them, which then
// counts.
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

func set(value pflag.Value, text string) error {
	if list, isList := value.(pflag.SliceValue); isList { // whose Set would have the command line add to it
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

// Takes says what a flag of a type of pflag's takes, "" for any text.
func Takes(kind string) string {
	return map[string]string{"int": "a whole number", "bool": "true or false"}[kind]
}

// Check refuses variables and keys that are none of the flags that were given to Apply. The variables of other names are
// let through.
func (s *Settings) Check(others ...string) error {
	variables := map[string]bool{}
	for name := range s.known {
		variables[Variable(name)] = true
	}
	for _, variable := range slices.Sorted(maps.Keys(s.environment)) {
		if !variables[variable] && !slices.Contains(others, variable) && !foreign.MatchString(variable) {
			return fmt.Errorf("the environment variable %s is not a setting; contactbase config --help lists them", variable)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.file)) {
		if !s.known[key] {
			return fmt.Errorf("%s is not a setting; contactbase config --help lists them", s.file[key].name)
		}
	}
	return nil
}

// Source says where the value of a flag comes from.
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

// Name returns how an error calls the setting where its value is given.
func (s *Settings) Name(flag *pflag.Flag) string {
	if found := s.look(flag.Name); !flag.Changed && found.name != "" {
		return found.name
	}
	return "--" + flag.Name
}
