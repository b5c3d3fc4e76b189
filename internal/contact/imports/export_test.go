package imports

import "github.com/pocketbase/pocketbase/core"

// ErrMoved means that somebody else goes on with the import, or has ended it.
var ErrMoved = errMoved

// CheckMeanwhile checks the first rows of an import, and does something before it stores what it has found.
func CheckMeanwhile(app core.App, id string, do func()) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	c := i.checking(app)
	status, err := c.page()
	if err != nil {
		return err
	}
	do()
	return c.tell(status)
}
