package hooks_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// A slash at the end of the application's URL is removed when it is saved, and when one that was saved
// before is loaded.
func TestApplicationURL(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	root := testkit.NewClient(t, d.base, "")
	root.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	const want = "https://example.com/crm"
	if got := root.Do("PATCH", "/api/settings", `{"meta":{"appURL":"`+want+`/"}}`); got.Status != 200 || !strings.Contains(string(got.Body), `"`+want+`"`) {
		t.Errorf("saving it is answered %d %s", got.Status, got.Body)
	}
	stored := func() string {
		t.Helper()
		var param core.Param
		if err := d.app.ModelQuery(&param).One(&param); err != nil {
			t.Fatal(err)
		}
		return param.Value.String()
	}
	if !strings.Contains(stored(), `"`+want+`"`) {
		t.Errorf("the slash is stored: %s", stored())
	}
	_, err := d.app.NonconcurrentDB().NewQuery("UPDATE _params SET value = replace(value, '" + want + "', '" + want + "/')").Execute()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.app.ReloadSettings(); err != nil {
		t.Fatal(err)
	}
	if got := d.app.Settings().Meta.AppURL; got != want {
		t.Errorf("after it was loaded, it is %s", got)
	}
}
