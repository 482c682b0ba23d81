// A receiver that verifies: go run receive.go SCHEME SECRET PORT (0: a free one).
// SCHEME is standard, repository, task or hub. Answers 204, or 401 with the reason.
// SECRET of standard is whsec_ (HMAC), or whpk_: the public key of ed25519.
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

var (
	errWrong = errors.New("wrong signature")
	errTime  = errors.New("a header is missing, or too old")
)

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

func fresh(ms string, unit time.Duration) bool {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return false
	}
	off := time.Since(time.Unix(0, 0).Add(time.Duration(n) * unit))
	return off.Abs() <= tolerance
}

// Standard Webhooks: several signatures may stand there while a secret is rotated.
func standard(h http.Header, body []byte, secret string) error {
	text, public := strings.CutPrefix(secret, "whpk_")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil {
		return err
	}
	if public && len(key) != ed25519.PublicKeySize {
		return errors.New("a public key has 32 bytes")
	}
	at := h.Get("webhook-timestamp")
	if !fresh(at, time.Second) {
		return errTime
	}
	signed := []byte(h.Get("webhook-id") + "." + at + ".")
	want := "v1," + base64.StdEncoding.EncodeToString(mac(key, signed, body))
	for _, s := range strings.Split(h.Get("webhook-signature"), " ") {
		if public {
			text, ok := strings.CutPrefix(s, "v1a,")
			signature, err := base64.StdEncoding.DecodeString(text)
			if ok && err == nil && ed25519.Verify(key, append(signed, body...), signature) {
				return nil
			}
		} else if same(s, want) {
			return nil
		}
	}
	return errWrong
}

func repository(h http.Header, body []byte, secret string) error {
	want := "sha256=" + hex.EncodeToString(mac([]byte(secret), body))
	if !same(h.Get("X-NemakiWare-Signature"), want) {
		return errWrong
	}
	return nil
}

func task(h http.Header, body []byte, secret string) error {
	at := h.Get("X-Timestamp")
	if !fresh(at, time.Millisecond) {
		return errTime
	}
	want := hex.EncodeToString(mac([]byte(secret), []byte(at+"."), body))
	if !same(h.Get("X-Signature"), want) {
		return errWrong
	}
	return nil
}

// A one-time code (RFC 6238: SHA-1, 30 s, 8 digits). It proves who called, not what was said.
func hub(h http.Header, body []byte, secret string) error {
	now := time.Now().Unix() / 30
	for step := now - 1; step <= now+1; step++ {
		m := hmac.New(sha1.New, []byte(secret))
		m.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
		sum := m.Sum(nil)
		n := binary.BigEndian.Uint32(sum[sum[19]&15:]) & 0x7fffffff
		if same(h.Get("Authorization"), fmt.Sprintf("%08d", n%100000000)) {
			return nil
		}
	}
	return errors.New("wrong or old code")
}

var schemes = map[string]func(http.Header, []byte, string) error{
	"standard": standard, "repository": repository, "task": task, "hub": hub,
}

func main() {
	if len(os.Args) != 4 || schemes[os.Args[1]] == nil {
		log.Fatal("usage: receive SCHEME SECRET PORT")
	}
	verify, secret := schemes[os.Args[1]], os.Args[2]
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The bytes that came: parse them afterwards.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		if err == nil {
			err = verify(r.Header, body, secret)
		}
		if err != nil {
			fmt.Println(err)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println("verified")
		w.WriteHeader(http.StatusNoContent)
	})))
}
