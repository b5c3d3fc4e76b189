package limit

import "testing"

func TestUploads(t *testing.T) {
	t.Parallel()
	var u Uploads
	var ends []func()
	begin := func(tenant string, want bool) {
		t.Helper()
		end, err := u.Begin(tenant)
		if (err == nil) != want {
			t.Errorf("a file of %s: %v", tenant, err)
		}
		if err == nil {
			ends = append(ends, end)
		}
	}
	begin("a", true)
	begin("a", true)
	begin("a", false)
	begin("b", true)
	begin("c", true)
	begin("d", false)
	for _, end := range ends {
		end()
	}
	begin("a", true)
	ends[len(ends)-1]()
	if u.all != 0 || len(u.tenants) != 0 {
		t.Errorf("in the end %d files of %v are read", u.all, u.tenants)
	}
}
