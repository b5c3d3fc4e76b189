// Command nats writes the files of a NATS server with decentralized users to a directory: server.conf, which trusts
// an operator with one account, and user.creds, the credentials of a user of that account.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: nats FOLDER")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(folder string) error {
	operator, operatorKey, err := identity(nkeys.CreateOperator)
	if err != nil {
		return err
	}
	account, accountKey, err := identity(nkeys.CreateAccount)
	if err != nil {
		return err
	}
	_, systemKey, err := identity(nkeys.CreateAccount)
	if err != nil {
		return err
	}
	config, err := serverConfig(operator, operatorKey, accountKey, systemKey)
	if err != nil {
		return err
	}
	credentials, err := userCredentials(account)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "server.conf"), []byte(config), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "user.creds"), credentials, 0o600)
}

// serverConfig makes a server trust the operator, whose account has unlimited JetStream.
func serverConfig(operator nkeys.KeyPair, operatorKey, accountKey, systemKey string) (string, error) {
	trusted := jwt.NewOperatorClaims(operatorKey)
	trusted.SystemAccount = systemKey
	operatorToken, err := trusted.Encode(operator)
	if err != nil {
		return "", err
	}
	systemToken, err := jwt.NewAccountClaims(systemKey).Encode(operator)
	if err != nil {
		return "", err
	}
	claims := jwt.NewAccountClaims(accountKey)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	accountToken, err := claims.Encode(operator)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("operator: %s\nresolver: MEMORY\nresolver_preload: {%s: %s, %s: %s}\nsystem_account: %s\n",
		operatorToken, accountKey, accountToken, systemKey, systemToken, systemKey), nil
}

// userCredentials returns the credentials file of a new user of the account.
func userCredentials(account nkeys.KeyPair) ([]byte, error) {
	user, userKey, err := identity(nkeys.CreateUser)
	if err != nil {
		return nil, err
	}
	token, err := jwt.NewUserClaims(userKey).Encode(account)
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// identity returns a new key and its public part.
func identity(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string, error) {
	key, err := create()
	if err != nil {
		return nil, "", err
	}
	public, err := key.PublicKey()
	return key, public, err
}
