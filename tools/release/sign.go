package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// The file of sums, and its signature.
const (
	sumsName      = "SHA256SUMS"
	signatureName = sumsName + ".sig"
)

// signer reads an OpenSSH private key. RELEASE_KEY_PASSPHRASE has the passphrase, if the key has one.
func signer(file string) (ssh.Signer, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(b)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		phrase := os.Getenv("RELEASE_KEY_PASSPHRASE")
		if phrase == "" {
			return nil, fmt.Errorf("key: %s has a passphrase: set RELEASE_KEY_PASSPHRASE", file)
		}
		key, err = ssh.ParsePrivateKeyWithPassphrase(b, []byte(phrase))
	}
	if err != nil {
		if _, _, _, _, e := ssh.ParseAuthorizedKey(b); e == nil {
			return nil, fmt.Errorf("key: %s is a public key: give the private key", file)
		}
		return nil, fmt.Errorf("key: %s: %w", file, err)
	}
	if t := key.PublicKey().Type(); t != ssh.KeyAlgoED25519 {
		// Signatures of other kinds have random bytes, so that no release would be reproducible.
		return nil, fmt.Errorf("key: %s is of type %s: want one of ssh-keygen -t ed25519", file, t)
	}
	return key, nil
}

// checkPGP reports an error if a file has no secret key of OpenPGP, with which nfpm would fail after a long build.
func checkPGP(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("OpenPGP key: %w", err)
	}
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(b))
	if err != nil {
		if keys, err = openpgp.ReadKeyRing(bytes.NewReader(b)); err != nil {
			return fmt.Errorf("OpenPGP key: %s: %w", file, err)
		}
	}
	if len(keys) != 1 || keys[0].PrivateKey == nil {
		return fmt.Errorf("OpenPGP key: %s: want one secret key, as gpg --export-secret-keys writes it", file)
	}
	return nil
}

// namespace is the purpose of the signatures, which ssh-keygen -n names.
const namespace = "file"

// sign returns a signature of a text in the format of ssh-keygen -Y (PROTOCOL.sshsig of OpenSSH).
func sign(key ssh.Signer, text []byte) ([]byte, error) {
	const magic, hash = "SSHSIG", "sha512"
	sum := sha512.Sum512(text)
	signature, err := key.Sign(rand.Reader, append([]byte(magic), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{namespace, "", hash, sum[:]})...))
	if err != nil {
		return nil, err
	}
	blob := append([]byte(magic), ssh.Marshal(struct {
		Version                   uint32
		Key                       []byte
		Namespace, Reserved, Hash string
		Signature                 []byte
	}{1, key.PublicKey().Marshal(), namespace, "", hash, ssh.Marshal(signature)})...)
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: blob}), nil
}

// sums writes the file of sums of all products, in the form of sha256sum, and if there is a key its signature.
func (r *release) sums() error {
	var text strings.Builder
	for _, p := range r.products {
		b, err := os.ReadFile(r.path(p.name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), p.name)
	}
	put := func(name, what string, b []byte) error {
		return r.write(name, what, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
	}
	if err := put(sumsName, "sums of the files", []byte(text.String())); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Fprintln(os.Stderr, "release: without a key, "+sumsName+" is not signed")
		// A signature of other files must not remain beside these.
		if err := os.Remove(r.path(signatureName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	b, err := sign(r.key, []byte(text.String()))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "release: signed with %s", ssh.MarshalAuthorizedKey(r.key.PublicKey()))
	return put(signatureName, "signature of the sums", b)
}
