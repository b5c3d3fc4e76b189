package imports

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// Quota is how many bytes the uploaded imports of a tenant may take together. It is enough for a sheet of maxRows rows.
const Quota = 1 << 30

const (
	// refusalBytes is what each row counts in addition to its content: it may be refused, and its refusal is kept.
	refusalBytes = 512
	// importBytes is what each import counts at least, so that the imports that are kept are some thousands at most.
	importBytes = 256 << 10
)

// usedSQL returns how many bytes the imports of the tenant ?1 count. Of one that has ended, only the refusals and the
// rows with notes are left.
const usedSQL = "SELECT coalesce(sum(?2 + iif(`status` IN ('done', 'cancelled', 'dryRun', 'undoing', 'undone'), " +
	"`bytes` * min(`total`, `rowsRefused` + `rowsRepeated` + `warnings`) / max(`total`, 1), `bytes`)), 0) " +
	"FROM `_imports` WHERE `tenant` = ?1"

// Used returns how many bytes the imports of the tenant count.
func Used(tx sqlite.Reader, tenantID string) (int64, error) {
	used, err := sqlite.Value[int64](tx, usedSQL, tenantID, importBytes)
	if err != nil {
		return 0, fmt.Errorf("reading the size of the imports of the tenant %s: %w", tenantID, err)
	}
	return used, nil
}

// CheckQuota returns an error if the imports of a tenant take up Quota: it then need not upload another file.
func CheckQuota(app core.App, tenantID string) error {
	return checkQuota(sqlite.Direct(app.ConcurrentDB()), tenantID, Quota)
}

func (s *storage) checkQuota(tx sqlite.Reader) error { return checkQuota(tx, s.tenant, s.quota) }

// checkQuota returns an error if the imports of the tenant take up the quota.
func checkQuota(tx sqlite.Reader, tenantID string, quota int64) error {
	used, err := Used(tx, tenantID)
	if err != nil {
		return err
	}
	if used >= quota {
		return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The imports of this tenant take more than %d MiB. "+
			"Start or cancel those that wait, and upload the file again.", quota>>20))
	}
	return nil
}
