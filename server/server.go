// Package server is Contactbase as a library: an application of PocketBase's that Go programs extend with routes,
// hooks and commands.
//
//	app, err := server.New(server.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	app.OnServe().BindFunc(func(e *core.ServeEvent) error { … })
//	if err := app.Execute(); err != nil {
//		log.Print(err)
//		os.Exit(server.ExitCode(err))
//	}
package server

import (
	"cmp"
	"embed"
	"io/fs"
	"os"

	"github.com/pocketbase/pocketbase"

	"contactbase/internal/app/cli"
)

// Config is the configuration of a program. The zero value works.
type Config struct {
	Version string // as responses and deliveries report it; "" for dev
	Public  fs.FS  // what stands at its root is served at /, at all paths that have no route; nil for none
}

// Server is the program. Bind hooks and add commands before Execute. It remembers which hooks before writes are
// bound with its methods, so that they see every write of a contact.
type Server struct {
	*pocketbase.PocketBase
	program *cli.Program
}

// New reads the command line, the environment and the settings file. It opens nothing.
func New(config Config) (*Server, error) {
	if config.Public == nil {
		config.Public = embed.FS{}
	}
	program, err := cli.New(cmp.Or(config.Version, "dev"), config.Public, os.Args[1:])
	if err != nil {
		return nil, err
	}
	return &Server{program.Base, program}, nil
}

// Execute runs the command that the command line names, and returns its error.
func (s *Server) Execute() error { return s.program.Execute() }

// Start is Execute. PocketBase's own would add its commands again.
func (s *Server) Start() error { return s.Execute() }

// ExitCode returns the exit code for an error of New or Execute: 3 if another machine has taken over, otherwise 1.
func ExitCode(err error) int { return cli.ExitCode(err) }
