package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// countEnv is the environment variable with the number of contacts of the main job.
const countEnv = "CONTACTBASE_E2E_CONTACTS"

const (
	creators    = 4
	fewContacts = 500
)

// The main job of the product, from outside: several clients create contacts, a search finds each one at once, and
// readers of the list miss none and see none twice. Every creation arrives once at every webhook, with a signature
// that the official library verifies.
func TestMainJob(t *testing.T) {
	t.Parallel()
	mainJob(t, newInstallation(t), jobCount(t))
}

func mainJob(t *testing.T, i *installation, count int) {
	t.Helper()
	i.superuser()
	tenantID := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000"), "id")
	key := str(t, i.one("key", "create", tenantID, "--name", "main job"), "key")
	s := i.serve()

	plain := newReceiver(t)
	plain.set(str(t, i.one("webhook", "create", tenantID, plain.URL), "secret"), nil)
	library, err := startNodeReceiver(t)
	if err != nil && (!errors.Is(err, errNoNode) || os.Getenv("CI") == "true") {
		t.Fatal(err)
	}
	if library != nil {
		secret := str(t, i.one("webhook", "create", tenantID, library.URL, "--event", "contact.created"), "secret")
		if err := library.set(secret); err != nil {
			t.Fatal(err)
		}
	}

	began := time.Now()
	j := &job{t: t, count: count, over: make(chan struct{}), names: map[string]string{}}
	j.run(s, key)
	t.Logf("created and found %d contacts in %s", count, time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}
	first := j.checkDeliveries("plain receiver", plain.await(t, "plain receiver", atLeast(count)))
	t.Logf("all delivered after %s", time.Since(began).Round(time.Millisecond))
	t.Run("standardwebhooks", func(t *testing.T) {
		if library == nil {
			t.Skip(errNoNode)
		}
		second := j.checkDeliveries("standardwebhooks", library.await(t, "standardwebhooks", atLeast(count)))
		for id, digest := range second {
			if first[id] != digest {
				t.Errorf("the body of %s differs between the receivers", id)
			}
		}
	})
}

func jobCount(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(countEnv); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			t.Fatalf("%s is %q", countEnv, text)
		}
		return count
	}
	return testenv.Count(fewContacts, 10_000)
}

// job is the shared state of the clients of the main job.
type job struct {
	t     *testing.T
	count int
	over  chan struct{} // closed when all contacts are created

	mu    sync.Mutex
	next  int
	ids   []string          // of the contacts whose creation was answered, in the order of the answers
	names map[string]string // by id
}

func (j *job) run(s *server, key string) {
	var creating, walking sync.WaitGroup
	for range creators {
		creating.Go(func() { j.create(s.client(key)) })
	}
	for _, kind := range []string{"offset", "cursor"} {
		walking.Go(func() { j.walkAgainAndAgain(s.client(key), kind) })
	}
	creating.Wait()
	close(j.over)
	walking.Wait()
}

// create creates contacts until there are enough, and searches for each with the next request.
func (j *job) create(c *client) {
	for !j.t.Failed() {
		n, ok := j.take()
		if !ok {
			return
		}
		if err := j.createOne(c, n); err != nil {
			j.t.Errorf("person %d: %v", n, err)
			return
		}
	}
}

func (j *job) take() (n int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next++
	return j.next - 1, j.next <= j.count
}

func (j *job) createOne(c *client, n int) error {
	p := somebody(n)
	body, err := p.body()
	if err != nil {
		return err
	}
	created, err := c.try(http.MethodPost, contactsPath, body)
	if err != nil {
		return err
	}
	id, _ := created.data()["id"].(string)
	if created.status != http.StatusCreated || id == "" || created.data()["name"] != p.name {
		return fmt.Errorf("creating %s returns %s", body, created)
	}
	found, _, err := c.list(contactsPath + "?limit=200&q=" + url.QueryEscape(p.query(n)))
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ids = append(j.ids, id)
	j.names[id] = p.name
	for _, hit := range found.Data {
		if hit.ID == id {
			return nil
		}
	}
	return fmt.Errorf("%s is not among the %d that %q finds", p.name, len(found.Data), p.query(n))
}

// walkAgainAndAgain reads the list repeatedly until all contacts are created, and then once more.
func (j *job) walkAgainAndAgain(c *client, kind string) {
	walks := 0
	for last := false; !j.t.Failed(); walks++ {
		existed := j.existing()
		seen, err := walk(c, kind)
		if err != nil {
			j.t.Errorf("walking by %s: %v", kind, err)
			return
		}
		missing := 0
		for _, id := range existed {
			if !seen[id] {
				missing++
			}
		}
		if missing > 0 {
			j.t.Errorf("walk %d by %s misses %d of the %d contacts that existed when it began", walks, kind, missing, len(existed))
		}
		if last {
			if len(seen) != j.count {
				j.t.Errorf("the last walk by %s has %d contacts, want %d", kind, len(seen), j.count)
			}
			break
		}
		select {
		case <-j.over:
			last = true
		default:
		}
	}
	j.t.Logf("walked %d times by %s", walks+1, kind)
}

func (j *job) existing() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ids[:len(j.ids):len(j.ids)]
}

// walk reads the whole list page by page, and returns the ids. It fails the test if an id appears twice.
func walk(c *client, kind string) (map[string]bool, error) {
	const limit = 200
	seen := map[string]bool{}
	path := fmt.Sprintf("%s?limit=%d", contactsPath, limit)
	for path != "" {
		page, next, err := c.list(path)
		if err != nil {
			return nil, err
		}
		if len(page.Data) > limit || page.HasMore && len(page.Data) < limit {
			return nil, fmt.Errorf("a page of %d has %d contacts", limit, len(page.Data))
		}
		for _, contact := range page.Data {
			if seen[contact.ID] {
				return nil, fmt.Errorf("the contact %s comes twice, the second time on %s", contact.ID, path)
			}
			seen[contact.ID] = true
		}
		path = next
		if kind == "offset" && next != "" {
			path = fmt.Sprintf("%s?limit=%d&offset=%d", contactsPath, limit, len(seen))
		}
	}
	return seen, nil
}

// checkDeliveries checks that every creation arrived once and verified, and returns the digests of the bodies by id.
func (j *job) checkDeliveries(what string, all []delivery) map[string]string {
	j.t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	digests, contacts, faults := map[string]string{}, map[string]bool{}, 0
	for _, d := range all {
		_, twice := digests[d.ID]
		name, known := j.names[d.Contact]
		if d.Error != "" || d.Type != "contact.created" || d.ID != d.BodyID || d.ID == "" || d.Delivery == "" || twice || contacts[d.Contact] || !known || d.Name != name {
			if faults++; faults <= 10 {
				j.t.Errorf("%s: %+v comes (again: %v)", what, d, twice)
			}
		}
		digests[d.ID], contacts[d.Contact] = d.Digest, true
	}
	if len(contacts) != j.count {
		j.t.Errorf("%s: %d contacts arrived, want %d", what, len(contacts), j.count)
	}
	return digests
}
