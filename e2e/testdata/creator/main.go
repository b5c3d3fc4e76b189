// Command creator creates contacts with the client concurrently, and reads the feed of events up to the last of them.
// It prints which contacts were created and which events arrived.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"

	contactbase "contactbase/clients/go"
)

func main() {
	client, err := contactbase.New(os.Getenv("BASE"), os.Getenv("KEY"))
	if err != nil {
		log.Fatal(err)
	}
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		log.Fatal(err)
	}
	var workers sync.WaitGroup
	workers.Go(func() { follow(client, count) })
	numbers := make(chan int)
	for range 16 {
		workers.Go(func() {
			for number := range numbers {
				name := fmt.Sprint("person ", number)
				created, err := client.Contacts.Create(context.Background(), contactbase.Fields{Name: &name})
				if err != nil {
					log.Fatal(err)
				}
				fmt.Println("created", created.ID, created.Name)
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
}

func follow(client *contactbase.Client, count int) {
	for event, err := range client.Events.Follow(context.Background(), "", contactbase.EventOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		created := event.(contactbase.ContactCreated).Contact
		fmt.Println("arrived", created.ID, created.Name)
		if count--; count == 0 {
			return
		}
	}
}
