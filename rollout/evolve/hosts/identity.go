package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Identity is all that the bytes of a run depend on: the settings, the plugin, the layout, and the digest of a chunk
// that each host computes before it joins. Hosts of one run have the same.
type Identity map[string]string

// Digest returns a short digest.
func (i Identity) Digest() string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(i)) {
		fmt.Fprintf(h, "%q=%q\n", key, i[key])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// IdentityError is the error of a host that computes another run than the hosts that are there.
type IdentityError struct {
	Host        string // a host that is there
	Key         string // the first difference
	Here, There string
}

// ErrorCode returns the code of a line of JSON.
func (*IdentityError) ErrorCode() string { return "refused" }

func (r *IdentityError) Error() string {
	if r.Key == ProbeKey {
		return fmt.Sprintf("this host rounds otherwise than host %s: a chunk of the first generation has the "+
			"digest %s here, %s there; join from a machine with the same kind of processor", r.Host, r.Here, r.There)
	}
	return fmt.Sprintf("host %s computes another run: %s is %s there, %s here; give the same settings, or another "+
		"name after the server's address", r.Host, r.Key, quoted(r.There), quoted(r.Here))
}

func quoted(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// ProbeKey is the key of the digest of the chunk that each host computes before it joins.
const ProbeKey = "probe"

// difference returns the first key in which two identities differ; ProbeKey is the last one.
func (i Identity) difference(other Identity) (key string, differ bool) {
	keys := map[string]bool{}
	for k := range i {
		keys[k] = true
	}
	for k := range other {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if k != ProbeKey && i[k] != other[k] {
			return k, true
		}
	}
	return ProbeKey, i[ProbeKey] != other[ProbeKey]
}
