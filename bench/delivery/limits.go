package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"contactbase/bench/receiver"
)

// limits measures a backlog to receivers that take their time, and to some that make a connection cost a handshake.
func limits(b *bench) error {
	secure, err := newAuthority(b.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n### Limits: a backlog for receivers that take time, with the settings as they come\n\n")
	fmt.Fprintln(b.out, "| receivers | deliveries | deliveries/s (min–max) | server CPU per delivery | peak RSS |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|")
	for _, m := range []struct {
		what  string
		crowd crowd
		count int
	}{
		{"1, after 50 ms", crowd{1, receiver.After(50 * time.Millisecond), nil}, 2_000},
		{"10, after 50 ms", crowd{10, receiver.After(50 * time.Millisecond), nil}, 20_000},
		{"1000, after 1 s", crowd{1_000, receiver.After(time.Second), nil}, 40_000},
		{"10 over TLS, at once", crowd{10, receiver.AtOnce, secure}, 20_000},
		{"10 over TLS, at once, without keep-alive", crowd{10, receiver.AndClose, secure}, 20_000},
	} {
		var rates []float64
		var cpu time.Duration
		var memory int
		for range *rounds {
			rate, used, peak, err := b.drain(m.crowd, m.count)
			if err != nil {
				return fmt.Errorf("%s: %w", m.what, err)
			}
			rates = append(rates, rate)
			cpu += used
			memory = max(memory, peak)
		}
		fmt.Fprintf(b.out, "| %s | %d | %s | %s | %d MiB |\n", m.what, m.count, spread(rates, "%.0f"),
			(cpu / time.Duration(*rounds*m.count)).Round(time.Microsecond), memory)
	}
	return nil
}

// authority is who certifies receivers on this machine.
type authority struct {
	config *tls.Config
	path   string // of its certificate
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return &authority{&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, path}, nil
}
