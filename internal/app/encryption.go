package app

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/secret"
	"contactbase/internal/tenant"
)

// bindEncryption refuses a data directory whose key is missing, and encrypts plain secrets before the program serves.
func bindEncryption(app core.App) {
	app.OnBootstrap().BindFunc(func(e *core.BootstrapEvent) error {
		err := e.Next()
		if err == nil {
			return nil
		}
		if clear, readErr := settingsInClear(e.App); readErr == nil && !clear {
			return wrongKey(e.App, "the settings", err)
		}
		return err
	})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := sealFolder(e.App); err != nil {
			return err
		}
		return e.Next()
	})
}

func settingsInClear(app core.App) (bool, error) {
	if app.DB() == nil {
		return false, errors.New("the database is not open")
	}
	var stored []byte
	err := app.DB().Select("value").From("_params").Where(dbx.HashExp{"id": "settings"}).Row(&stored)
	return json.Valid(stored), err
}

// sealFolder encrypts the settings and secrets that are stored in plain, and opens the others to verify the key.
// Without a key, it verifies that nothing is encrypted.
func sealFolder(app core.App) error {
	err := app.RunInTransaction(func(tx core.App) error {
		for _, table := range tenant.Tables {
			for _, field := range table.Secrets {
				if err := sealField(tx, table.Name, field); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || app.EncryptionEnv() == "" {
		return err
	}
	if clear, err := settingsInClear(app); err != nil || !clear {
		return err
	}
	if err := app.Save(app.Settings()); err != nil {
		return fmt.Errorf("encrypting the settings: %w", err)
	}
	return nil
}

// sealField bypasses the hooks: they would take the encrypted secret for a new one, although the record has not
// changed. A data directory that is about to be upgraded may lack the field.
func sealField(tx core.App, collection, field string) error {
	if found, err := tx.FindCollectionByNameOrId(collection); err != nil {
		return fmt.Errorf("finding the collection %s: %w", collection, err)
	} else if found.Fields.GetByName(field) == nil {
		return nil
	}
	var rows []struct {
		ID     string `db:"id"`
		Stored string `db:"stored"`
	}
	err := tx.DB().Select("id", "[["+field+"]] AS stored").From(collection).
		Where(dbx.Not(dbx.HashExp{field: ""})).All(&rows)
	if err != nil {
		return fmt.Errorf("reading the secrets of %s: %w", collection, err)
	}
	for _, row := range rows {
		plain, err := secret.Open(tx, row.Stored)
		if err != nil {
			return wrongKey(tx, "a secret of "+collection, err)
		}
		if tx.EncryptionEnv() == "" || secret.IsSealed(row.Stored) {
			continue
		}
		sealed, err := secret.Seal(tx, plain)
		if err != nil {
			return err
		}
		if _, err := tx.DB().Update(collection, dbx.Params{field: sealed}, dbx.HashExp{"id": row.ID}).Execute(); err != nil {
			return fmt.Errorf("encrypting a secret of %s: %w", collection, err)
		}
	}
	return nil
}

// wrongKey returns an error that says that the key is wrong or missing.
func wrongKey(app core.App, what string, err error) error {
	if app.EncryptionEnv() == "" {
		return fmt.Errorf("%s in %s cannot be read without the encryption key: "+
			"name its environment variable with --encryptionEnv", what, app.DataDir())
	}
	return fmt.Errorf("--encryptionEnv: the key in %s does not decrypt %s in %s: %w",
		app.EncryptionEnv(), what, app.DataDir(), err)
}
