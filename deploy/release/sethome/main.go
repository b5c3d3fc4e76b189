// Command sethome writes the addresses of deploy/home.yaml into the sources, and prints which files it changed.
package main

import (
	"context"
	"fmt"
	"log"

	"contactbase/deploy/release/home"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sethome: ")
	const root = "../.." // from the directory of this module
	h, err := home.Read(root)
	if err != nil {
		log.Fatal(err)
	}
	changed, err := h.Write(context.Background(), root)
	for _, name := range changed {
		fmt.Println(name)
	}
	if err != nil {
		log.Fatal(err)
	}
}
