// Command crosscheck type-checks the program for other systems, in a tenth of the time of a build.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/tools/go/packages"
)

const root = "../.." // of the sources, from the folder of this module

func main() {
	log.SetFlags(0)
	log.SetPrefix("crosscheck: ")
	for _, target := range os.Args[1:] {
		if err := check(context.Background(), target); err != nil {
			log.Fatalf("%s: %v", target, err)
		}
		fmt.Println(target, "has no wrong types")
	}
}

// check checks the packages of the program for a target such as windows/arm64.
func check(ctx context.Context, target string) error {
	system, machine, _ := strings.Cut(target, "/")
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0")
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", ".")
	list.Dir, list.Env, list.Stderr = root, env, os.Stderr
	own, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir: root,
		Env: env,
	}
	checked, err := packages.Load(config, strings.Fields(string(own))...)
	if err != nil {
		return err
	}
	if wrong := packages.PrintErrors(checked); wrong > 0 {
		return fmt.Errorf("%d errors", wrong)
	}
	if len(checked) < 10 {
		return fmt.Errorf("there are but %d packages", len(checked))
	}
	return nil
}
