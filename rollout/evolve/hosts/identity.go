package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"xlarun/internal/messaging"
)

// Identity is all that the bytes of a run depend on: the settings, the version, the plugin, the layout, and the
// digest of a chunk that each host computes before it joins. Hosts of one run have the same.
type Identity map[string]string

// Protocol is the number of what hosts say to each other. It rises with each change after which they would
// misunderstand each other.
const Protocol = "2"

// Keys of an Identity beside settings.
const (
	ProtocolKey = "protocol" // Protocol
	PluginKey   = "plugin"   // the build of the plugin
	VersionKey  = "version"  // of xlarun, or of the program that has its commands
	ProbeKey    = "probe"    // the digest of the chunk that each host computes before it joins
)

// lastKeys are compared after all settings, in this order.
var lastKeys = []string{VersionKey, PluginKey, ProbeKey}

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
func (*IdentityError) ErrorCode() string { return messaging.CodeRefused }

func (r *IdentityError) Error() string {
	versions := fmt.Sprintf("(%s there, %s here): install the same version of xlarun on both", quoted(r.There),
		quoted(r.Here))
	switch r.Key {
	case ProtocolKey:
		return fmt.Sprintf("host %s speaks another protocol %s", r.Host, versions)
	case PluginKey:
		return fmt.Sprintf("host %s has another build of the plugin (%s there, %s here): install the same on both, as "+
			"xlarun plugin install does", r.Host, quoted(r.There), quoted(r.Here))
	case VersionKey:
		return fmt.Sprintf("host %s is another version %s", r.Host, versions)
	case ProbeKey:
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

// difference returns the first key in which two identities differ: the protocol, then settings, then lastKeys.
func (i Identity) difference(other Identity) (key string, differ bool) {
	keys := map[string]bool{}
	for k := range i {
		keys[k] = true
	}
	for k := range other {
		keys[k] = true
	}
	order := []string{ProtocolKey}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(lastKeys, k) {
			order = append(order, k)
		}
	}
	for _, k := range append(order, lastKeys...) {
		if i[k] != other[k] {
			return k, true
		}
	}
	return "", false
}
