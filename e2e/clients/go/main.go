// Command clients uses the client that oapi-codegen generates, like an integrator: it creates, gets, updates and
// finds a contact, handles a refused one, and distinguishes events.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/oapi-codegen/nullable"

	"contactbase/e2e/clients/contacts"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	client, err := contacts.NewClientWithResponses(os.Getenv("BASE"), contacts.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	id, err := create(ctx, client)
	if err != nil {
		log.Fatal("create: ", err)
	}
	for name, step := range map[string]func(context.Context, *contacts.ClientWithResponses, string) error{
		"update": update, "find": find, "refuse": refuse,
	} {
		if err := step(ctx, client, id); err != nil {
			log.Fatal(name, ": ", err)
		}
	}
	if err := receive(); err != nil {
		log.Fatal("events: ", err)
	}
	fmt.Println("oapi-codegen: done")
}

// create creates a contact and gets it.
func create(ctx context.Context, client *contacts.ClientWithResponses) (id string, err error) {
	created, err := client.CreateContactWithResponse(ctx, nil, contacts.ContactInput{
		Name:  nullable.NewNullableWithValue("Ada of oapi-codegen"),
		Email: nullable.NewNullableWithValue("oapi-codegen@example.com"),
		Phone: nullable.NewNullableWithValue("+44 20 7946 0958"),
	})
	if err != nil {
		return "", err
	}
	if created.JSON201 == nil {
		return "", fmt.Errorf("%d %s", created.StatusCode(), created.Body)
	}
	id = created.JSON201.Data.Id
	got, err := client.GetContactWithResponse(ctx, id, nil)
	if err != nil {
		return "", err
	}
	if got.JSON200 == nil || got.JSON200.Data.Phone.MustGet() != "+442079460958" || !got.JSON200.Data.Company.IsNull() {
		return "", fmt.Errorf("got %d %s", got.StatusCode(), got.Body)
	}
	return id, nil
}

// update sets a field and clears another.
func update(ctx context.Context, client *contacts.ClientWithResponses, id string) error {
	updated, err := client.UpdateContactWithResponse(ctx, id, nil, contacts.ContactInput{
		Company: nullable.NewNullableWithValue("Engines"),
		Phone:   nullable.NewNullNullable[string](),
	})
	if err != nil {
		return err
	}
	if contact := updated.JSON200; contact == nil ||
		contact.Data.Company.MustGet() != "Engines" || !contact.Data.Phone.IsNull() {
		return fmt.Errorf("%d %s", updated.StatusCode(), updated.Body)
	}
	return nil
}

// find finds the contact with a search.
func find(ctx context.Context, client *contacts.ClientWithResponses, id string) error {
	text := "ada of oapi-codegen"
	found, err := client.ListContactsWithResponse(ctx, &contacts.ListContactsParams{Q: &text})
	if err != nil {
		return err
	}
	if found.JSON200 == nil || len(found.JSON200.Data) != 1 || found.JSON200.Data[0].Id != id {
		return fmt.Errorf("%d %s", found.StatusCode(), found.Body)
	}
	return nil
}

// refuse reads the error of an invalid contact.
func refuse(ctx context.Context, client *contacts.ClientWithResponses, _ string) error {
	refused, err := client.CreateContactWithResponse(ctx, nil,
		contacts.ContactInput{Phone: nullable.NewNullableWithValue("12")})
	if err != nil {
		return err
	}
	if refused.JSON400 == nil {
		return fmt.Errorf("%d %s", refused.StatusCode(), refused.Body)
	}
	fault := refused.JSON400.Error
	if fault.Code != contacts.ErrorCodeValidationFailed || fault.Message == "" || fault.Fields == nil {
		return fmt.Errorf("the error is %+v", fault)
	}
	phone := (*fault.Fields)["phone"]
	if phone.Code != contacts.FieldErrorCodeInvalidPhone || phone.Message == "" {
		return fmt.Errorf("the error of the phone is %+v", phone)
	}
	if id := refused.HTTPResponse.Header.Get("X-Request-Id"); id == "" || fault.RequestId != id {
		return fmt.Errorf("the request is %s and %s", fault.RequestId, id)
	}
	return nil
}

// receive encodes an event of each kind, and decodes it by its type.
func receive() error {
	events := []any{
		contacts.ContactCreatedEvent{Type: contacts.ContactCreatedEventTypeContactCreated},
		contacts.ContactUpdatedEvent{Type: contacts.ContactUpdatedEventTypeContactUpdated},
		contacts.ContactDeletedEvent{Type: contacts.ContactDeletedEventTypeContactDeleted},
		contacts.PingEvent{Type: contacts.PingEventTypeWebhookPing},
	}
	for _, sent := range events {
		body, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		var event contacts.WebhookEvent
		if err := json.Unmarshal(body, &event); err != nil {
			return err
		}
		arrived, err := event.ValueByDiscriminator()
		if err != nil {
			return err
		}
		if fmt.Sprintf("%T", arrived) != fmt.Sprintf("%T", sent) {
			return errors.New("a " + fmt.Sprintf("%T", sent) + " arrives as " + fmt.Sprintf("%T", arrived))
		}
	}
	return nil
}
