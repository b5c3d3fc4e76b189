package imports

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// ErrMoved means that somebody else goes on with the import, or has ended it.
var ErrMoved = errMoved

// Scan runs the first part of a check, which reads all rows, and calls do after each page.
func Scan(app core.App, id string, do func()) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	r, err := i.rehearse(app)
	if err != nil {
		return err
	}
	for r.scanned < r.Total {
		if err := r.scan(); err != nil {
			return err
		}
		do()
	}
	return nil
}

// CheckMeanwhile checks the first rows of an import, and does something before it stores what it has found.
func CheckMeanwhile(app core.App, id string, do func()) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	r, err := i.rehearse(app)
	if err != nil {
		return err
	}
	for r.scanned < r.Total {
		if err := r.scan(); err != nil {
			return err
		}
	}
	status, err := r.page(sqlite.Throttled())
	if err != nil {
		return err
	}
	do()
	return r.tell(status)
}
